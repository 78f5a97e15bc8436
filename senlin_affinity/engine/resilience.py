"""Say which domains of hosts can be lost with every server evacuated elsewhere.

Example::

    found = resilience('zone', scenario, settings, constraints)
    found.losses[0].name, found.losses[0].verdict       ('az-1', 'in_order')

For each domain:

1. A server that Nova does not evacuate (``nova.moves``) is left.
2. ``evacuation_proofs`` proves of the others that they fit whichever hosts Nova picks. This needs
   no evaluation of a domain.
3. The servers without a proof are placed one by one, as in a drain (``drain_orders``); the others
   fit wherever these are. What is left then is "not found", which proves nothing, unless no order
   is possible, or a sum proves that the servers do not fit.
4. For what does not fit, the missing amounts follow from the sums, and hosts like the lost ones are
   added until all servers fit.

Domains that hold servers of the same kinds on equal hosts still differ in the hosts that are left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from senlin_affinity.engine.drain import REASONS, assumed_by, in_waves, may_open, stuck_of
from senlin_affinity.engine.drain_orders import MOST_HOSTS, Kin, best_order
from senlin_affinity.engine.drain_plan import DrainPlan, Stuck, Unblocking
from senlin_affinity.engine.evacuation import Evacuations, Kind
from senlin_affinity.engine.evacuation_proofs import lacking, needs_of, obstacles, unproven
from senlin_affinity.engine.new_hosts import empty
from senlin_affinity.engine.parts import NO_NAME, ZONE, parts_of
from senlin_affinity.engine.resilience_report import Loss as Loss
from senlin_affinity.engine.resilience_report import Resilience as Resilience
from senlin_affinity.engine.workload_plan import Obstacle
from senlin_affinity.model.host import Host
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.request import Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Reason, sentence
from senlin_affinity.nova import moves
from senlin_affinity.nova.moves import EVACUATE
from senlin_affinity.scenario.columns import Flags
from senlin_affinity.scenario.constraint import Constraint, reasons_of
from senlin_affinity.scenario.scenario import Scenario

#: Orders with more hosts are tried for this number of evaluated hosts, over all domains.
_HOSTS = 200_000


def resilience(
    by: str, scenario: Scenario, settings: Settings, constraints: Sequence[Constraint]
) -> Resilience:
    """Return what the loss of each domain does to its servers.

    :param by: ``zone``, ``aggregate``, ``host``, or a metadata key of aggregates. Hosts that have
        no value of the key are in no domain.
    """
    every = Evacuations(scenario, constraints, settings)
    search = _Search(every, {**reasons_of(constraints), **REASONS})
    losses = tuple(search.loss(*domain) for domain in _domains(by, scenario))
    assumed = assumed_by(every.rooms)
    return Resilience(by, search.with_missing(losses), (*assumed,), scenario.cloud.taken_at)


def _domains(by: str, scenario: Scenario) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of each domain, and its service hosts."""
    parts, names = parts_of(scenario, by), scenario.columns.names
    for name, indexes in zip(parts.names, parts.sets, strict=True):
        if name != NO_NAME or by == ZONE:
            yield name, tuple(dict.fromkeys(names[each] for each in indexes.tolist()))


class _Search:
    """The search for the outcome of each loss."""

    def __init__(self, every: Evacuations, reasons: Mapping[str, Reason]) -> None:
        self._every, self._reasons = every, reasons

    def loss(self, name: str, hosts: tuple[str, ...]) -> Loss:
        """Return the outcome of the loss of these service hosts, without what is missing."""
        every = self._every
        servers = self._servers(hosts)
        stuck, movable = list[Stuck](), list[Server]()
        for server in servers:
            verdict = every.obstacle(server)
            if verdict is None:
                movable.append(server)
            else:
                why = sentence(verdict, self._reasons)
                stuck.append(Stuck(server, EVACUATE, verdict, why))
        kinds, targets = _by_kind(movable, every), self._targets(hosts)
        counts = {kind: len(own) for kind, own in kinds.items()}
        plan, caveats = DrainPlan(hosts, (), (*stuck,)), _caveats(movable)
        is_coupled = every.names_one_of(movable)
        rest = [*kinds] if is_coupled else unproven(counts, every, targets)
        found: Sequence[Obstacle] = ()
        if rest:
            own, start = {kind: kinds[kind] for kind in rest}, plan
            plan = self._placed(start, own, movable, targets)
            if plan.not_found and plan.fits is None and not is_coupled:
                found = obstacles(needs_of(counts, every, targets), every.scenario)
            if plan.not_found and plan.fits is None and not found:
                plan = self._placed(start, own, movable, targets, MOST_HOSTS)
        of_moves = (text for each in plan.moves for text in each.caveats)
        caveats = tuple(dict.fromkeys((*caveats, *of_moves)))
        anywhere = len(movable) - sum(len(kinds[kind]) for kind in rest)
        return Loss(name, plan, len(servers), anywhere, (*found,), caveats=caveats)

    def _placed(
        self,
        plan: DrainPlan,
        kinds: Mapping[Kind, Sequence[Server]],
        servers: Sequence[Server],
        targets: Flags,
        most_hosts: int = 0,
    ) -> DrainPlan:
        """Return the plan with the evacuations of servers of these kinds.

        :param servers: all that are evacuated.
        :param most_hosts: see ``best_order``; 0: try as little as possible.
        """
        every, task = self._every, self._every.task(targets, servers)
        kin = [
            Kin(every.request(kind), EVACUATE, (*own,), every.room(kind).on(targets))
            for kind, own in kinds.items()
        ]
        stuck, open_kin = [*plan.stuck], list[Kin]()
        for each in kin:
            if each.room.is_open or may_open(task, each, kin):
                open_kin.append(each)
            else:
                stuck += stuck_of(task, each, self._reasons, remedies=False)
        best = best_order(task, open_kin, most_hosts)
        left = tuple(server for each in best.left for server in each.servers)
        return replace(
            plan,
            moves=in_waves(task, best.placed),
            stuck=(*stuck,),
            not_found=left,
            is_proven=best.is_proven,
        )

    def _servers(self, hosts: Iterable[str]) -> list[Server]:
        by_host = self._every.cloud.servers_by_host
        return [each for host in hosts for each in by_host.get(host, ())]

    def _targets(self, hosts: Iterable[str]) -> Flags:
        """Return the hosts of the scenario that are not lost."""
        columns = self._every.scenario.columns
        found = np.ones(len(columns.hosts), bool)
        for name in hosts:
            found[[*columns.indexes_by_name[name]]] = False
        return found

    def with_missing(self, losses: Sequence[Loss]) -> tuple[Loss, ...]:
        """Return the losses with what would let all servers fit.

        Hosts are added until as many hosts were evaluated as are allowed.
        """
        failed = [each for each in losses if each.fits is not True and self._is_helped(each)]
        if not failed:
            return (*losses,)
        more = _MoreHosts(self._every, [each.hosts for each in failed])
        left = _HOSTS // len(more.every.scenario.hosts)
        found = dict[str, Loss]()
        for each in failed:
            missing = [*self._lacking(each)]
            if left > 0:
                left -= 1
                missing += more.missing(each)
            found[each.name] = replace(each, missing=(*missing,))
        return tuple(found.get(each.name, each) for each in losses)

    def _is_helped(self, loss: Loss) -> bool:
        """Check whether hosts could help: not a server that Nova evacuates to no host."""
        return loss.verdict in ('cannot', 'not_found') and not any(
            each.code in moves.REASONS for each in loss.plan.stuck
        )

    def _lacking(self, loss: Loss) -> Iterator[Unblocking]:
        """Yield the amounts that are missing, if sums prove that."""
        servers, every = self._servers(loss.hosts), self._every
        if loss.fits is None or every.names_one_of(servers):
            return
        counts = {kind: len(own) for kind, own in _by_kind(servers, every).items()}
        targets = self._targets(loss.hosts)
        yield from lacking(needs_of(counts, every, targets), every.scenario)


class _MoreHosts:
    """The cloud with empty hosts like those that are lost."""

    def __init__(self, every: Evacuations, losses: Sequence[tuple[str, ...]]) -> None:
        scenario = every.scenario
        self.like: dict[str, Host] = {}
        numbers = Counter[tuple[object, ...]]()
        shapes: dict[tuple[object, ...], Host] = {}
        for hosts in losses:
            host = max((scenario.cloud.hosts_by_name[name] for name in hosts), key=_size)
            self.like[hosts[0]] = host
            shape = _shape(host)
            shapes.setdefault(shape, host)
            numbers[shape] = max(numbers[shape], len(hosts))
        self._places: dict[tuple[object, ...], range] = {}
        for shape, host in shapes.items():
            begin, number = len(scenario.hosts), numbers[shape]
            new = empty(host)
            names = (f'{new.host}-{each}' for each in range(number))
            scenario = scenario.add_copies(new, names)
            self._places[shape] = range(begin, begin + number)
        self.every = every.in_scenario(scenario)

    def missing(self, loss: Loss) -> Iterator[Unblocking]:
        """Yield the smallest number of hosts like the largest lost one with which all fit."""
        like = self.like[loss.hosts[0]]
        places = self._places[_shape(like)]
        most = len(loss.hosts)
        number = 1
        while not self._fits(loss, places[:number]):
            if number == most:
                return
            number = min(2 * number, most)
        tried = range(number // 2 + 1, number)
        number = tried.start + bisect_left(
            tried, True, key=lambda each: self._fits(loss, places[:each])
        )
        text = f'{counted(number, "more host")} like {like.host}'
        yield Unblocking('more_hosts', text, {'like': like.host, 'number': number})

    def _fits(self, loss: Loss, places: range) -> bool:
        """Check whether an order is found with these new hosts."""
        every, columns = self.every, self.every.scenario.columns
        targets = np.zeros(len(columns.hosts), bool)
        targets[: len(every.cloud.hosts or ())] = True
        for shape in self._places.values():
            targets[shape.start : shape.stop] = False
        targets[places.start : places.stop] = True
        for name in loss.hosts:
            targets[[*columns.indexes_by_name[name]]] = False
        servers = [each for name in loss.hosts for each in self.every.cloud.servers_by_host[name]]
        kinds = _by_kind(servers, every)
        rest = [*kinds]
        if not every.names_one_of(servers):
            rest = unproven({kind: len(own) for kind, own in kinds.items()}, every, targets)
        kin = [
            Kin(every.request(kind), EVACUATE, (*kinds[kind],), every.room(kind).on(targets))
            for kind in rest
        ]
        if any(not each.room.is_open or each.is_too_many for each in kin):
            return False
        return not best_order(every.task(targets, servers), kin, 0).left


def _by_kind(servers: Iterable[Server], every: Evacuations) -> dict[Kind, list[Server]]:
    found: dict[Kind, list[Server]] = {}
    for server in servers:
        found.setdefault(every.kind(server), []).append(server)
    return found


def _caveats(servers: Iterable[Server]) -> tuple[str, ...]:
    """Return why Nova may reject a host, because of what the servers hide."""
    return tuple(dict.fromkeys(text for each in servers for text in moves.caveats(each, EVACUATE)))


def _size(host: Host) -> tuple[int, ...]:
    has = host.resources or {}
    return tuple(has[name].capacity if name in has else 0 for name in ('VCPU', 'MEMORY_MB'))


def _shape(host: Host) -> tuple[object, ...]:
    """Return what tells new hosts apart."""
    has = tuple(sorted((name, each.capacity) for name, each in (host.resources or {}).items()))
    return host.availability_zone, host.aggregates, host.traits, has
