"""Describe a cloud after servers were placed on its hosts, or after its hosts were changed.

A scenario shares all arrays that a change does not concern; the cloud itself does not change.

Example::

    scenario = Scenario.of(cloud)
    after = scenario.place(request, {0: 2})     # two servers with 4 VCPU each on the first host
    after.free('VCPU')[0] == scenario.free('VCPU')[0] - 8
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import topology
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import disabled, enabled
from senlin_affinity.scenario.columns import Classes, Columns, Grants, Numbers

#: Fields of a host whose values depend on the servers that were placed.
FREE, SERVERS = 'free', 'servers'
_NOWHERE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Scenario:
    """The hosts of a cloud, with the servers that were placed on them.

    ``placed`` is the number of new servers by the index of the host, ``used`` the amount of each
    resource class that all new servers of a host use, and ``placements`` the number of new servers
    by service host, for each request.
    """

    columns: Columns
    placed: Mapping[int, int] = field(default_factory=dict)
    used: Mapping[str, Numbers] = field(default_factory=dict)
    placements: tuple[tuple[Request, Mapping[str, int]], ...] = ()

    @classmethod
    def of(cls, cloud: CloudSnapshot) -> Scenario:
        """Return the cloud without changes."""
        return cls(Columns.of(cloud))

    @classmethod
    def of_hosts(cls, cloud: CloudSnapshot, hosts: Sequence[Host]) -> Scenario:
        """Return the same cloud with these hosts only."""
        return cls(Columns.of(cloud).of_hosts(hosts))

    def placed_for(self, request: Request) -> Mapping[str, int]:
        """Return the number of new servers of the request, and of its group, by service host."""
        if request.server_group is not None:
            return self._placed_of_groups.get(request.server_group.id, _NOWHERE)
        own: Counter[str] = Counter()
        for other, servers in self.placements:
            if other is request:
                own.update(servers)
        return own

    @cached_property
    def _placed_of_groups(self) -> Mapping[str, Counter[str]]:
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for request, servers in self.placements:
            if request.server_group is not None:
                found[request.server_group.id].update(servers)
        return dict(found)

    def members_on(self, request: Request) -> Mapping[str, int]:
        """Return the known number of servers of the group by service host, with the new ones."""
        found = Counter(self.placed_for(request))
        if request.server_group is not None:
            found.update(request.server_group.held())
        return found

    def servers_by(self, request: Request, by: str) -> Counter[str]:
        """Count the servers of the group in each domain by ``by``, with the new ones.

        A server on a host of several domains, or of none, is not counted.
        """
        return topology.servers(request, self.cloud, by, self.placed_for(request))

    def with_hosts(self, changed: Mapping[int, Host], **parts: Any) -> Scenario:
        """Replace the hosts at these indexes, and other parts of the cloud, such as its quotas.

        An index after the last one adds a host.
        """
        columns = self.columns.with_hosts(changed, **parts)
        more = len(columns.hosts) - len(self.hosts)
        used = self.used
        if more:
            used = {name: np.pad(amounts, (0, more)) for name, amounts in used.items()}
        return replace(self, columns=columns, used=used)

    def with_parts(self, **parts: Any) -> Scenario:
        """Replace parts of the cloud other than hosts, such as its quotas."""
        return self.with_hosts({}, **parts)

    def change(self, names: Iterable[str], how: Callable[[Host], Host]) -> Scenario:
        """Change each host of these service hosts."""
        of_names = self.columns.indexes_by_name
        indexes = sorted(index for name in {*names} for index in of_names.get(name, ()))
        return self.with_hosts({index: how(self.hosts[index]) for index in indexes})

    def enable(self, names: Iterable[str]) -> Scenario:
        """Enable the compute services of these hosts."""
        return self.change(names, enabled)

    def disable(self, names: Iterable[str]) -> Scenario:
        """Disable the compute services of these hosts."""
        return self.change(names, disabled)

    def start(self, names: Iterable[str]) -> Scenario:
        """Start the compute services of these hosts."""
        return self.change(names, lambda host: host.but(up=True))

    def add(self, hosts: Iterable[Host]) -> Scenario:
        """Add hosts."""
        return self.with_hosts(dict(enumerate(hosts, len(self.hosts))))

    @property
    def cloud(self) -> CloudSnapshot:
        """The cloud, without the new servers."""
        return self.columns.cloud

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts, without the new servers."""
        return self.columns.hosts

    def place(self, request: Request, servers: Mapping[int, int]) -> Scenario:
        """Add so many servers of the request to the hosts at these indexes."""
        if not servers:
            return self
        indexes = np.fromiter(servers, np.int64, len(servers))
        numbers = np.fromiter(servers.values(), np.int64, len(servers))
        asked, used = demand_of(request), dict(self.used)
        for name, amount in ({} if asked is None else asked.amounts).items():
            more = np.zeros(len(self.hosts), np.int64)
            more[indexes] = numbers * amount
            used[name] = used[name] + more if name in used else more
        placed, on_host = Counter(self.placed), Counter[str]()
        for index, number in servers.items():
            placed[index] += number
            on_host[self.hosts[index].host] += number
        placements = (*self.placements, (request, on_host))
        return replace(self, placed=placed, used=used, placements=placements)

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
