"""Reads the hosts of a snapshot's text column by column, in half the time.

Data flow: some hosts are parsed, those with the same keys become columns, each column is checked as
a whole, and the next ones are parsed when these are values. What is equal in hosts is one object:
sets, strings and resources. Whatever is not plainly right ends this: whoever asked reads the text
again, host by host, and says what is wrong and where.

Shapes::

    document('{"format": 1, "hosts": [{"host": "cmp-1", ...}]}', ...)
    == {'format': 1, 'hosts': (Host('cmp-1', ...),)}

Errors: none. None is a text that has to be read with care.

Source: a parser keeps the last value of a duplicate key; with a colon for each key, the text has
too many colons then.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any

from senlin_affinity.cloud.json_fields import Field, Table
from senlin_affinity.cloud.snapshot_pieces import Pieces, Scan, scanner
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.member_of import Spelt

#: Where so many values differ, what is equal in them is not sought.
_MANY = 50
_SPACE = re.compile(r'[ \t\n\r]*').match
_SAID = itemgetter('capacity', 'used')
_UNSAID = Resource(0, 0)[2:]
_ANY = {'capacity': 0, 'used': 0}
#: A resource of all of its values, with no check that a class written in Python would add.
_RESOURCE = partial(tuple.__new__, Resource)
_NAME, _IDENTITY = attrgetter('host'), attrgetter('host', 'hypervisor_hostname')
_LEAST_FIELDS = {'host', 'hypervisor_hostname'}
#: The values of one key, and the colons that its keys and its strings have in the text.
_Read = tuple[Iterable[Any], int]


class _Odd(Exception):
    """Something has to be read with care."""


def document(text: str, made: Callable[[Any], Any], table: Table[Host]) -> dict[str, Any] | None:
    """The parts of the file, the hosts as values; None: it has to be read with care.

    :param made: makes what the other parts are made of, of the pairs of an object.
    """
    try:
        return _document(text, scanner(object_pairs_hook=made), _Hosts(table))
    except (_Odd, InvalidSpec, ValueError, LookupError, TypeError, StopIteration, RecursionError):
        return None


def _document(text: str, scan: Scan, hosts: _Hosts) -> dict[str, Any]:
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
        at, is_last = _space(text, at), False
        pieces = Pieces(text, at)
        while not is_last:
            items, end, is_last = pieces.parse(at)
            made, colons = self._made(items)
            # A character that is spelled as an escape could be a colon.
            _expect(text.count(':', at, end) == colons and text.find('\\', at, end) < 0)
            hosts += made
            at = end
        _expect(any(len({*map(key, hosts)}) == len(hosts) for key in (_NAME, _IDENTITY)))
        return tuple(hosts), at

    def _made(self, items: list[dict[str, Any]]) -> tuple[list[Host], int]:
        """Hosts of their JSON, in its order, and the colons in it."""
        _expect({*map(type, items)} == {dict})
        hosts, colons = _apart([*map(tuple, items)], items, self._alike)
        return [*hosts], colons

    def _alike(self, keys: tuple[str, ...], items: list[dict[str, Any]]) -> tuple[list[Host], int]:
        """The same of objects with the same keys."""
        _expect({*keys} >= _LEAST_FIELDS)
        colons, columns = len(keys) * len(items), []
        for key, column in zip(keys, zip(*map(dict.values, items), strict=True), strict=True):
            values, more = self._columns[key](column)
            columns.append(values)
            colons += more
        values = map(dict, map(zip, repeat(keys), zip(*columns, strict=True)))
        hosts = [*map(object.__new__, repeat(Host, len(items)))]
        # What is not there, the class has.
        deque(map(object.__setattr__, hosts, repeat('__dict__'), values), 0)
        return hosts, colons


def _apart(kinds: Sequence[Any], items: Sequence[Any], read: Callable[[Any, Any], _Read]) -> _Read:
    """Reads together what is of one kind; the values in the order of the items."""
    if len({*kinds}) == 1:
        return read(kinds[0], items)
    places: dict[Any, list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        places[kind].append(place)
    made: dict[int, Any] = {}
    colons = 0
    for kind, among in places.items():
        values, more = read(kind, [items[place] for place in among])
        made.update(zip(among, values, strict=True))
        colons += more
    return [made[place] for place in range(len(items))], colons


def _one_by_one(table: Table[Host], field: Field) -> Callable[[Sequence[Any]], _Read]:
    """Reads a column of anything, what is equal in it once."""
    default = table.defaults.get(field.key, ...)

    def read(column: Sequence[Any]) -> _Read:
        if {*map(type, column)} <= {str, type(None)}:
            times = Counter(column)
            colons = sum(number * str(each).count(':') for each, number in times.items())
            known = {each: each if each is default else field.read(each) for each in times}
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
        self._text = cache(self._one_text)
        self._sets: dict[tuple[str, ...], frozenset[str]] = {}

    def __call__(self, column: Sequence[Any]) -> _Read:
        _expect({*map(type, column)} == {list})
        written, known = [*map(tuple, column)], self._sets
        new = {*written}.difference(known)
        if _is_nothing_alike(written, new):
            return [self._gathered(map(self._text, each)) for each in written], 0
        for each in new:
            texts = (*map(self._text, each),)
            # Where these are the same, the strings of the piece are not kept.
            known[texts if texts == each else each] = self._gathered(texts)
        return map(known.__getitem__, written), 0

    def _one_text(self, text: Any) -> str:
        _expect(type(text) is str and ':' not in text)
        (read,) = self._read([text])
        return read


class _Resources:
    """Reads objects of resources of which nothing but the capacity and the use is said."""

    def __init__(self, field: Field, others: Callable[[Sequence[Any]], _Read]) -> None:
        self._read, self._others = field.read, others
        #: The names as they are read, and the resources with these names by their figures.
        self._known: dict[tuple[str, ...], tuple[tuple[str, ...], dict[Any, Any]]] = {}

    def __call__(self, column: Sequence[Any]) -> _Read:
        if not {*map(type, column)} <= {dict, type(None)}:
            return self._others(column)
        kinds = [has if has is None else (*has,) for has in column]
        return _apart(kinds, column, self._alike)

    def _alike(self, written: tuple[str, ...] | None, column: Sequence[Any]) -> _Read:
        """The same of objects with the same names, or of none."""
        if not written:
            return column, 0
        each = [*chain.from_iterable(map(dict.values, column))]
        if {*map(len, each)} != {2}:
            return self._others(column)
        numbers = [*chain.from_iterable(map(_SAID, each))]
        _expect({*map(type, numbers)} == {int} and min(numbers) >= 0)
        if written not in self._known:
            self._known[written] = tuple(self._read(dict.fromkeys(written, _ANY))), {}
        names, known = self._known[written]
        figures = [*zip(*[iter(numbers)] * (2 * len(names)), strict=True)]
        new = {*figures}.difference(known)
        is_nothing_alike = _is_nothing_alike(figures, new)
        number = chain.from_iterable(figures if is_nothing_alike else new)
        made = map(_RESOURCE, zip(number, number, *map(repeat, _UNSAID), strict=False))
        rows = map(dict, map(zip, repeat(names), zip(*[made] * len(names), strict=True)))
        if not is_nothing_alike:
            known.update(zip(new, rows, strict=True))
            rows = map(known.__getitem__, figures)
        return rows, len(each) + len(numbers)


def _is_nothing_alike(values: Collection[Any], new: Collection[Any]) -> bool:
    """Do so many values differ, from each other and from all others, that others will, too?"""
    return len(new) == len(values) > _MANY
