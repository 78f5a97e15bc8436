"""Finds the values of the hosts in a snapshot's text, by the form in which these are written.

The form of a host is all but its values, and nearly all hosts of a file have that of the first. A
pattern made of it finds the values of many hosts at once, in half the time of parsing them.

Shapes::

    form('{"host": "a", "up": true, "resources": {"VCPU": {"used": 1}}}')
    == Form(r'{"host": "([^"]*)", "up": (true|false), "resources": {"VCPU": {"used": ([0-9]+)}}}',
            (('host',), ('up',), ('resources', 'VCPU', 'used')))

A value is found as it is written, only a name without its quotes. It may be what no JSON is: a
number with zeros before it, a list without commas, a control character in a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: About so many characters are read at once: their values need several times the memory.
SIZE = 1 << 17
#: Where a value is in a host: the keys that lead to it.
Path = tuple[str, ...]
#: So many forms of so many characters are found; more would take longer than to read with care.
_MOST, _LONGEST = 8, 1 << 12
#: What nearly all hosts differ in.
NAMES = ('host', 'hypervisor_hostname')
#: A key and its value, or a key before an object; where an object ends; and what is none of them.
_PART = re.compile(
    r'[\s,{]*"([^"]*)"\s*:\s*(?:("[^"]*"|\[[^\]]*\]|\{\s*\}|\w+)|(?=\{))|\s*\}|(.)', re.DOTALL
)
_NAME = '"([^"]*)"'
#: What a value may be in other hosts, by how it begins in the first one.
_VALUES = {
    '"': '("[^"]*")',
    '[': r'(\[[^\]]*\])',
    '{': r'(\{\s*\})',
    'n': '(null)',
    **dict.fromkeys('tf', '(true|false)'),
    **dict.fromkeys('0123456789', '([0-9]+)'),
}
_BETWEEN = re.compile(r'[ \t\n\r]*,[ \t\n\r]*(?=\{)').match
_AT_END = r'(?=[ \t\n\r]*\])'


class Form(NamedTuple):
    """A pattern with a group for the value of each path."""

    pattern: str
    paths: tuple[Path, ...]


class Found(NamedTuple):
    """Hosts of one form: their places among those that were found, and a column for each path."""

    form: Form
    places: Sequence[int]
    columns: Sequence[Sequence[str]]


def form(text: str) -> Form | None:
    """That of a host that is right, and holds no escape; None: its values can not be told apart."""
    above: Path = ()
    pattern, paths = '', []
    for part in _PART.finditer(text):
        key, value, other = part.groups(default='')
        if other:
            return None
        pattern += re.escape(part[0].removesuffix(value))
        if value:
            pattern += _NAME if key in NAMES else _VALUES[value[0]]
            paths.append((*above, key))
        else:
            above = (*above, key) if key else above[:-1]
    return Form(pattern, tuple(paths))


class Finder:
    """Finds hosts of some forms, one after the other."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self._pattern = re.compile('()(.+)', re.DOTALL)
        self._end = _AT_END

    def learn(self, text: str, at: int, end: int) -> bool:
        """Find hosts as this one is written, too; could they not be found before?"""
        new = form(text[at:end])
        between = _BETWEEN(text, end)
        if between:
            self._end = f'(?:{re.escape(between[0])}(?={{)|{_AT_END})'
        if new is None or new in self.forms or len(new.pattern) + len(self._end) > _LONGEST:
            return False
        self.forms.append(new)
        # The rest has none of the forms.
        patterns = [*(f'{each.pattern}{self._end}' for each in self.forms), '(.+)']
        self._pattern = re.compile('|'.join(patterns), re.DOTALL)
        return len(self.forms) <= _MOST

    def find(self, text: str, at: int) -> tuple[list[Found], int]:
        """The hosts from this place on, and where the next one begins that is none of them."""
        end = min(at + SIZE, len(text))
        rows = self._pattern.findall(text, at, end)
        rest = rows.pop()[-1]
        return [*self._apart(rows)], end - len(rest)

    def _apart(self, rows: Sequence[tuple[str, ...]]) -> Iterator[Found]:
        if len(self.forms) == 1 and rows:
            *values, _rest = zip(*rows, strict=True)
            yield Found(self.forms[0], range(len(rows)), values)
            return
        start = 0
        for each in self.forms:
            stop = start + len(each.paths)
            # The values of the other forms are empty.
            places = [place for place, row in enumerate(rows) if row[start]]
            if places:
                columns = zip(*(rows[place][start:stop] for place in places), strict=True)
                yield Found(each, places, [*columns])
            start = stop
