"""Parse numbers and booleans as users, webhooks and older engines write them, and print a limit.

Example: ``whole(3, path, 1) == whole('3', path, 1) == whole('03', path, 1) == 3``.

Raises: InvalidSpec for anything else, such as true, ``2.0``, null, ``+3``, blanks, a trailing
newline or digits of other scripts.
"""

from __future__ import annotations

import re
import reprlib

from senlin_affinity.model.errors import InvalidSpec

#: At most as long as Python converts (``sys.set_int_max_str_digits`` allows at least 640).
_DIGITS = re.compile(r'[0-9]{1,640}')
#: The booleans of oslo.utils (``strutils.bool_from_string``), in lower case.
TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
FALSE = frozenset(('0', 'f', 'false', 'off', 'n', 'no'))


def whole(value: object, path: str, at_least: int) -> int:
    """Return the number; raise InvalidSpec if it is not whole or less than ``at_least``."""
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < at_least:
        shown = reprlib.repr(value)
        raise InvalidSpec(f'must be an integer of {at_least} or more, not {shown}', path)
    return number


def at_most(number: int, wanted: int) -> str:
    """Return "at most 2 of 8", or "none of 8"."""
    return f'at most {number} of {wanted}' if number else f'none of {wanted}'
