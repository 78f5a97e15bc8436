"""Servers of one group: at most so many on a host, or all on one host.

Source: document 002; ServerGroupAntiAffinityFilter and ServerGroupAffinityFilter,
whose late check on the compute host applies the same rule (so it holds on a forced host, too).
Soft policies only weigh: they never reject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.constraint import Domain
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.options import Option
from senlin_affinity.core.planning import new_groups
from senlin_affinity.core.planning.actions import Data
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    MAX_SERVER_PER_HOST,
    ServerGroup,
)
from senlin_affinity.core.verdict import Verdict

_BINDING = (AFFINITY, ANTI_AFFINITY)
RECLAIM = Option(
    'reclaim_instance_interval',
    0,
    'Seconds after which Nova reclaims what was deleted, as in nova.conf: until then it counts '
    'in its server group, which does not show it. 0: it is deleted at once.',
    minimum=0,
    nova='DEFAULT',
)
ATTEMPTS = Option(
    'max_attempts',
    3,
    "Hosts that Nova tries for one server, as in nova.conf's [scheduler].",
    minimum=1,
    nova='scheduler',
)
NO_LATE_CHECK = Option(
    'disable_group_policy_check_upcall',
    False,
    "Whether compute hosts do without the late check of server groups, as in nova.conf's "
    '[workarounds].',
    nova='workarounds',
)
_NEW_GROUP = 'a new server group (with Senlin: another cluster, or policy)'
NO_SOFT_DELETED = Assumption('server_group.soft_deleted', 'no soft-deleted servers in the group')
LATE_CHECK = Assumption(
    'server_group.late_check', "Nova's default late check of server groups, and 3 attempts"
)


class ServerGroupConstraint:
    """The policy and the rules of the request's server group."""

    name = 'server_group'
    order = 100
    summary = 'no more servers of one group on a host than its policy and rules allow'
    needs = ('server_groups',)
    is_by_name = True
    is_by_resources = False
    is_lasting = True
    is_in_placement = True
    is_about_room = True
    is_joint = False
    #: Whatever filters run, Nova's late check on the compute host enforces the policy.
    filters: tuple[str, ...] = ()
    options = (RECLAIM, ATTEMPTS, NO_LATE_CHECK)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_group.free_slots': Reason(
            'server group {group} has room here',
            doubt="members may be hidden, or Nova's retries may run out",
        ),
        'server_group.host_full': Reason(
            'holds {members} servers of group {group}, '
            'max_server_per_host is {max_server_per_host}',
            advice='raise max_server_per_host, or add a host',
            for_owner='a host may hold {max_server_per_host} of server group {group}',
        ),
        'server_group.other_host': Reason(
            'the servers of group {group} are on {hosts}, and its policy is affinity',
            advice='make room on the host of the group, or use soft-affinity',
            for_owner='the servers of server group {group} must share a host',
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
        held, hidden = resolved.once(_counted)
        members = held.get(host, 0)
        slots = group.free_slots(members)
        if slots is not None:
            facts: dict[str, Any] = {'group': group.name, 'members': members}
            facts[MAX_SERVER_PER_HOST] = group.max_server_per_host
            if slots == 0:
                return Verdict.rejected('server_group.host_full', **facts)
            is_at_most = (
                group.has_lost_members
                or host in hidden
                or resolved.once(_is_any_hidden)
                or resolved.once(_may_run_out)
            )
            return Verdict.passed(
                'server_group.free_slots', room=slots, is_at_most=is_at_most, **facts
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

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """Nothing but its name."""
        return ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """How many members the host holds, and whether there may be more, is all that counts."""
        return self.shapes(resolved, (host,))[0]

    def shapes(self, resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[Hashable]:
        """The same of each of these hosts."""
        group = resolved.server_group
        if group is None or group.policy not in _BINDING:
            return [None] * len(hosts)
        held, hidden = resolved.once(_counted)
        names = [host.host for host in hosts]
        return [(held.get(name, 0), name in hidden) for name in names]

    def named(self, resolved: ResolvedRequest) -> Collection[str]:
        """The hosts that hold members, or may."""
        if resolved.server_group is None:
            return ()
        held, hidden = resolved.once(_counted)
        return held.keys() | hidden

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

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """What is not seen of the members, and what Nova does about those that move."""
        group, snapshot = resolved.server_group, resolved.snapshot
        if group is None or group.max_server_per_host is None or snapshot.hosts is None:
            return
        if snapshot.soft_deleted is None and not resolved.rules.is_told(RECLAIM):
            yield NO_SOFT_DELETED
        is_told = all(map(resolved.rules.is_told, (ATTEMPTS, NO_LATE_CHECK)))
        if resolved.once(_checked_late) and not is_told:
            yield LATE_CHECK

    def without(self, resolved: ResolvedRequest) -> Data:
        """What gives the rule up: a new group whose policy refuses nothing."""
        group = resolved.server_group
        return {} if group is None else {'server_group': new_groups.softer(group)}

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Another group: with the same rule, with a higher one, or with a soft policy."""
        group, kind = planner.resolved.server_group, Kind.ASKERS
        if group is None or group.policy not in _BINDING:
            return
        if not new_groups.may_create(planner, group):
            return
        if group.members:
            same = new_groups.planned(planner, group)
            yield planner.change('new_group', _NEW_GROUP, 1, same, kind=kind, is_owners=True)
            if same.capacity >= planner.wanted:
                return  # with the guarantees that are asked for
        if group.max_server_per_host is not None:
            more, then = new_groups.raised(planner, group, group.max_server_per_host)
            change = f'{MAX_SERVER_PER_HOST}: {group.max_server_per_host + more}'
            yield planner.change(MAX_SERVER_PER_HOST, change, more, then, kind=kind, is_owners=True)
        soft, kind = new_groups.softer(group), Kind.GIVEN_UP
        change, then = f'policies: {soft["policy"]}', new_groups.planned(planner, group, **soft)
        yield planner.change('soft_policy', change, planner.wanted, then, kind=kind, is_owners=True)


def _held(resolved: ResolvedRequest) -> Mapping[str, int]:
    """How many members each host holds, with those that are planned."""
    group = resolved.server_group
    if group is None or not resolved.option(NO_LATE_CHECK):
        return resolved.members_on
    return group.held(is_checked=False) + Counter(resolved.placed)


def _counted(resolved: ResolvedRequest) -> tuple[Mapping[str, int], frozenset[str]]:
    return _held(resolved), _hidden(resolved)


def _hidden(resolved: ResolvedRequest) -> frozenset[str]:
    """The hosts with soft-deleted servers that may be members: no group shows them."""
    group = resolved.server_group
    deleted = resolved.snapshot.soft_deleted
    if group is None or group.max_server_per_host is None or not deleted:
        return frozenset()
    shown = {member.server for member in group.members}
    return frozenset(
        member.host
        for member in deleted
        if member.host is not None
        and member.server not in shown
        and (member.project == group.project_id or None in (member.project, group.project_id))
    )


def _is_any_hidden(resolved: ResolvedRequest) -> bool:
    """May there be soft-deleted servers on any host?"""
    return resolved.snapshot.soft_deleted is None and bool(resolved.option(RECLAIM))


def _checked_late(resolved: ResolvedRequest) -> int:
    """How many hosts the late check alone refuses: the scheduler still sends servers there."""
    group = resolved.server_group
    if group is None or group.max_server_per_host is None or resolved.option(NO_LATE_CHECK):
        return 0
    chosen = group.held(is_checked=False)
    return sum(
        group.free_slots(number) == 0 and group.free_slots(chosen[host]) != 0
        for host, number in group.held().items()
        if number != chosen[host]
    )


def _may_run_out(resolved: ResolvedRequest) -> bool:
    """May Nova try none but such hosts for a server, and then give up?"""
    number = resolved.once(_checked_late)
    return not resolved.rules.is_pinned and number >= resolved.option(ATTEMPTS)
