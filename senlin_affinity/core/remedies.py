"""The smallest change that makes a request fit: found by planning again with one thing changed.

The way of the data: the question that did not fit comes in; each kind of change makes questions out
of it, which the planner answers; the smallest of each kind that fits goes out, smallest first. If
no change alone is enough, those that give more than there is go out, the most helpful first;
of equals, those that are certain stand before those that are "at most". Nothing is proposed that
was not planned.

Units: ``size`` counts what is changed: steps of ``max_server_per_host``, hosts, servers of a quota,
one zone. A soft policy, or a rule given up, weighs as much as all the servers that are asked for.
New hosts are planned one by one, so they are proposed up to ``MOST_NEW_HOSTS``, or as many as there
are: whatever is asked for, a plan with them costs no more than twice the cloud, or than a cloud of
that size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from senlin_affinity.core import quotas
from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.decision import Decision, Remedy
from senlin_affinity.core.objects import Host, Question, Quota
from senlin_affinity.core.replanner import Replanner
from senlin_affinity.core.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    MAX_SERVER_PER_HOST,
    SOFT_AFFINITY,
    SOFT_ANTI_AFFINITY,
    ServerGroup,
)

_MOST_ZONES = 10
MOST_NEW_HOSTS = 1000
#: As many as a range can have.
_MOST_STEPS = 2**31 - 1
#: Rules that another kind of change speaks for, or that no change of the request can lift.
_NOT_DROPPED = ('server_group', 'quota', 'resources', 'availability_zone', 'host_state')

Kind = Iterator[tuple[Remedy, Decision]]


def find(
    question: Question,
    constraints: Sequence[Constraint],
    decide: Callable[[Question, Sequence[Constraint]], Decision],
    now: Decision,
) -> tuple[Remedy, ...]:
    """What would help, the smallest change first; ``now`` is the decision as it is."""
    planner = Replanner(question, constraints, decide, now)
    changes = [change for kind in _KINDS for change in kind(planner)]
    enough = [remedy for remedy, decision in changes if decision.fits]
    if enough:
        return tuple(sorted(enough, key=lambda item: (item.size, item.capacity_is_upper_bound)))
    some = [remedy for remedy, _decision in changes if remedy.capacity > (now.capacity or 0)]
    return tuple(
        sorted(some, key=lambda item: (-item.capacity, item.capacity_is_upper_bound, item.size))
    )


def _higher_rule(planner: Replanner) -> Kind:
    group, wanted = planner.question.server_group, planner.now.wanted
    if group is None or group.max_server_per_host is None:
        return
    now = group.max_server_per_host

    def attempt(limit: int) -> Decision:
        rules = {**group.rules, MAX_SERVER_PER_HOST: limit}
        return planner.plan(server_group=replace(group, rules=rules))

    most = max((now, *planner.question.members_on.values())) + wanted
    limit, decision = planner.smallest(most, _guess_rule(planner, group), attempt)
    change = f'{MAX_SERVER_PER_HOST}: {limit}'
    yield _remedy(MAX_SERVER_PER_HOST, change, limit - now, decision), decision


def _guess_rule(planner: Replanner, group: ServerGroup) -> int:
    """The smallest rule that should do, by the rooms of the hosts as if there were none."""
    members, wanted = planner.question.members_on, planner.now.wanted
    rooms = planner.rooms(planner.hosts, server_group=replace(group, policy=SOFT_ANTI_AFFINITY))
    held = [members.get(host.host, 0) for host in planner.hosts]
    numbers = Counter(zip(rooms, held, strict=True))
    target = min(wanted, sum(rooms))

    def is_enough(limit: int) -> bool:
        free = ((min(room, max(0, limit - has)), times) for (room, has), times in numbers.items())
        return sum(room * times for room, times in free) >= target

    return bisect_left(range(_MOST_STEPS), True, key=is_enough)


def _other_zone(planner: Replanner) -> Kind:
    asked = planner.question.request.availability_zone
    if asked is None:
        return
    zones = {host.availability_zone for host in planner.hosts} - {None, asked}
    for zone in sorted(str(zone) for zone in zones)[:_MOST_ZONES]:
        decision = planner.plan_request(availability_zone=zone)
        yield _remedy('availability_zone', f'availability_zone: {zone}', 1, decision), decision
    decision = planner.plan_request(availability_zone=None)
    yield _remedy('any_zone', 'no availability_zone', 1, decision), decision


def _more_quota(planner: Replanner) -> Kind:
    question, wanted = planner.question, planner.now.wanted
    known = question.snapshot.quotas
    verdict = planner.now.request.get('quota')
    if known is None or verdict is None or verdict:
        return
    raised: dict[str, Quota] = {}
    for name, (_least, amount) in quotas.amounts(question.flavor, question.demand).items():
        quota = known.get(name)
        if quota is None or quota.used is None or quota.room is None:
            continue
        if quota.room < amount * wanted:
            raised[name] = replace(quota, limit=quota.used + amount * wanted)
    members = known.get(quotas.SERVER_GROUP_MEMBERS)
    if question.server_group is not None and members is not None and members.limit is not None:
        needed = len(question.server_group.members) + wanted
        if members.limit < needed:
            raised[quotas.SERVER_GROUP_MEMBERS] = replace(members, limit=needed)
    decision = planner.plan(snapshot=replace(question.snapshot, quotas={**known, **raised}))
    change = 'quota ' + ', '.join(f'{name}: {quota.limit}' for name, quota in raised.items())
    yield _remedy('quota', change, wanted - (verdict.room or 0), decision), decision


def _more_hosts(planner: Replanner) -> Kind:
    """Hosts like the one that would hold the most if it were empty."""
    empty = [_empty(host) for host in planner.hosts]
    rooms = planner.rooms(empty)
    missing, room = planner.missing, max(rooms, default=0)
    if missing < 1 or room < 1:
        return
    best = empty[rooms.index(room)]
    most = min(missing, max(MOST_NEW_HOSTS, len(empty)))

    def attempt(number: int) -> Decision:
        new = [replace(best, host=f'{best.host}-{index}') for index in range(number)]
        return planner.plan_hosts([*planner.hosts, *new])

    number, decision = planner.smallest(most, -(-missing // room), attempt)
    if number == most and not decision.fits:
        return  # one more would help more: this is not the number to name
    asked = planner.question.demand
    has = ', '.join(
        f'{name} {(best.resources or {})[name].capacity}'
        for name in (asked.amounts if asked is not None else ())
        if name in (best.resources or {})
    )
    change = f'{number} more {_hosts(number)}{f" ({has})" if has else ""}'
    yield _remedy('hosts', change, number, decision), decision


def _started_hosts(planner: Replanner) -> Kind:
    """Hosts that are there, but disabled or down."""
    idle = [host for host in planner.hosts if not (host.enabled and host.up)]
    if not idle:
        return
    rooms = planner.rooms([replace(host, enabled=True, up=True) for host in idle])
    ranked = sorted(zip(idle, rooms, strict=True), key=lambda item: (-item[1], item[0].host))

    def attempt(number: int) -> Decision:
        chosen = {host.host for host, _room in ranked[:number]}
        return planner.plan_hosts(
            [
                replace(host, enabled=True, up=True) if host.host in chosen else host
                for host in planner.hosts
            ]
        )

    sums = list(accumulate(room for _host, room in ranked))
    guess = 1 + bisect_left(sums, min(planner.missing, sums[-1]))
    number, decision = planner.smallest(len(idle), guess, attempt)
    change = f'{number} {_hosts(number)} enabled and started'
    yield _remedy('started_hosts', change, number, decision), decision


def _soft_policy(planner: Replanner) -> Kind:
    group = planner.question.server_group
    soft = {AFFINITY: SOFT_AFFINITY, ANTI_AFFINITY: SOFT_ANTI_AFFINITY}
    if group is None or group.policy not in soft:
        return
    policy = soft[group.policy]
    decision = planner.plan(server_group=replace(group, policy=policy))
    yield _remedy('soft_policy', f'policies: {policy}', planner.now.wanted, decision), decision


def _rule_given_up(planner: Replanner) -> Kind:
    against = {row.by for row, _number in planner.now.tally}
    for constraint in planner.constraints:
        if constraint.name in against and constraint.name not in _NOT_DROPPED:
            others = [item for item in planner.constraints if item is not constraint]
            decision = planner.decide(planner.question, others)
            change = f'without {constraint.name}'
            yield _remedy('rule_given_up', change, planner.now.wanted, decision), decision


def _remedy(code: str, change: str, size: int, decision: Decision) -> Remedy:
    return Remedy(code, change, decision.capacity or 0, size, decision.capacity_is_upper_bound)


def _hosts(number: int) -> str:
    return 'host' if number == 1 else 'hosts'


def _empty(host: Host) -> Host:
    """A host like this one, with nothing on it, and enabled."""
    resources = host.resources and {
        name: has._replace(used=0) for name, has in host.resources.items()
    }
    name = f'{host.host}-new'
    return replace(host, host=name, enabled=True, up=True, resources=resources)


#: What the asker can change comes first; of changes of one size, this is their order.
_KINDS = (
    _higher_rule,
    _other_zone,
    _more_quota,
    _started_hosts,
    _more_hosts,
    _soft_policy,
    _rule_given_up,
)
