"""Prove that the servers of several requests do not fit together, or that they fit anywhere.

Each proof compares sums, so that it holds for every order and every choice of hosts:

* a request that does not fit alone;
* an amount of a resource class, or a number of servers, that some hosts do not have for the servers
  that no other host can take: all hosts, those of a zone, those that may take one of the requests;
* a server group with more servers than its hosts have slots, or, with affinity, than any host has
  room for;
* a quota.

A sum proves that servers do not fit, never that they do. :func:`fits_anywhere` proves the latter:
the hosts of a request take as many servers of the componentwise largest flavor as there are servers
that may use these hosts. So one host has room for the last server, wherever the others are.

Units: amounts as in the snapshot, else numbers of servers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_

import numpy as np

from senlin_affinity.engine.capacity import is_open_affinity
from senlin_affinity.engine.decide import Step, decide
from senlin_affinity.engine.evaluation import Evaluation
from senlin_affinity.engine.unspecified import Assignment
from senlin_affinity.engine.workload_plan import Obstacle, named
from senlin_affinity.model.flavor import VCPU, Group
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import enforced_policy
from senlin_affinity.nova.quota_charges import Total, totals
from senlin_affinity.nova.quotas import quotas_of
from senlin_affinity.scenario.columns import INFINITE, Flags, Numbers
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class Need:
    """Equal servers that need hosts: what each takes of a host, and which hosts may take it.

    ``upper`` is the most servers that each host may take. ``least`` and ``most`` are the amounts
    that one server may use, by resource class.
    """

    name: str
    count: int
    upper: Numbers
    least: Mapping[str, int]
    most: Mapping[str, int]

    @cached_property
    def usable(self) -> Flags:
        """The hosts that may take a server."""
        return self.upper > 0

    def forced(self, hosts: Flags) -> int:
        """Return how many of the servers only these hosts can take."""
        others = np.minimum(self.upper, self.count)[~hosts]
        return max(0, self.count - int(others.sum()))


@dataclass(frozen=True)
class Alone(Need):
    """A request of a list, as decided on the cloud without the servers of the others."""

    step: Step

    @classmethod
    def of(cls, name: str, step: Step) -> Alone:
        """Return the request of a step that no other precedes."""
        request = step.evaluation.request
        upper = step.evaluation.table.upper
        return cls(name, request.count, upper, *amounts_of(request), step)

    @property
    def request(self) -> Request:
        """The request."""
        return self.step.evaluation.request

    @property
    def is_rejected(self) -> bool:
        """Whether the servers do not fit, with or without those of the others.

        Servers of other requests can only help one that is spread.
        """
        return self.step.evaluation.fits is False and not self.request.spread


def amounts_of(request: Request) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the least and the most that one server of a request uses, by resource class."""
    demand, least, most = demand_of(request), Counter[str](), Counter[str]()
    if demand is not None:
        least.update(demand.amounts)
        most = _sum(demand.groups) | _sum(demand.fallback)
        if demand.may_be_pinned:  # an image that was not read may turn them into PCPU
            del least[VCPU]
    if request.is_forced:
        least.clear()
    return least, most


def _sum(groups: Iterable[Group]) -> Counter[str]:
    return sum((Counter(group.amounts) for group in groups), Counter[str]())


def obstacles(every: Sequence[Alone], scenario: Scenario, new_groups: int) -> list[Obstacle]:
    """Return the proofs that the servers of all requests do not fit, each once.

    :param new_groups: the number of server groups that are created.
    """
    found = [*_alone(every), *_of_quotas(every, scenario, new_groups)]
    if scenario.cloud.hosts is not None:
        own = [each for each in every if each.count and each.usable.any()]
        found += [*of_hosts(own, scenario), *_of_groups(own, scenario)]
    return [*dict.fromkeys(found)]


def _alone(every: Iterable[Alone]) -> Iterator[Obstacle]:
    """Yield each request that does not fit alone."""
    for each in every:
        if each.is_rejected:
            yield Obstacle('workload.request', f'{each.name} does not even fit alone')


def _of_quotas(every: Sequence[Alone], scenario: Scenario, new_groups: int) -> Iterator[Obstacle]:
    """Yield each quota that all servers together exceed."""
    for each in _totals(every, scenario, new_groups) or ():
        if each.least > each.left:
            text = f'{each.least:,} {each.what} are needed, and the quota leaves {each.left:,}'
            yield Obstacle('workload.quota', text)


def _totals(every: Iterable[Alone], scenario: Scenario, new_groups: int) -> Sequence[Total] | None:
    """Return what all servers need of the quotas; None if these are unknown, () if ignored."""
    counted = [each.request for each in every if not each.request.are_quotas_ignored]
    if not counted:
        return ()
    known = quotas_of(counted[0], scenario.cloud)
    return None if known is None else [*totals(known, counted, new_groups)]


def by_group(every: Iterable[Alone]) -> Mapping[str, list[Alone]]:
    """Return the requests of each server group, by its id."""
    found: defaultdict[str, list[Alone]] = defaultdict(list)
    for each in every:
        if each.request.server_group is not None:
            found[each.request.server_group.id].append(each)
    return found


def of_hosts(every: Sequence[Need], scenario: Scenario) -> Iterator[Obstacle]:
    """Yield each amount that some hosts lack for the servers that no other hosts can take.

    A need alone is not checked.
    """
    seen = set()
    for hosts in _sets_of_hosts(every, scenario):
        forced = [each.forced(hosts) for each in every]
        own = [(each, number) for each, number in zip(every, forced, strict=True) if number]
        key = (*forced,)
        if len(own) < 2 or key in seen:
            continue
        seen.add(key)
        usable: Flags = reduce(or_, (each.usable for each, _number in own)) & hosts
        wanted, number = sum(number for _each, number in own), int(np.count_nonzero(usable))
        who = f'{wanted:,} servers of {named(each.name for each, _number in own)}'
        which = f'{number:,} {"host, which has" if number == 1 else "hosts, which have"}'
        need: Counter[str] = Counter()
        for each, count in own:
            need.update({name: amount * count for name, amount in each.least.items()})
        if lacking := next(shortfalls(need, scenario, usable), None):
            name, amount, free = lacking
            text = f'{who} need {amount:,} {name} on {which} {free:,} left'
            yield Obstacle('workload.resources', text)
            continue
        shared = {
            name: min(each.least.get(name, 0) for each, _number in own)
            for name in need
            if not scenario.columns.inventories(name).is_pooled.any()
        }
        fit = int(np.minimum(slots(scenario, shared, usable), wanted)[usable].sum())
        if fit < wanted:
            yield Obstacle('workload.servers', f'{who} need {which} room for {fit:,}')


def shortfalls(
    need: Mapping[str, int], scenario: Scenario, hosts: Flags
) -> Iterator[tuple[str, int, int]]:
    """Yield each resource class that hosts lack, with the needed and the free amount.

    Amounts that are not known are not lacking.
    """
    for name, amount in need.items():
        free = _free_total(scenario, name, hosts)
        if free is not None and amount > free:
            yield name, amount, free


def _sets_of_hosts(every: Iterable[Need], scenario: Scenario) -> Iterator[Flags]:
    """Yield all hosts, those of each zone, and those that may take each request."""
    yield np.ones(len(scenario.hosts), bool)
    zones = scenario.classes(('availability_zone',))
    for number in range(len(zones.values)):
        yield zones.of_host == number
    yield from (each.usable for each in every)


def free_of(scenario: Scenario, name: str) -> Numbers:
    """Return the most that may be free on each host; INFINITE if it is not known."""
    columns = scenario.columns
    is_listed = columns.inventories(name).is_listed
    is_known = columns.flags('has_resources', lambda host: host.resources is not None)
    is_known = is_listed | (is_known & ~columns.flags('is_partial'))
    return np.where(is_known, np.maximum(0, scenario.free(name)), INFINITE)


def _free_total(scenario: Scenario, name: str, hosts: Flags) -> int | None:
    """Return the free amount of some hosts, each shared pool once; None if it is not known."""
    free, is_pooled = free_of(scenario, name), scenario.columns.inventories(name).is_pooled
    own = free[hosts & ~is_pooled]
    if (own >= INFINITE).any():
        return None
    pools: dict[str, int] = {}
    for index in np.flatnonzero(hosts & is_pooled).tolist():
        has = (scenario.hosts[index].resources or {})[name]
        pools[has.pool or ''] = max(0, has.capacity - has.used)
    return int(own.sum()) + sum(pools.values())


def slots(scenario: Scenario, amounts: Mapping[str, int], hosts: Flags) -> Numbers:
    """Return how often these amounts are free on each host; INFINITE if nothing limits that."""
    found = np.where(hosts, INFINITE, 0)
    for name, amount in amounts.items():
        if amount:
            free = free_of(scenario, name)
            found = np.minimum(found, np.where(free >= INFINITE, INFINITE, free // amount))
    return found


def _of_groups(every: Iterable[Alone], scenario: Scenario) -> Iterator[Obstacle]:
    """Yield each server group of several requests that has too few slots, or no common host."""
    for own in by_group(every).values():
        group, policy = own[0].request.server_group, enforced_policy(own[0].request)
        if group is None or len(own) < 2:
            continue
        wanted = sum(each.count for each in own)
        if policy == ANTI_AFFINITY and group.max_server_per_host is not None:
            members = scenario.members(own[0].request, is_checked=False)
            usable: Flags = reduce(or_, (each.usable for each in own))
            _services, firsts = np.unique(scenario.columns.name_ranks[usable], return_index=True)
            left = np.maximum(0, group.max_server_per_host - members[usable][firsts])
            if int(left.sum()) < wanted:
                text = f'group {group.name} gets {wanted} servers, and the hosts that they may use '
                yield Obstacle('workload.group', f'{text}have {int(left.sum())} slots')
            continue
        is_together = policy == AFFINITY and not scenario.cloud.has_shared_services
        if is_together and not homes(own, scenario).any():
            text = f'group {group.name} has the policy affinity, and no host has room for its '
            yield Obstacle('workload.group', f'{text}{wanted} servers')


def homes(own: Sequence[Alone], scenario: Scenario) -> Flags:
    """Return the hosts that may take all servers of these requests."""
    found = np.ones(len(scenario.hosts), bool)
    need: Counter[str] = Counter()
    for each in own:
        found &= each.step.evaluation.table.upper >= each.count
        need.update({name: amount * each.count for name, amount in each.least.items()})
    for name, amount in need.items():
        found &= free_of(scenario, name) >= amount
    return found


def fits_anywhere(every: Sequence[Alone], scenario: Scenario, new_groups: int) -> bool:
    """Check whether all servers are guaranteed to fit, whichever hosts Nova picks, in any order."""
    # Unknown quotas leave no request a guaranteed number of servers.
    of_quotas = _totals(every, scenario, new_groups) or ()
    return all(each.most <= each.left for each in of_quotas) and all(
        _fits_anywhere(each, every, scenario) for each in every if each.count
    )


def _fits_anywhere(each: Alone, every: Iterable[Alone], scenario: Scenario) -> bool:
    """Check whether a host is left for the last server of a request, wherever the others are.

    False if hosts share anything, or a new affinity group may get any host.
    """
    step, request = each.step, each.request
    if step.evaluation.domains is not None or is_open_affinity(request, scenario):
        return False
    if (step.assignment.total.bounds.lower or 0) < each.count:
        return False
    beside = [other for other in every if (other.usable & each.usable).any()]
    largest: Counter[str] = reduce(or_, (Counter(other.most) for other in beside))
    wanted = sum(other.count for other in beside)
    lower = lower_of(step.evaluation, step.assignment)
    room, gain = slots(scenario, largest, lower > 0), 0
    if enforced_policy(request) == ANTI_AFFINITY:
        # Members of the group close hosts for it: at most as many as those with the fewest slots.
        # The members on a closed host do not fill the others.
        group, alike = request.server_group, replace(request, server_group=None)
        mates = sum(other.count for other in every if other.request.server_group == group) - 1
        closed = int(np.searchsorted(np.cumsum(np.sort(lower[lower > 0])), mates, 'right'))
        (step,) = decide([alike], scenario, step.constraints)
        room = np.minimum(
            np.minimum(room, np.where(lower > 0, lower_of(step.evaluation, step.assignment), 0)),
            wanted,
        )
        gain = int(np.sort(np.maximum(0, room - lower))[len(room) - closed :].sum())
    else:
        room = np.minimum(np.minimum(room, lower), wanted)
    return int(room.sum()) - gain >= wanted


def lower_of(now: Evaluation, assigned: Assignment) -> Numbers:
    """Return the guaranteed number of servers on each host, whatever nova.conf may enable."""
    lower, restricted = now.table.lower, assigned.restricted
    return lower if restricted is None else np.minimum(lower, restricted.table.lower)
