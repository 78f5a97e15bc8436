"""Plan rolling maintenance: empty many hosts in batches, one after the other.

Example::

    plan = drain_in_batches(['cmp-1', 'cmp-2', 'cmp-3'], 2, scenario, settings, constraints)
    plan.batches[0].hosts       ('cmp-1', 'cmp-2')
    plan.line()                 '3 of 3 hosts are emptied in 2 batches'

A batch has at most so many hosts, all servers of which move (:mod:`engine.drain`). After its
maintenance, the hosts are empty and take the servers of later batches. A host that cannot be
emptied in one batch is tried again in later ones.

Placement's answers about nested providers hold for the cloud as it was read, so later batches do
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from senlin_affinity.engine.drain import drain
from senlin_affinity.engine.drain_plan import DrainPlan, Move, all_fit
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.request import Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member
from senlin_affinity.nova import moves
from senlin_affinity.scenario.constraint import Constraint
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class RollingPlan:
    """The batches in their order, and a plan for each host that no batch empties.

    The plans of ``left`` are those after all batches. ``most`` is the largest number of hosts in a
    batch.
    """

    most: int
    batches: tuple[DrainPlan, ...] = ()
    left: tuple[DrainPlan, ...] = ()

    @property
    def fits(self) -> bool | None:
        """True if Nova accepts each move; False if a server of a host certainly stays."""
        return all_fit(each.fits for each in (*self.batches, *self.left))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts in the order in which they are emptied, then those that are not."""
        return tuple(host for each in (*self.batches, *self.left) for host in each.hosts)

    def line(self) -> str:
        """Return the sum: ``38 of 40 hosts are emptied in 10 batches; 2 are not``."""
        emptied, left = sum(len(each.hosts) for each in self.batches), len(self.left)
        total, number = emptied + left, len(self.batches)
        text = f'{emptied:,} of {counted(total, "host")} '
        text += 'is emptied' if emptied == 1 else 'are emptied'
        if number:
            text += f' in {number} {"batch" if number == 1 else "batches"}'
        return text + (f'; {left} {"is" if left == 1 else "are"} not' if left else '')

    def as_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {
            'format': 1,
            'fits': self.fits,
            'line': self.line(),
            'max_unavailable': self.most,
            'batches': [each.as_dict() for each in self.batches],
            'left': [each.as_dict() for each in self.left],
        }


def drain_in_batches(
    hosts: Sequence[str],
    most: int,
    scenario: Scenario,
    settings: Settings,
    constraints: Sequence[Constraint],
    *,
    targets: Sequence[str] | None = None,
) -> RollingPlan:
    """Plan batches of at most so many of these service hosts.

    :param targets: the service hosts that may take servers; None: all others.
    """
    left, batches = [*dict.fromkeys(hosts)], list[DrainPlan]()

    def plan(some: Sequence[str]) -> DrainPlan:
        return drain(some, scenario, settings, constraints, targets=targets)

    while left:
        batch = plan(left[:most])
        if not _is_emptied(batch):
            batch = DrainPlan(())
            for host in left:
                if len(batch.hosts) < most and _is_emptied(more := plan([*batch.hosts, host])):
                    batch = more
        if not batch.hosts:
            break
        batches.append(batch)
        left = [each for each in left if each not in batch.hosts]
        scenario = after(scenario, batch, settings)
    return RollingPlan(most, (*batches,), tuple(plan([each]) for each in left))


def _is_emptied(plan: DrainPlan) -> bool:
    return not plan.stuck and not plan.not_found


def after(scenario: Scenario, plan: DrainPlan, settings: Settings) -> Scenario:
    """Return the cloud after the moves of a plan."""
    if not plan.moves:
        return scenario
    scenario = _without_answers(scenario)
    before, columns = scenario.cloud, scenario.columns
    for move in plan.moves:
        request = moves.request_of(move.server, before, settings)
        source = next(columns.indexes_of(move.server.host, move.server.hypervisor_hostname))
        target = next(columns.indexes_of(move.target, move.target_node))
        # Separate steps: the hosts may share a pool.
        scenario = scenario.remove(request, {source: 1}).remove(request, {target: -1})
        counts = ((source, -1), (target, 1))
        changed = {
            index: host.but(servers=None if host.servers is None else host.servers + more)
            for index, more in sorted(counts)
            for host in (scenario.hosts[index],)
        }
        scenario = scenario.with_hosts(changed)
    return scenario.with_parts(**_located(before, plan.moves))


def _without_answers(scenario: Scenario) -> Scenario:
    """Return the cloud without Placement's answers, which say what is free on hosts."""
    asked = {
        index: host.but(grants=None)
        for index, host in enumerate(scenario.hosts)
        if host.grants is not None
    }
    if not (asked or scenario.cloud.answered):
        return scenario
    return scenario.with_hosts(asked, answered=frozenset())


def _located(cloud: Cloud, every: Sequence[Move]) -> dict[str, Any]:
    """Return the parts of the cloud that say where the servers are."""
    moved = {each.server.id: each for each in every}
    by_host: dict[str, list[Server]] = {
        name: [one for one in servers if one.id not in moved]
        for name, servers in cloud.servers_by_host.items()
    }
    for each in every:
        server = structs.replace(
            each.server, host=each.target, hypervisor_hostname=each.target_node
        )
        if each.target in by_host:
            by_host[each.target].append(server)
    parts: dict[str, Any] = {'servers_by_host': {name: (*own,) for name, own in by_host.items()}}

    def located(member: Member) -> Member:
        found = moved.get(member.server)
        return member if found is None else structs.replace(member, host=found.target)

    if cloud.servers is not None:
        parts['servers'] = (*map(located, cloud.servers),)
    if cloud.server_groups is not None:
        parts['server_groups'] = tuple(
            structs.replace(group, members=(*map(located, group.members),))
            for group in cloud.server_groups
        )
    return parts
