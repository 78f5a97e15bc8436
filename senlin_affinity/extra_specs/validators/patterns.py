"""Define the patterns that several definitions share.

No pattern can match a text in two ways, so that the cost grows linearly with the length of a value.
"""

#: CPUs and ranges, with a caret before excluded ones: ``0-3,^1``.
CPU_MAP = r'\^?\d+(?:-\d+|,\^?\d+)*'

#: Comma-separated names; a trailing comma is allowed.
NAMES = r'[a-zA-Z0-9_]+(?:,[a-zA-Z0-9_]+)*,?'

PAGE_SIZE = r'large|small|any|\d+(?:[kKMGT]i?)?(?:b|bit|B)?'

#: Comma-separated ``alias:count``.
ALIASES = r'[^:]+:\d+(?:\s*,[^:]+:\d+)*'
