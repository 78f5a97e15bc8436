"""Reads the hosts of a snapshot's text column by column, in half the time.

Data flow: some hosts are parsed, those with the same keys become columns, each column is checked as
a whole, and the next ones are parsed when these are values: the JSON of all of them would take up
ten times the room. Whatever is not plainly right ends this: whoever asked reads the text again,
host by host, and says what is wrong and where.

Shapes::

    document('{"format": 1, "hosts": [{"host": "cmp-1", ...}]}', ...)
    == {'format': 1, 'hosts': (Host('cmp-1', ...),)}

Errors: none. None is a text that has to be read with care.

Source: the json module, whose scanner reads one value at a place in a text. It keeps the last value
of a key that is there twice; with a colon for each key, the text has too many colons then.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, repeat
from operator import add, attrgetter, itemgetter
from typing import Any

from senlin_affinity.cloud.json_fields import Field, Table
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import Spelt
from senlin_affinity.core.objects import Host, Resource

#: So many hosts are parsed before they are made.
_CHUNK = 1000
_BETWEEN = re.compile(r'[ \t\n\r]*([],])[ \t\n\r]*').match
_SPACE = re.compile(r'[ \t\n\r]*').match
_SAID = itemgetter('capacity', 'used')
_UNSAID = Resource(0, 0)[2:]
_ANY = {'capacity': 0, 'used': 0}
#: A resource of all of its values, with no check that a class written in Python would add.
_RESOURCE = partial(tuple.__new__, Resource)
_IDENTITY = attrgetter('host', 'hypervisor_hostname')
_LEAST_FIELDS = {'host', 'hypervisor_hostname'}
_Scan = Callable[[str, int], tuple[Any, int]]

#: The values of one key, and the colons that its keys and its strings have in the text.
_Read = tuple[Iterable[Any], int]


def _scanner(**hooks: Any) -> _Scan:
    scan: _Scan = json.JSONDecoder(**hooks).scan_once  # type: ignore[attr-defined]
    return scan


_scan = _scanner()


class _Odd(Exception):
    """Something has to be read with care."""


def document(text: str, made: Callable[[Any], Any], table: Table[Host]) -> dict[str, Any] | None:
    """The parts of the file, the hosts as values; None: it has to be read with care.

    :param made: makes what the other parts are made of, of the pairs of an object.
    """
    try:
        return _document(text, _scanner(object_pairs_hook=made), _Hosts(table))
    except (_Odd, InvalidSpec, ValueError, LookupError, TypeError, StopIteration, RecursionError):
        return None


def _document(text: str, scan: _Scan, hosts: _Hosts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at, sign = _sign(text, 0, '{')
    while sign != '}':
        key, at = _scan(text, _space(text, at))
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

    def __init__(self, table: Table[Host]) -> None:
        self._columns = {key: _one_by_one(table, field) for key, field in table.fields.items()}
        self._columns |= {
            'host': _names,
            'hypervisor_hostname': _names,
            'enabled': _flags,
            'up': _flags,
            'aggregates': _Sets(table.fields['aggregates'], Spelt),
            'traits': _Sets(table.fields['traits'], frozenset),
            'resources': _Resources(table.fields['resources'], self._columns['resources']),
        }

    def read(self, text: str, at: int) -> tuple[tuple[Host, ...], int]:
        """The hosts whose list begins before this place, and its end."""
        hosts: list[Host] = []
        sign, at = ',', _space(text, at)
        while sign != ']':
            begin, items = at, list[Any]()
            while sign != ']' and len(items) < _CHUNK:
                item, at = _scan(text, at)
                items.append(item)
                between = _BETWEEN(text, at)
                if between is None:
                    raise _Odd
                sign, at = between[1], between.end()
            made, colons = self._made(items)
            # A character that is spelled as an escape could be a colon.
            _expect(text.count(':', begin, at) == colons and text.find('\\', begin, at) < 0)
            hosts += made
        _expect(len({*map(_IDENTITY, hosts)}) == len(hosts))
        return tuple(hosts), at

    def _made(self, items: list[dict[str, Any]]) -> tuple[list[Host], int]:
        """Hosts of their JSON, in its order, and the colons in it."""
        _expect({*map(type, items)} == {dict})
        kinds = [*map(tuple, items)]
        if len({*kinds}) == 1:
            return self._alike(kinds[0], items)
        made: dict[int, Host] = {}
        colons = 0
        for kind in {*kinds}:
            numbers = [number for number, each in enumerate(kinds) if each == kind]
            hosts, more = self._alike(kind, [items[number] for number in numbers])
            made.update(zip(numbers, hosts, strict=True))
            colons += more
        return [made[number] for number in range(len(items))], colons

    def _alike(self, keys: tuple[str, ...], items: list[dict[str, Any]]) -> tuple[list[Host], int]:
        """The same of objects with the same keys."""
        _expect({*keys} >= _LEAST_FIELDS)
        colons, columns = len(keys) * len(items), []
        for key, column in zip(keys, zip(*map(dict.values, items), strict=True), strict=True):
            values, more = self._columns[key](column)
            columns.append(values)
            colons += more
        hosts = [object.__new__(Host) for _ in items]
        for host, row in zip(hosts, zip(*columns, strict=True), strict=True):
            vars(host).update(zip(keys, row, strict=True))  # what is not there the class has
        return hosts, colons


def _one_by_one(table: Table[Host], field: Field) -> Callable[[Sequence[Any]], _Read]:
    """Reads a column of anything, what is equal in it once."""
    default = table.defaults.get(field.key, ...)

    def read(column: Sequence[Any]) -> _Read:
        if {*map(type, column)} <= {str, type(None)}:
            colons = sum(times * str(each).count(':') for each, times in Counter(column).items())
            known = {each: each if each is default else field.read(each) for each in {*column}}
            return map(known.__getitem__, column), colons
        values = [each if each is default else field.read(each) for each in column]
        return values, json.dumps(column, separators=(',', ':')).count(':')

    return read


def _names(column: Sequence[Any]) -> _Read:
    """Texts that differ."""
    _expect({*map(type, column)} == {str} and '' not in column)
    joined = ''.join(column)
    _expect(joined.isprintable())
    return column, joined.count(':')


def _flags(column: Sequence[Any]) -> _Read:
    _expect({*map(type, column)} == {bool})
    return column, 0


class _Sets:
    """Reads lists of strings that many hosts have."""

    def __init__(self, field: Field, gathered: Callable[[Iterable[str]], frozenset[str]]) -> None:
        self._read, self._gathered = field.read, gathered
        self._texts: dict[str, str] = {}
        self._known: dict[frozenset[str], frozenset[str]] = {}

    def __call__(self, column: Sequence[Any]) -> _Read:
        _expect({*map(type, column)} == {list})
        written = [*map(tuple, column)]
        new = {*written}
        for text in {*chain.from_iterable(new)} - self._texts.keys():
            _expect(type(text) is str and ':' not in text)
            (self._texts[text],) = self._read([text])
        one, known = self._texts.__getitem__, self._known
        sets = [self._gathered(map(one, each)) for each in new]
        one_of_all = dict(zip(new, map(known.setdefault, sets, sets), strict=True))
        return map(one_of_all.__getitem__, written), 0


class _Resources:
    """Reads objects of resources of which nothing but the capacity and the use is said."""

    def __init__(self, field: Field, others: Callable[[Sequence[Any]], _Read]) -> None:
        self._read, self._others = field.read, others
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}

    def __call__(self, column: Sequence[Any]) -> _Read:
        if {*map(type, column)} != {dict}:
            return self._others(column)
        each = [*chain.from_iterable(map(dict.values, column))]
        if {*map(type, each)} != {dict} or {*map(len, each)} != {2}:
            return self._others(column)
        said = [*map(_SAID, each)]
        numbers = [*chain.from_iterable(said)]
        _expect({*map(type, numbers)} == {int} and min(numbers) >= 0)
        made = map(_RESOURCE, map(add, said, repeat(_UNSAID)))
        written = [*map(tuple, column)]
        for names in {*written} - self._names.keys():
            self._names[names] = tuple(self._read(dict.fromkeys(names, _ANY)))
        known = [*map(self._names.__getitem__, written)]
        rows = [dict(zip(names, made, strict=False)) for names in known]
        return rows, len(each) + len(numbers)
