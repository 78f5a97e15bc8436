"""Describe a cloud after servers were placed on its hosts, or after its hosts were changed.

A scenario shares all arrays that a change does not concern; the cloud itself does not change.

Example::

    scenario = Scenario.of(cloud)
    after = scenario.place(request, {0: 2})     # two servers with 4 VCPU each on the first host
    after.free('VCPU')[0] == scenario.free('VCPU')[0] - 8
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import structs

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.nova import topology
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import disabled
from senlin_affinity.scenario.columns import Classes, Columns, Grants, Numbers

#: Fields of a host whose values depend on the servers that were placed.
FREE, SERVERS = 'free', 'servers'


@dataclass(frozen=True)
class Scenario:
    """The hosts of a cloud, with the servers that were placed on them.

    ``placed`` is the number of new servers on each host (None: there are none), ``used`` the amount
    of each resource class that all new servers of a host use, and ``placements`` the number of new
    servers on each host for each request.
    """

    columns: Columns
    placed: Numbers | None = None
    used: Mapping[str, Numbers] = field(default_factory=dict)
    placements: tuple[tuple[Request, Numbers], ...] = ()

    @classmethod
    def of(cls, cloud: Cloud) -> Scenario:
        """Return the cloud without changes."""
        return cls(Columns.of(cloud))

    @classmethod
    def of_hosts(cls, cloud: Cloud, hosts: Sequence[Host]) -> Scenario:
        """Return the same cloud with these hosts only."""
        return cls(Columns.of(cloud).of_hosts(hosts))

    def _placed_for(self, request: Request) -> Numbers | None:
        """Return the number of new servers of the request, and of its group, on each host."""
        group, found = request.server_group, None
        for other, servers in self.placements:
            of = other.server_group
            if other is request if group is None else of is not None and of.id == group.id:
                found = servers if found is None else found + servers
        return found

    def placed_for(self, request: Request) -> Mapping[str, int]:
        """Return the number of new servers of the request, and of its group, by service host."""
        found, servers = Counter[str](), self._placed_for(request)
        if servers is not None:
            for index in np.flatnonzero(servers).tolist():
                found[self.columns.names[index]] += int(servers[index])
        return found

    def members_on(self, request: Request, *, is_checked: bool = True) -> Mapping[str, int]:
        """Return the known number of servers of the group by service host, with the new ones.

        :param is_checked: as in ``ServerGroup.held``.
        """
        found = Counter(self.placed_for(request))
        if request.server_group is not None:
            found.update(request.server_group.held(is_checked=is_checked))
        return found

    def members(self, request: Request, *, is_checked: bool = True) -> Numbers:
        """Return the number of :meth:`members_on` for each host."""
        columns, group, servers = self.columns, request.server_group, self._placed_for(request)
        found = np.zeros(len(self.hosts), np.int64)
        if group is not None and group.members:
            key, held = ('members', is_checked, group), group.held(is_checked=is_checked)
            found = columns.known(key, lambda: columns.counted(held), ('host',))
        if servers is not None:
            found = found + columns.of_services(servers)
        return found

    def servers_by(self, request: Request, by: str) -> Counter[str]:
        """Count the servers of the group in each domain by ``by``, with the new ones.

        A server on a host of several domains, or of none, is not counted.
        """
        return topology.servers(request, self.cloud, by, self.placed_for(request))

    def with_hosts(
        self, changed: Mapping[int, Host], *, are_copies: bool = False, **parts: Any
    ) -> Scenario:
        """Replace the hosts at these indexes, and other parts of the cloud, such as its quotas.

        An index after the last one adds a host.

        :param are_copies: the hosts differ from each other in their names only.
        """
        columns = self.columns.with_hosts(changed, are_copies=are_copies, **parts)
        more = len(columns.hosts) - len(self.hosts)
        if not more or self.placed is None:
            return replace(self, columns=columns)
        return Scenario(
            columns,
            np.pad(self.placed, (0, more)),
            {name: np.pad(amounts, (0, more)) for name, amounts in self.used.items()},
            tuple((request, np.pad(servers, (0, more))) for request, servers in self.placements),
        )

    def with_parts(self, **parts: Any) -> Scenario:
        """Replace parts of the cloud other than hosts, such as its quotas."""
        return self.with_hosts({}, **parts)

    def change(self, names: Iterable[str], how: Callable[[Host], Host]) -> Scenario:
        """Change each host of these service hosts."""
        of_names = self.columns.indexes_by_name
        indexes = sorted(index for name in {*names} for index in of_names.get(name, ()))
        return self.with_hosts({index: how(self.hosts[index]) for index in indexes})

    def disable(self, names: Iterable[str]) -> Scenario:
        """Disable the compute services of these hosts."""
        return self.change(names, disabled)

    def add(self, hosts: Iterable[Host]) -> Scenario:
        """Add hosts."""
        return self.with_hosts(dict(enumerate(hosts, len(self.hosts))))

    def add_copies(self, host: Host, names: Iterable[str]) -> Scenario:
        """Add a host for each name."""
        hosts = (host.but(host=name) for name in names)
        return self.with_hosts(dict(enumerate(hosts, len(self.hosts))), are_copies=True)

    @property
    def cloud(self) -> Cloud:
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
        placed = np.zeros(len(self.hosts), np.int64)
        placed[[*servers]] = [*servers.values()]
        asked, used = demand_of(request), dict(self.used)
        for name, amount in ({} if asked is None else asked.amounts).items():
            more = placed * amount
            used[name] = used[name] + more if name in used else more
        return Scenario(
            self.columns,
            placed if self.placed is None else self.placed + placed,
            used,
            (*self.placements, (request, placed)),
        )

    def remove(self, request: Request, servers: Mapping[int, int]) -> Scenario:
        """Free what so many servers of the request use on the hosts at these indexes.

        What a sharing provider supplies becomes free for all hosts of its pool. A negative number
        of servers uses more.
        """
        asked, changed = demand_of(request), dict[int, Host]()
        pools = {uuid: dict(pool) for uuid, pool in self.cloud.pools.items()}

        def less(index: int, name: str, amount: int) -> None:
            host = changed.get(index, self.hosts[index])
            has = dict(host.resources or {})
            has[name] = structs.replace(has[name], used=max(0, has[name].used - amount))
            changed[index] = host.but(resources=has)

        for index, number in servers.items():
            for name, each in ({} if asked is None else asked.amounts).items():
                has = (self.hosts[index].resources or {}).get(name)
                if has is None:
                    continue
                amount, own = each * number, pools.get(has.pool or '', {})
                if name not in own:
                    less(index, name, amount)
                    continue
                own[name] = structs.replace(own[name], used=max(0, own[name].used - amount))
                for at, host in enumerate(self.hosts):
                    other = (host.resources or {}).get(name)
                    if other is not None and other.pool == has.pool:
                        less(at, name, amount)
        return self.with_hosts(dict(sorted(changed.items())), pools=pools)

    def free(self, name: str) -> Numbers:
        """Return the free amount of a resource class on each host; 0 if the host has none."""
        free = self.columns.inventories(name).free
        return free - self.used[name] if name in self.used else free

    def grants(self, query: str | None) -> Grants:
        """Return Placement's answers to a query, less the servers that were placed."""
        grants = self.columns.grants(query)
        if self.placed is None:
            return grants
        left = (np.maximum(0, each - self.placed) for each in (grants.room, grants.certain))
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
        if servers is None or self.placed is None:
            return servers
        return servers + int(self.placed[index])

    def classes(self, fields: tuple[str, ...]) -> Classes:
        """Return the classes of the hosts by these fields.

        With ``FREE``, a mapping, each host has a class of its own.
        """
        if FREE not in fields and not (SERVERS in fields and self.placed is not None):
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
