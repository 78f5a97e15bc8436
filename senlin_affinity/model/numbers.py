"""Parse numbers and booleans as users, webhooks and older engines write them, and word numbers.

Example: ``whole(3, path, 1) == whole('3', path, 1) == whole('03', path, 1) == 3``.

Raises: InvalidSpec for anything else, such as true, ``2.0``, null, ``+3``, blanks, a trailing
newline or digits of other scripts.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence

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


def counted(number: int, what: str) -> str:
    """Return "1 server", or "1,200 servers"."""
    return f'{number:,} {what}{"" if number == 1 else "s"}'


def listed(names: Sequence[str], most: int) -> str:
    """Return the names, of which at most so many are shown: "web, db, app and 2 more"."""
    more = f' and {len(names) - most:,} more' if len(names) > most else ''
    return f'{", ".join(names[:most])}{more}'
