"""Evaluate the moves of servers from drained hosts, with the engine of new servers.

A server that moves is a request for one server. Servers with equal requests share an evaluation.

Units: numbers of servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
from msgspec import structs

from senlin_affinity.engine import unspecified
from senlin_affinity.engine.assign import choose, filled
from senlin_affinity.engine.capacity import UNKNOWN_PARTS
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.engine.table import Table
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY, SOFT_AFFINITY, SOFT_POLICIES, Member
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import moves
from senlin_affinity.scenario.columns import Flags, Numbers
from senlin_affinity.scenario.constraint import Constraint
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class Room:
    """The numbers of servers of one request that the targets take; 0 for other hosts.

    ``expected`` and ``upper`` are those of the table of ``now``; ``certain`` are guaranteed, also
    if nova.conf enables what nothing specifies (``enabled``). ``rejection`` is that of the request
    as a whole.
    """

    now: Evaluation
    enabled: Evaluation
    table: Table
    certain: Numbers
    expected: Numbers
    upper: Numbers
    rejection: Verdict | None = None

    def on(self, hosts: Flags) -> Room:
        """Return the room on some of the hosts only."""
        of_hosts = (np.where(hosts, each, 0) for each in (self.certain, self.expected, self.upper))
        certain, expected, upper = of_hosts
        return replace(self, certain=certain, expected=expected, upper=upper)

    @property
    def is_open(self) -> bool:
        """Whether any target may take a server."""
        return bool(self.upper.any())

    def apart(self, scenario: Scenario, number: int) -> Room | None:
        """Return the room on hosts without new servers, where the evaluation still holds.

        None unless these take so many, as certainly as any, or if other hosts matter to them.
        """
        group, now = self.now.request.server_group, self.now
        is_together = group is not None and group.policy in (AFFINITY, SOFT_AFFINITY)
        if scenario.columns is not now.scenario.columns or now.domains is not None or is_together:
            return None
        if scenario.placed is None:
            return self
        is_free = scenario.placed == 0
        certain, expected = (np.where(is_free, each, 0) for each in (self.certain, self.expected))
        wanted = certain if self.certain.any() else expected
        found = replace(self, certain=certain, expected=expected)
        return found if wanted.sum() >= number else None

    def choose(self, number: int, *, is_tight: bool) -> list[int]:
        """Return the targets of up to so many servers, by index; [] if none is expected to fit.

        Hosts that are certain come first, alone. With domains, return one target.

        :param is_tight: choose the host with the least free resources, not as Nova does.
        """
        left = self.certain if self.certain.any() else self.expected
        now = self.now
        if now.domains is not None:
            number = 1
        if not is_tight:
            table = replace(self.table, expected=left)
            return choose(now.request, now.scenario, table, now.domains, number)
        return filled(left, number, now.scenario.columns.name_ranks, self.table.free)

    def caveats(self, index: int) -> tuple[str, ...]:
        """Return why the host at this index may reject a server that is expected to fit there."""
        if self.certain[index]:
            return ()
        if self.enabled is not self.now:
            names = unspecified.names_deciding(self.now, self.enabled, index)
            if names:
                return (f'what nova.conf may enable ({", ".join(names)})',)
        return tuple(each.text for each in self.now.total.caveats) or (UNKNOWN_PARTS.text,)


@dataclass(frozen=True)
class Task:
    """Drained hosts, their servers by id, and the hosts that may take these.

    ``scenario`` is the cloud in which the drained hosts are disabled. ``is_freeing``: a server that
    has moved holds nothing of its former host; False for hosts that are down, as Nova removes these
    allocations only when the host is up again.
    """

    scenario: Scenario
    constraints: Sequence[Constraint]
    settings: Settings
    is_target: Flags
    servers: Mapping[str, Server]
    is_freeing: bool = True

    @classmethod
    def of(
        cls,
        hosts: Sequence[str],
        scenario: Scenario,
        settings: Settings,
        constraints: Sequence[Constraint],
        targets: Iterable[str] | None = None,
    ) -> Task:
        """Return the task for all servers of these service hosts.

        :param targets: the service hosts that may take servers; None: all others.
        """
        servers = [each for host in hosts for each in scenario.cloud.servers_by_host.get(host, ())]
        wanted = {*scenario.columns.names} if targets is None else {*targets}
        wanted.difference_update(hosts)
        is_target = np.fromiter((name in wanted for name in scenario.columns.names), bool)
        of_id = {each.id: each for each in servers}
        return cls(_drained(scenario, hosts, servers), constraints, settings, is_target, of_id)

    @cached_property
    def named(self) -> frozenset[str]:
        """The servers that the scheduler hints of drained servers name."""
        every = (scheduler_hints.named(each.hints, None) for each in self.servers.values())
        return frozenset(self.servers).intersection(chain.from_iterable(every))

    @cached_property
    def is_coupled(self) -> bool:
        """Whether a move may free what other servers need."""
        return bool(self.named) or any(map(self.frees_pools, self.servers.values()))

    def keys(self, server: Server, request: Request) -> frozenset[str]:
        """Return keys; servers with a common key move one after the other.

        The group unless its policy is soft, and the servers that scheduler hints name.
        """
        group = request.server_group
        found = self.named & {server.id, *scheduler_hints.named(server.hints, None)}
        if server.server_group and not (group and group.policy in SOFT_POLICIES):
            found |= {server.server_group}
        return found

    def request_of(self, server: Server) -> Request:
        """Return the request for the server on another host.

        Drained hosts take nothing, so members on these count for affinity only: without them, more
        requests are equal.
        """
        request = moves.request_of(server, self.scenario.cloud, self.settings)
        group = request.server_group
        if group is None or group.policy == AFFINITY:
            return request
        members = (
            each
            for each in group.members
            if each.left or each.also_on or each.server not in self.servers
        )
        return replace(request, server_group=structs.replace(group, members=(*members,)))

    def room(self, request: Request, scenario: Scenario) -> Room:
        """Return the numbers of servers that the targets take in a scenario."""
        now = evaluate(request, scenario, self.constraints, is_brief=True)
        table = now.table if now.domains is None else now.domains.table
        certain, enabled = _lower(now), unspecified.with_all(now)
        if enabled is not now:
            certain = np.minimum(certain, _lower(enabled))
        rejection = next((each for each in now.verdicts.values() if each.bounds.upper == 0), None)
        is_target = self.is_target if rejection is None else np.zeros_like(self.is_target)
        found = Room(now, enabled, table, certain, table.expected, table.upper, rejection)
        return found.on(is_target)

    def index_of(self, server: Server) -> int | None:
        """Return the index of the host of a server; of several hypervisors, that of the server."""
        columns = self.scenario.columns
        return next(columns.indexes_of(server.host, server.hypervisor_hostname), None)

    def frees_pools(self, server: Server) -> bool:
        """Check whether a server frees resources of a sharing provider when it moves."""
        if not self.is_freeing:
            return False
        index = self.index_of(server)
        resources = None if index is None else self.scenario.hosts[index].resources
        return any(each.pool for each in (resources or {}).values())

    def without(self, scenario: Scenario, moved: Mapping[str, Request]) -> Scenario:
        """Return the scenario in which servers, by id, have left their hosts."""
        for name, request in moved.items():
            index = self.index_of(self.servers[name])
            if index is not None and self.frees_pools(self.servers[name]):
                scenario = scenario.remove(request, {index: 1})
        return scenario

    def located(self, scenario: Scenario, where: Mapping[str, int]) -> Scenario:
        """Return the scenario in which servers that scheduler hints name are on other hosts.

        :param where: the index of the host of each server, by id.
        """
        found = {name: index for name, index in where.items() if name in self.named}
        if not found:
            return scenario
        kept = (each for each in scenario.cloud.servers or () if each.server not in found)
        more = (Member(name, scenario.hosts[index].host) for name, index in found.items())
        return scenario.with_parts(servers=(*kept, *more))


def _drained(scenario: Scenario, hosts: Iterable[str], servers: Iterable[Server]) -> Scenario:
    """Return the cloud in which the hosts are disabled.

    Their zones stay available, as no new server is created. The servers that hints of the drained
    ones name are on their hosts, if these were read.
    """
    cloud = scenario.cloud
    scenario = scenario.disable(hosts)
    names = {name for each in servers for name in scheduler_hints.named(each.hints, None)}
    names.difference_update(cloud.located)
    every = chain.from_iterable(cloud.servers_by_host.values()) if names else ()
    found = [Member(each.id, each.host) for each in every if each.id in names]
    more = {'servers': (*(cloud.servers or ()), *found)} if found else {}
    return scenario.with_parts(closed_zones=cloud.unavailable_zones, **more)


def _lower(now: Evaluation) -> Numbers:
    """Return the guaranteed numbers; 0 if a caveat applies to the request as a whole."""
    table = now.table if now.domains is None else now.domains.table
    return table.lower if now.total.bounds.lower else np.zeros_like(table.lower)
