"""Describe a cloud after servers were placed on its hosts, or after its hosts were changed.

A scenario shares all arrays that a change does not concern; the cloud itself does not change.

Example::

    scenario = Scenario.of(cloud)
    after = scenario.place({0: 2}, {'VCPU': 4})     # two servers with 4 VCPU each on the first host
    after.free('VCPU')[0] == scenario.free('VCPU')[0] - 8
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from senlin_affinity.model.host import Host
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.scenario.columns import Classes, Columns, Grants, Numbers

#: Fields of a host whose values depend on the servers that were placed.
FREE, SERVERS = 'free', 'servers'


@dataclass(frozen=True)
class Scenario:
    """The hosts of a cloud, with the servers that were placed on them.

    ``placed`` is the number of new servers by the index of the host, and ``used`` the amount of
    each resource class that all new servers of a host use.
    """

    columns: Columns
    placed: Mapping[int, int] = field(default_factory=dict)
    used: Mapping[str, Numbers] = field(default_factory=dict)

    @classmethod
    def of(cls, cloud: CloudSnapshot) -> Scenario:
        """Return the cloud without changes."""
        return cls(Columns.of(cloud))

    @classmethod
    def of_hosts(cls, cloud: CloudSnapshot, hosts: Sequence[Host]) -> Scenario:
        """Return the same cloud with these hosts only."""
        return cls(Columns.of(cloud).of_hosts(hosts))

    @property
    def cloud(self) -> CloudSnapshot:
        """The cloud, without the new servers."""
        return self.columns.cloud

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts, without the new servers."""
        return self.columns.hosts

    def place(self, servers: Mapping[int, int], amounts: Mapping[str, int]) -> Scenario:
        """Add so many servers to the hosts at these indexes; each uses these amounts."""
        indexes = np.fromiter(servers, np.int64, len(servers))
        numbers = np.fromiter(servers.values(), np.int64, len(servers))
        used = dict(self.used)
        for name, amount in amounts.items():
            more = np.zeros(len(self.hosts), np.int64)
            more[indexes] = numbers * amount
            used[name] = used[name] + more if name in used else more
        placed = {**self.placed}
        for index, number in servers.items():
            placed[index] = placed.get(index, 0) + number
        return replace(self, placed=placed, used=used)

    def free(self, name: str) -> Numbers:
        """Return the free amount of a resource class on each host; 0 if the host has none."""
        free = self.columns.inventories(name).free
        return free - self.used[name] if name in self.used else free

    def grants(self, query: str | None) -> Grants:
        """Return Placement's answers to a query, less the servers that were placed."""
        grants = self.columns.grants(query)
        if not self.placed:
            return grants
        placed = np.zeros(len(self.hosts), np.int64)
        placed[[*self.placed]] = [*self.placed.values()]
        left = (np.maximum(0, each - placed) for each in (grants.room, grants.certain))
        return Grants(grants.is_asked, grants.is_listed, *left)

    def free_on(self, index: int) -> Mapping[str, int] | None:
        """Return the free amounts of one host by resource class; None if they are unknown."""
        resources = self.hosts[index].resources
        if resources is None:
            return None
        return {
            name: has.capacity - has.used - int(self.used[name][index] if name in self.used else 0)
            for name, has in resources.items()
        }

    def servers_on(self, index: int) -> int | None:
        """Return the number of servers of one host; None if it is unknown."""
        servers = self.hosts[index].servers
        return None if servers is None else servers + self.placed.get(index, 0)

    def classes(self, fields: tuple[str, ...]) -> Classes:
        """Return the classes of the hosts by these fields.

        With ``FREE``, a mapping, each host has a class of its own.
        """
        if FREE not in fields and not (SERVERS in fields and self.placed):
            return self.columns.classes(fields)
        values = [self._values(index, fields) for index in range(len(self.hosts))]
        if FREE in fields:
            return Classes(np.arange(len(values)), values, {})
        numbers: dict[Any, int] = {}
        of_host = [numbers.setdefault(value, len(numbers)) for value in values]
        return Classes(np.array(of_host, np.int64), [*numbers], numbers)

    def _values(self, index: int, fields: Collection[str]) -> tuple[Any, ...]:
        own = {FREE: self.free_on, SERVERS: self.servers_on}
        host = self.hosts[index]
        return tuple(own[name](index) if name in own else getattr(host, name) for name in fields)
