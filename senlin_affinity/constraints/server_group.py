"""Servers of one group: at most so many on a host, or all on one host.

Source: document 002; ServerGroupAntiAffinityFilter and ServerGroupAffinityFilter,
whose late check on the compute host applies the same rule (so it holds on a forced host, too).
Soft policies only weigh: they never reject.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from senlin_affinity.core.constraint import Domain
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning.actions import Data, unused
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Planned, Replanner
from senlin_affinity.core.quotas import room_for_group
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    MAX_SERVER_PER_HOST,
    NOT_YET,
    SOFT_ANTI_AFFINITY,
    ServerGroup,
)
from senlin_affinity.core.verdict import Verdict

_BINDING = (AFFINITY, ANTI_AFFINITY)
#: As many as a range can have.
_MOST_STEPS = 2**31 - 1


class ServerGroupConstraint:
    """The policy and the rules of the request's server group."""

    name = 'server_group'
    order = 100
    summary = 'no more servers of one group on a host than its policy and rules allow'
    needs = ('server_groups',)
    is_by_name = True
    is_by_resources = False
    is_about_room = True
    is_joint = False
    #: Whatever filters run, Nova's late check on the compute host enforces the policy.
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_group.free_slots': Reason('server group {group} has room here'),
        'server_group.host_full': Reason(
            'holds {members} servers of group {group}, '
            'max_server_per_host is {max_server_per_host}',
            advice='raise max_server_per_host, or add a host',
        ),
        'server_group.other_host': Reason(
            'the servers of group {group} are on {hosts}, and its policy is affinity',
            advice='make room on the host of the group, or use soft-affinity',
        ),
        'server_group.members_here': Reason('the servers of group {group} are here'),
        'server_group.no_members': Reason('group {group} has no servers yet: any host will do'),
        'server_group.only_weighs': Reason('{policy} only weighs hosts, it refuses none'),
        'server_group.none': Reason('no server group is asked for'),
        'server_group.unknown': Reason('the servers of group {group} are not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        group = resolved.server_group
        if group is None:
            wanted = resolved.request.server_group
            if wanted is None:
                return Verdict.skipped('server_group.none')
            return Verdict.unknown('server_group.unknown', group=wanted)
        return self._of_host(resolved, group, host.host)

    def _of_host(self, resolved: ResolvedRequest, group: ServerGroup, host: str) -> Verdict:
        members = resolved.members_on.get(host, 0)
        slots = group.free_slots(members)
        if slots is not None:
            facts: dict[str, Any] = {'group': group.name, 'members': members}
            facts[MAX_SERVER_PER_HOST] = group.max_server_per_host
            if slots == 0:
                return Verdict.rejected('server_group.host_full', **facts)
            return Verdict.passed(
                'server_group.free_slots', room=slots, is_at_most=group.has_lost_members, **facts
            )
        if group.policy != AFFINITY:
            return Verdict.skipped('server_group.only_weighs', policy=group.policy or 'no policy')
        hosts = sorted(resolved.members_on)
        if not hosts:
            return Verdict.passed('server_group.no_members', is_at_most=True, group=group.name)
        if members:
            return Verdict.passed('server_group.members_here', group=group.name)
        if group.has_lost_members:
            return Verdict.unknown('server_group.unknown', group=group.name)
        return Verdict.rejected('server_group.other_host', group=group.name, hosts=', '.join(hosts))

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """How many members the host holds is all that counts."""
        group = resolved.server_group
        if group is None or group.policy not in _BINDING:
            return None
        return resolved.members_on.get(host.host, 0)

    def has_domains(self, resolved: ResolvedRequest) -> bool:
        """Has a service host several hypervisors, and does the group limit what it holds?"""
        group = resolved.server_group
        is_limited = group is not None and group.max_server_per_host is not None
        return is_limited and resolved.snapshot.has_shared_services

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """Nova counts by the service host, whatever hypervisors it has."""
        return (Domain('host', host.host),)

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """What is said about each host: the hypervisors of one share its slots."""
        group = resolved.server_group
        if group is None:
            return {}
        return {domain: self._of_host(resolved, group, domain.name) for domain in rooms}

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Another group: with the same rule, with a higher one, or with a soft policy."""
        group = planner.resolved.server_group
        if group is None or group.policy not in _BINDING or not _may_create(planner, group):
            return
        if group.members:
            same = planner.plan(_new_group(planner, group))
            yield planner.change('new_group', 'a new server group', 1, same, kind=Kind.ASKERS)
            if same.fits:
                return  # with the guarantees that are asked for
        yield from _higher_rule(planner, group)
        yield _soft_policy(planner, group)


def _may_create(planner: Replanner, group: ServerGroup) -> bool:
    """Nova changes no rule of a group that is there. May the project have one more?"""
    resolved = planner.resolved
    known = resolved.snapshot.quotas
    if group.id == NOT_YET or not known or not resolved.has_quotas:
        return True
    return bool(room_for_group(known))


def _new_group(planner: Replanner, group: ServerGroup, **other: Any) -> Data:
    """A group like this one, without its servers."""
    name = group.name
    if group.id != NOT_YET:
        known = planner.resolved.snapshot.server_groups or ()
        name = next(unused(name, (each.name for each in known)))
    rules = dict(group.rules)
    return {'server_group': {'name': name, 'policy': group.policy, 'rules': rules, **other}}


def _higher_rule(planner: Replanner, group: ServerGroup) -> Iterator[Change]:
    now = group.max_server_per_host
    if now is None:
        return

    def attempt(limit: int) -> Planned:
        rules = {**group.rules, MAX_SERVER_PER_HOST: now + limit}
        return planner.plan(_new_group(planner, group, rules=rules))

    guess = _guess_rule(planner, group) - now
    more, then = planner.smallest(planner.wanted, guess, attempt)
    change = f'{MAX_SERVER_PER_HOST}: {now + more}'
    yield planner.change(MAX_SERVER_PER_HOST, change, more, then, kind=Kind.ASKERS)


def _guess_rule(planner: Replanner, group: ServerGroup) -> int:
    """The smallest rule that should do, by the rooms of the hosts as if there were none."""
    soft = replace(group, policy=SOFT_ANTI_AFFINITY, members=())
    numbers = Counter(planner.rooms(planner.hosts, server_group=soft))
    target = min(planner.wanted, sum(room * times for room, times in numbers.items()))

    def is_enough(limit: int) -> bool:
        return sum(min(room, limit) * times for room, times in numbers.items()) >= target

    return bisect_left(range(_MOST_STEPS), True, key=is_enough)


def _soft_policy(planner: Replanner, group: ServerGroup) -> Change:
    policy = f'soft-{group.policy}'
    then = planner.plan(_new_group(planner, group, policy=policy, rules={}))
    change = f'policies: {policy}'
    return planner.change('soft_policy', change, planner.wanted, then, kind=Kind.GIVEN_UP)
