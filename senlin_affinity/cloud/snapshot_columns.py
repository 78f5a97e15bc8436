"""Reads the hosts of a snapshot's text column by column, in a third of the time.

Data flow: the first host is read with care, and its form (:mod:`~.snapshot_forms`) finds the values
of those that are written in the same way; the next host that is not has a form of its own. The
values of one key are a column. What is equal in it is read once, and is one object: sets, strings
and resources. Whatever is not plainly right ends this: whoever asked reads the text again, host by
host, and says what is wrong and where.

Shapes::

    document('{"format": 1, "hosts": [{"host": "cmp-1", ...}]}', ...)
    == {'format': 1, 'hosts': (Host('cmp-1', ...),)}

Errors: none. None is a text that has to be read with care.

Source: the json module, whose scanner reads one value at a place in a text.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import repeat
from operator import attrgetter, setitem
from typing import Any

from senlin_affinity.cloud.json_fields import Field, Table
from senlin_affinity.cloud.snapshot_fields import Hosts
from senlin_affinity.cloud.snapshot_forms import NAMES, Finder, Form, Found, Path
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.member_of import Spelt

#: Where so many values differ, what is equal in them is not sought.
_MANY = 50
_SPACE = re.compile(r'[ \t\n\r]*').match
#: A resource of all of its values, with no check that a class written in Python would add.
_RESOURCE = partial(tuple.__new__, Resource)
#: Numbers that many hosts differ in.
_NUMBERS = ('capacity', 'used', 'max_unit', 'step_size')
#: What is not told, of any number of resources.
_USUAL = {key: repeat(value) for key, value in Resource._field_defaults.items()}
_NAME, _IDENTITY = attrgetter('host'), attrgetter('host', 'hypervisor_hostname')
#: Reads the value at a place in a text, and says where it ends.
_Scan = Callable[[str, int], tuple[Any, int]]
#: The values of one key, as they are written, and what reads them.
_Column = Sequence[str]
_Read = Callable[[_Column], Iterable[Any]]


class _Odd(Exception):
    """Something has to be read with care."""


def document(text: str, made: Callable[[Any], Any], table: Hosts) -> dict[str, Any] | None:
    """The parts of the file, the hosts as values; None: it has to be read with care.

    :param made: makes what the other parts are made of, of the pairs of an object.
    """
    scan: _Scan = json.JSONDecoder(object_pairs_hook=made).scan_once  # type: ignore[attr-defined]
    try:
        return _document(text, scan, _Hosts(table, scan))
    except (_Odd, InvalidSpec, ValueError, LookupError, TypeError, StopIteration, RecursionError):
        return None


def _document(text: str, scan: _Scan, hosts: _Hosts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at, sign = _sign(text, 0, '{')
    while sign != '}':
        key, at = scan(text, _space(text, at))
        at, _ = _sign(text, at, ':')
        at = _space(text, at)
        _expect(type(key) is str and key not in found)
        is_list_of_hosts = key == 'hosts' and text[at] == '['
        found[key], at = hosts.read(text, at + 1) if is_list_of_hosts else scan(text, at)
        at, sign = _sign(text, at, ',}')
    _expect(_space(text, at) == len(text))
    return found


def _expect(is_plain: bool) -> None:
    if not is_plain:
        raise _Odd


def _space(text: str, at: int) -> int:
    """Where the white space ends that begins there."""
    return _SPACE(text, at).end()  # type: ignore[union-attr]


def _sign(text: str, at: int, signs: str) -> tuple[int, str]:
    """The place behind a sign, and which of them it is."""
    at = _space(text, at)
    _expect(text[at] in signs)
    return at + 1, text[at]


class _Hosts:
    """Reads the list of hosts; what is equal in them becomes one object."""

    def __init__(self, table: Hosts, scan: _Scan) -> None:
        self._table, self._scan = table, scan
        self._finder = Finder()
        self._readers = {key: _reader(table, key, scan) for key in table.fields}
        self._readers |= {
            **dict.fromkeys(NAMES, _names),
            'aggregates': _Sets(table.fields['aggregates'], Spelt, scan),
            'traits': _Sets(table.fields['traits'], frozenset, scan),
        }
        #: By the form of their hosts.
        self._resources: dict[Form, _Resources] = {}

    def read(self, text: str, at: int) -> tuple[tuple[Host, ...], int]:
        """The hosts whose list begins before this place, and its end."""
        hosts: list[Host] = []
        at = _space(text, at)
        while text[at] != ']':
            found, end = self._finder.find(text, at)
            if end == at:
                self._learn(text, at)
            # An escape could be a quote, or anything else.
            _expect(text.find('\\', at, end) < 0)
            hosts += self._in_order(found)
            at = _space(text, end)
        _expect(any(len({*map(key, hosts)}) == len(hosts) for key in (_NAME, _IDENTITY)))
        return tuple(hosts), at + 1

    def _in_order(self, found: Sequence[Found]) -> Iterable[Host]:
        if len(found) == 1:
            return self._alike(found[0])
        made: dict[int, Host] = {}
        for each in found:
            made.update(zip(each.places, self._alike(each), strict=True))
        return map(made.__getitem__, range(len(made)))

    def _learn(self, text: str, at: int) -> None:
        """Have hosts found as the one at this place is written, which is right."""
        item, end = self._scan(text, at)
        self._table.read(item)
        _expect(self._finder.learn(text, at, end))
        form = self._finder.forms[-1]
        _expect({*form.paths}.issuperset(zip(NAMES)))
        self._resources[form] = _Resources(form.paths, self._table.resource, self._scan)

    def _alike(self, found: Found) -> list[Host]:
        """Hosts of one form."""
        form, _places, columns = found
        values, figures = {}, []
        for (key, *below), column in zip(form.paths, columns, strict=True):
            if below:
                figures.append(column)
            else:
                values[key] = self._readers[key](column)
        if figures:
            values['resources'] = self._resources[form](figures)
        number = len(columns[0])
        hosts = [*map(object.__new__, repeat(Host, number))]
        # What is not there, the class has.
        deque(map(object.__setattr__, hosts, repeat('__dict__'), _rows(values, number)), 0)
        return hosts


def _rows(columns: Mapping[str, Iterable[Any]], number: int) -> list[dict[str, Any]]:
    """A dictionary for each row of the columns."""
    rows = [*map(dict.copy, repeat(dict.fromkeys(columns), number))]
    for key, column in columns.items():
        deque(map(setitem, rows, repeat(key), column), 0)
    return rows


def _all(scan: _Scan, column: _Column) -> Any:
    """The values of a column, which are lists or numbers: as many as there are if each is one."""
    values = _value(scan, f'[{",".join(column)}]')
    _expect(len(values) == len(column))
    return values


def _value(scan: _Scan, written: str) -> Any:
    """What is written there, and nothing more."""
    value, end = scan(written, 0)
    _expect(end == len(written))
    return value


def _reader(table: Table[Any], key: str, scan: _Scan) -> _Read:
    """Reads a column of anything, what is equal in it once; but numbers that differ together."""
    default, field = table.defaults.get(key, ...), table.fields[key]

    @cache
    def one(written: str) -> Any:
        value = _value(scan, written)
        return value if value is default else field.read(value)

    def read(column: _Column) -> Iterable[Any]:
        if column.count(column[0]) == len(column):
            return [one(column[0])] * len(column)
        if key in _NUMBERS:
            numbers = _all(scan, column)
            field.read(min(numbers))  # what is right of the least is right of all
            return numbers  # type: ignore[no-any-return]
        known = {each: one(each) for each in {*column}}
        return map(known.__getitem__, column)

    return read


def _names(column: _Column) -> _Column:
    """Texts that differ."""
    _expect('' not in column and ''.join(column).isprintable())
    return column


class _Sets:
    """Reads lists of strings that many hosts have."""

    def __init__(
        self, field: Field, gathered: Callable[[Iterable[str]], frozenset[str]], scan: _Scan
    ) -> None:
        self._read, self._gathered, self._scan = field.read, gathered, scan
        self._text = cache(self._one_text)
        self._sets: dict[str, frozenset[str]] = {}

    def __call__(self, column: _Column) -> Iterable[frozenset[str]]:
        new = {*column}.difference(self._sets)
        if _is_nothing_alike(column, new):
            return [self._gathered(map(self._text, each)) for each in _all(self._scan, column)]
        for each in new:
            self._sets[each] = self._gathered(map(self._text, _value(self._scan, each)))
        return map(self._sets.__getitem__, column)

    def _one_text(self, text: Any) -> str:
        _expect(type(text) is str)
        (read,) = self._read([text])
        return read


class _Resources:
    """Reads the resources of hosts of one form."""

    def __init__(self, paths: Iterable[Path], table: Table[Resource], scan: _Scan) -> None:
        self._readers: list[_Read] = []
        #: By the names, in which column each value is.
        self._columns: dict[str, dict[str, int]] = {}
        for number, (_resources, name, key) in enumerate(each for each in paths if each[1:]):
            self._columns.setdefault(name, {})[key] = number
            self._readers.append(_reader(table, key, scan))
        #: Those of all their values.
        self._known: dict[Any, dict[str, Resource]] = {}

    def __call__(self, columns: Iterable[_Column]) -> Iterable[dict[str, Resource]]:
        values = [[*read(column)] for read, column in zip(self._readers, columns, strict=True)]
        figures = [*zip(*values, strict=True)]
        new = {*figures}.difference(self._known)
        if _is_nothing_alike(figures, new):
            return self._made(values)
        if new:
            self._known.update(zip(new, self._made([*zip(*new, strict=True)]), strict=True))
        return map(self._known.__getitem__, figures)

    def _made(self, values: Sequence[Sequence[Any]]) -> list[dict[str, Resource]]:
        """The resources of these values."""
        made = {}
        for name, columns in self._columns.items():
            told = {key: values[number] for key, number in columns.items()}
            fields = map({**_USUAL, **told}.__getitem__, Resource._fields)
            made[name] = map(_RESOURCE, zip(*fields, strict=False))
        return _rows(made, len(values[0]))


def _is_nothing_alike(values: Collection[Any], new: Collection[Any]) -> bool:
    """Do so many values differ, from each other and from all others, that others will, too?"""
    return len(new) == len(values) > _MANY
