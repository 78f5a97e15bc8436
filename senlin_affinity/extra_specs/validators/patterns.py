"""The patterns that several definitions share.

Each is written so that a text can be matched in one way only: no repetition stands within another
that could take the same letters, and none is followed by something that it could take itself. So
the work grows with the length of a value, not with a power of it.
"""

#: CPUs, ranges, and a caret before what is left out: ``0-3,^1``. What the document's pattern takes.
CPU_MAP = r'\^?\d+(?:-\d+|,\^?\d+)*'

#: Names between commas, of which the last may be followed by one.
NAMES = r'[a-zA-Z0-9_]+(?:,[a-zA-Z0-9_]+)*,?'

#: A page size in words, or a number with a unit.
PAGE_SIZE = r'large|small|any|\d+(?:[kKMGT]i?)?(?:b|bit|B)?'

#: ``alias:count`` between commas.
ALIASES = r'[^:]+:\d+(?:\s*,[^:]+:\d+)*'
