"""How hosts look to the rules that read no figures: hosts that look alike are asked about once.

Data flow: what each rule says that it reads (``reads``) makes the look of a host, a tuple of its
values. Where names count for a rule (``named``), these hosts are asked about one by one.

Shapes::

    [*looks_of(hosts, {'enabled', 'up'})] == [(True, True), (True, False), (True, True)]

Of ``resources`` a look has which classes are listed, as far as that is not all, and of ``grants``
the queries, and whether they give any room: never the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import compress, count
from operator import attrgetter
from typing import Any, NamedTuple

from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.grants import Grant
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.numbering import numbered, renumbered
from senlin_affinity.core.planning.rows import is_by_name
from senlin_affinity.core.planning.shapes import Shapes
from senlin_affinity.core.verdict import Verdict

_FIELDS = """
    aggregates availability_zone enabled grants hypervisor_type is_nested is_partial resources
    traits unmirrored up
"""
#: All that a rule may read which does not say what it reads.
FIELDS = frozenset(_FIELDS.split())
_NAME, _GRANTS = attrgetter('host'), attrgetter('grants')
_RESOURCES, _IS_PARTIAL = attrgetter('resources'), attrgetter('is_partial')


class Looks(NamedTuple):
    """How hosts look in some of their fields: the number of each look, and a host for each."""

    fields: frozenset[str]
    numbers: Sequence[int]
    hosts: Sequence[Host]

    @classmethod
    def of(cls, fields: frozenset[str], hosts: Sequence[Host]) -> Looks:
        """Those of some hosts."""
        numbers, firsts = numbered(looks_of(hosts, fields))
        return cls(fields, numbers, [*map(hosts.__getitem__, firsts)])

    def at(self, places: Iterable[int]) -> Looks:
        """Those at some places."""
        known = [*map(self.numbers.__getitem__, places)]
        numbers, firsts = numbered(known)
        return Looks(self.fields, numbers, [self.hosts[known[first]] for first in firsts])

    def patched(self, places: Sequence[int], other: Looks) -> Looks:
        """The same with others at these places, of which the last may come after all hosts."""
        hosts = [*self.hosts, *other.hosts]
        numbers = renumbered(self.numbers, len(self.hosts), places, other.numbers)
        return Looks(self.fields, numbers, hosts)


def looks_of(hosts: Sequence[Host], fields: Collection[str]) -> Iterable[Hashable]:
    """How each host looks in these fields, one after the other: most are not kept."""
    plain = sorted({*fields} - {'grants', 'resources'})
    looks: Iterable[Any] = map(_getter(plain), hosts)
    if 'resources' in fields and not _is_all_listed(hosts):
        looks = zip(looks, map(_listed, hosts), strict=True)
    if 'grants' in fields and [*map(_GRANTS, hosts)].count(None) < len(hosts):
        looks = zip(looks, _queries(hosts), strict=True)
    return looks


def _getter(fields: Sequence[str]) -> Callable[[Host], Hashable]:
    return attrgetter(*fields) if fields else _nothing


def _nothing(_host: Host) -> None:
    """The look of a host where nothing counts."""


def _is_all_listed(hosts: Sequence[Host]) -> bool:
    """Are there resources, of which all are listed?"""
    return all(map(_RESOURCES, hosts)) and True not in map(_IS_PARTIAL, hosts)


def _listed(host: Host) -> Hashable:
    """Is anything known of the resources? And of which classes, where that is not all."""
    return (*host.resources,) if host.is_partial and host.resources else bool(host.resources)


def _queries(hosts: Sequence[Host]) -> list[Hashable]:
    """What Placement was asked, and whether it grants anything."""
    known: dict[int, tuple[tuple[str, bool], ...]] = {}

    def queries(grants: tuple[Grant, ...] | None) -> Hashable:
        if grants is None:
            return None
        if id(grants) not in known:
            known[id(grants)] = (*((grant.query, grant.room > 0) for grant in grants),)
        return known[id(grants)]

    return [*map(queries, map(_GRANTS, hosts))]


def named_hosts(hosts: Sequence[Host], names: Sequence[Collection[str] | None]) -> Sequence[int]:
    """The places of the hosts whose names count; None: any may."""
    if None in names:
        return range(len(hosts))
    found = frozenset().union(*(each or () for each in names))
    return [*compress(count(), map(found.__contains__, map(_NAME, hosts)))] if found else ()


class Rule:
    """A rule that reads no figures, and what it answered to one question.

    ``named`` are the hosts whose names count for it (None: any may).
    """

    def __init__(self, resolved: ResolvedRequest, constraint: HostConstraint) -> None:
        self.name = constraint.name
        self.reads = _declared(resolved, constraint, 'reads', FIELDS)
        self.named: Collection[str] | None = ()
        if is_by_name(constraint):
            self.named = _declared(resolved, constraint, 'named', None)
        shapes = Shapes(resolved, constraint)
        #: What counts for it of a host, and what it says about one, or about each of several.
        self.shape, self.ask, self.ask_each = shapes.shape, shapes.ask, shapes.ask_each

    @property
    def is_named(self) -> bool:
        """Are there hosts that it is asked about one by one?"""
        return self.named is None or bool(self.named)

    def ask_looks(self, hosts: Sequence[Host]) -> list[Verdict]:
        """What it says about hosts that look like each of these."""
        looks = numbered(looks_of(hosts, self.reads))
        verdicts = self.ask_each([hosts[place] for place in looks.firsts])
        return [*map(verdicts.__getitem__, looks.numbers)]


def _declared(
    resolved: ResolvedRequest, constraint: HostConstraint, method: str, otherwise: Any
) -> Any:
    """What a rule says by one of its optional methods."""
    if not hasattr(constraint, method):
        return otherwise
    with blame.blaming(constraint, method):
        return getattr(constraint, method)(resolved)
