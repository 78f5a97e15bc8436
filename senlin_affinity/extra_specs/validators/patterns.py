"""Define the patterns that several definitions share.

No pattern can match a text in two ways: no repetition contains another one that matches the same
characters, or precedes something that it matches itself. The cost therefore grows linearly with the
length of a value.
"""

#: CPUs and ranges, with a caret before excluded ones: ``0-3,^1``. As in the specification.
CPU_MAP = r'\^?\d+(?:-\d+|,\^?\d+)*'

#: Comma-separated names; a trailing comma is allowed.
NAMES = r'[a-zA-Z0-9_]+(?:,[a-zA-Z0-9_]+)*,?'

#: A page size as a word, or a number with a unit.
PAGE_SIZE = r'large|small|any|\d+(?:[kKMGT]i?)?(?:b|bit|B)?'

#: Comma-separated ``alias:count``.
ALIASES = r'[^:]+:\d+(?:\s*,[^:]+:\d+)*'
