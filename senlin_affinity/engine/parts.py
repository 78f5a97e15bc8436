"""Divide the hosts of a cloud into parts: by zone, aggregate, host or a metadata key of aggregates.

Example::

    parts = parts_of(scenario, 'zone')
    parts.names                           ['az-1', 'az-2']
    parts.sums(scenario.free('VCPU'))     [96, 40]

Parts may overlap: a host may be in several aggregates.
:mod:`~senlin_affinity.engine.flavor_capacity` adds up numbers by part.

Raises: InvalidSpec for a ``by`` that is no metadata key of an aggregate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.suggestion import meant
from senlin_affinity.scenario.columns import Numbers
from senlin_affinity.scenario.scenario import Scenario

#: The values of ``by`` that are no metadata keys.
ZONE, AGGREGATE, HOST = 'zone', 'aggregate', 'host'
#: The name of the part of hosts whose zone is unknown, or that have no value of a metadata key.
NO_NAME = ''


class Parts(NamedTuple):
    """Sets of hosts, by name.

    ``members`` has the host indexes of one set after the other, ``starts`` the index in it at which
    each set begins. ``empty`` are the names of sets without hosts.
    """

    names: Sequence[str]
    members: Numbers
    starts: Numbers
    empty: Sequence[str] = ()

    @property
    def sets(self) -> list[Numbers]:
        """The host indexes of each set."""
        return np.split(self.members, self.starts[1:]) if self.names else []

    def sums(self, values: Numbers) -> list[int]:
        """Return the sum of each set."""
        found: list[int] = np.add.reduceat(values[self.members], self.starts).tolist()
        return found

    def largest(self, values: Numbers) -> list[int]:
        """Return the largest value of each set."""
        found: list[int] = np.maximum.reduceat(values[self.members], self.starts).tolist()
        return found


NO_PARTS = Parts((), np.zeros(0, np.int64), np.zeros(0, np.int64))


def parts_of(scenario: Scenario, by: str) -> Parts:
    """Return the sets of hosts by zone, aggregate, host, or a metadata key."""
    columns = scenario.columns
    names_of: list[tuple[str, ...]]
    known: Iterable[str] = ()
    if by == HOST:
        names_of = [(name,) for name in columns.names]
        numbers = np.arange(len(names_of))
    elif by == ZONE:
        classes = columns.classes(('availability_zone',))
        names_of = [(zone or NO_NAME,) for (zone,) in classes.values]
        numbers = classes.of_host
    else:
        classes = columns.classes(('aggregates',))
        name_of = _names_of_aggregates(scenario, by)
        names_of = [
            tuple(sorted({name for uuid in uuids for name in name_of.get(uuid, ())})) or (NO_NAME,)
            for (uuids,) in classes.values
        ]
        numbers = classes.of_host
        known = {name for names in name_of.values() for name in names}
    sets: dict[str, list[int]] = {}
    for number, names in enumerate(names_of):
        for name in names:
            sets.setdefault(name, []).append(number)
    order = np.argsort(numbers, kind='stable')
    counts = np.bincount(numbers, minlength=len(names_of))
    ends = np.cumsum(counts)
    members = {
        name: np.sort(np.concatenate([order[ends[one] - counts[one] : ends[one]] for one in own]))
        for name, own in sets.items()
    }
    filled = sorted(name for name, indexes in members.items() if len(indexes))
    sizes = [len(members[name]) for name in filled]
    starts = np.cumsum([0, *sizes])[:-1]
    every = [members[name] for name in filled]
    empty = tuple(sorted({*known, *members} - {*filled}))
    return Parts(filled, np.concatenate(every) if every else NO_PARTS.members, starts, empty)


def _names_of_aggregates(scenario: Scenario, by: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the parts of which an aggregate's hosts are members, by its UUID.

    Its own name, or the values of the metadata key ``by``.
    """
    aggregates = scenario.cloud.aggregates
    if aggregates is None:
        raise InvalidSpec(f'must be {ZONE} or {HOST}, because the aggregates are not known', 'by')
    if by == AGGREGATE:
        return {each.uuid: (each.name,) for each in aggregates}
    keys = scenario.cloud.metadata_keys
    if by not in keys:
        words = meant(by, [ZONE, AGGREGATE, HOST, *sorted(keys)])
        raise InvalidSpec(f'no aggregate has the metadata key {by!r}: {words}', 'by')
    return {each.uuid: (each.metadata[by],) for each in aggregates if by in each.metadata}
