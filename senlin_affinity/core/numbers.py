"""A whole number, as a person, a webhook or an older engine may write it.

Shapes: ``whole(3, path, 1) == whole('3', path, 1) == whole('03', path, 1) == 3``.

Errors: InvalidSpec for everything else: a boolean, a float (also ``2.0``), null, a sign, blanks, a
trailing newline, digits of other scripts.
"""

from __future__ import annotations

import re
import reprlib

from senlin_affinity.core.errors import InvalidSpec

#: No longer than what Python converts (``sys.set_int_max_str_digits`` allows 640 at least).
_DIGITS = re.compile(r'[0-9]{1,640}')


def whole(value: object, path: str, at_least: int) -> int:
    """The number, if it is one and not below the least that makes sense."""
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < at_least:
        shown = reprlib.repr(value)
        raise InvalidSpec(f'must be an integer of {at_least} or more, not {shown}', path)
    return number
