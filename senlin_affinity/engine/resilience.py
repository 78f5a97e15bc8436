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
4. For what does not fit, the missing amounts follow from the sums. Servers that are pinned to a
   lost zone are unpinned, and hosts that are not lost with the domain are added, until all fit.

Domains that hold servers of the same kinds on equal hosts still differ in the hosts that are left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from senlin_affinity.engine.drain import REASONS, assumed_by, in_waves, may_open, stuck_of
from senlin_affinity.engine.drain_orders import MOST_HOSTS, Kin, best_order
from senlin_affinity.engine.drain_plan import DrainPlan, Stuck, Unblocking
from senlin_affinity.engine.evacuation import Evacuations, Kind
from senlin_affinity.engine.evacuation_proofs import lacking, needs_of, obstacles, unproven
from senlin_affinity.engine.new_hosts import empty
from senlin_affinity.engine.parts import HOST, NO_NAME, ZONE, parts_of
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
#: At most so many new hosts are tried for each lost one.
_MOST_TIMES = 4
#: What tells new hosts apart.
_Shape = tuple[object, ...]


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
    losses = search.with_missing(losses, is_of_hosts=by == HOST)
    return Resilience(by, losses, (*assumed,), scenario.cloud.taken_at)


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

    def with_missing(self, losses: Sequence[Loss], *, is_of_hosts: bool) -> tuple[Loss, ...]:
        """Return the losses with what would let all servers fit.

        Hosts are added until as many hosts were evaluated as are allowed.

        :param is_of_hosts: each loss is that of a host, not of a domain that new hosts may be in.
        """
        failed = [
            replace(each, missing=(*self._lacking(each),))
            for each in losses
            if each.fits is not True and self._is_helped(each)
        ]
        if not failed:
            return (*losses,)
        most = _HOSTS // len(self._every.scenario.hosts)
        more = _MoreHosts(self._every, failed[:most], is_of_hosts=is_of_hosts)
        left = _HOSTS // len(more.every.scenario.hosts)
        found = {each.name: each for each in failed}
        for each in failed[:left]:
            found[each.name] = replace(each, missing=(*each.missing, *more.missing(each)))
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
    """The cloud with empty hosts like those that could help after the losses.

    A new host survives the loss: it is like a host that does, or replaces a single lost host.
    """

    def __init__(self, every: Evacuations, losses: Sequence[Loss], *, is_of_hosts: bool) -> None:
        self._is_of_hosts = is_of_hosts
        scenario, by_shape = every.scenario, dict[_Shape, list[Host]]()
        for host in scenario.hosts:
            by_shape.setdefault(_shape(host), []).append(host)
        self._by_shape, self._begin = by_shape, len(scenario.hosts)
        self._trial = every.in_scenario(scenario.add(empty(own[0]) for own in by_shape.values()))
        self._like: dict[str, Host] = {}
        numbers = Counter[_Shape]()
        for loss in losses:
            like = self._most_helpful(loss)
            if like is not None:
                self._like[loss.name] = like
                shape = _shape(like)
                numbers[shape] = max(numbers[shape], self._most(loss, like))
        self._places: dict[_Shape, range] = {}
        for shape, number in numbers.items():
            begin, new = len(scenario.hosts), empty(by_shape[shape][0])
            names = (f'{new.host}-{each}' for each in range(number))
            scenario = scenario.add_copies(new, names)
            self._places[shape] = range(begin, begin + number)
        self.every = every.in_scenario(scenario)

    def _most_helpful(self, loss: Loss) -> Host | None:
        """Return the host of which an empty copy takes the most of the servers that are left.

        Of equal ones, a lost host, then the largest. Only hosts of the zone that lacks resources;
        None if that is not a single one, or no copy takes a server.
        """
        every, lost = self._trial, {*loss.hosts}
        stuck = [each.server for each in loss.plan.stuck]
        kinds = Counter[Kind]()
        for server in self._unpinned(loss, (*stuck, *loss.plan.not_found)):
            kinds[Kind(every.kind(server).asked)] += 1
        taken = np.zeros(len(self._by_shape), np.int64)
        for kind, count in kinds.items():
            taken += count * (every.room(kind).expected[self._begin :] > 0)
        zones = {zone for each in loss.missing if (zone := each.data['zone'])}
        host: Host | None = None
        best: tuple[int, bool, tuple[int, ...]] = (0, False, ())
        for number, own in zip(taken.tolist(), self._by_shape.values(), strict=True):
            first = next((each for each in own if each.host in lost), None)
            if zones - {own[0].availability_zone} or (first and not self._is_of_hosts):
                continue
            rank = number, first is not None, _size(own[0])
            if number and rank > best:
                best, host = rank, first or own[0]
        return host

    def _most(self, loss: Loss, like: Host) -> int:
        """Return how many hosts are tried: as many as are lost, more if these are larger."""
        number, by_name = len(loss.hosts), self._trial.cloud.hosts_by_name
        lost = map(sum, zip(*(_size(by_name[name]) for name in loss.hosts), strict=True))
        sums = zip(lost, _size(like), strict=True)
        equal = max((-(-total // own) for total, own in sums if own), default=0)
        return max(number, min(equal, _MOST_TIMES * number))

    def _unpinned(self, loss: Loss, servers: Iterable[Server]) -> list[Server]:
        """Return the servers, without their pinned zones if all hosts of these are lost.

        Unchanged for the loss of a host, as a new one may be in its zone.
        """
        if self._is_of_hosts:
            return [*servers]
        lost = {*loss.hosts}
        hosts = self._trial.scenario.hosts[: self._begin]
        kept = {each.availability_zone for each in hosts if each.host not in lost}
        return [
            each
            if each.pinned_zone is None or each.pinned_zone in kept
            else structs.replace(each, pinned_zone=None)
            for each in servers
        ]

    def missing(self, loss: Loss) -> Iterator[Unblocking]:
        """Yield what lets all fit: fewer pinned servers, and the smallest number of new hosts."""
        by_host = self.every.cloud.servers_by_host
        pinned = [each for name in loss.hosts for each in by_host[name]]
        servers = self._unpinned(loss, pinned)
        unpinned = [each for each, other in zip(pinned, servers, strict=True) if each != other]
        if unpinned and not moves.may_unpin(self.every.cloud):
            return
        more: list[Unblocking] = []
        if not (unpinned and self._fits(loss, servers, range(0))):
            more = [*self._more_hosts(loss, servers)]
            if not more:
                return
        for zone in sorted({each.pinned_zone or '' for each in unpinned}):
            ids = [each.id for each in unpinned if each.pinned_zone == zone]
            text = (
                f'unpin {counted(len(ids), "server")} from zone {zone} (compute API {moves.UNPIN})'
            )
            yield Unblocking('unpin', text, {'zone': zone, 'servers': ids})
        yield from more

    def _more_hosts(self, loss: Loss, servers: Sequence[Server]) -> Iterator[Unblocking]:
        """Yield the smallest number of hosts like the most helpful one with which all fit."""
        like = self._like.get(loss.name)
        if like is None:
            return
        places = self._places[_shape(like)]
        most, number = self._most(loss, like), 1
        while not self._fits(loss, servers, places[:number]):
            if number == most:
                return
            number = min(2 * number, most)
        tried = range(number // 2 + 1, number)
        number = tried.start + bisect_left(
            tried, True, key=lambda each: self._fits(loss, servers, places[:each])
        )
        text = f'{counted(number, "more host")} like {like.host}'
        yield Unblocking('more_hosts', text, {'like': like.host, 'number': number})

    def _fits(self, loss: Loss, servers: Sequence[Server], places: range) -> bool:
        """Check whether an order is found for the servers with these new hosts."""
        every, columns = self.every, self.every.scenario.columns
        targets = np.zeros(len(columns.hosts), bool)
        targets[: self._begin] = True
        targets[places.start : places.stop] = True
        for name in loss.hosts:
            targets[[*columns.indexes_by_name[name]]] = False
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


def _shape(host: Host) -> _Shape:
    """Return what tells new hosts apart."""
    has = tuple(sorted((name, each.capacity) for name, each in (host.resources or {}).items()))
    return host.availability_zone, host.aggregates, host.traits, has
