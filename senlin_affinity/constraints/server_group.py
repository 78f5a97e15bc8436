"""Servers of one group: at most so many on a host, or all on one host.

Source: document 002 (R2-12, R2-13); ServerGroupAntiAffinityFilter and ServerGroupAffinityFilter,
whose late check on the compute host applies the same rule (so it holds on a forced host, too).
Soft policies only weigh: they never reject.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, ClassVar

from senlin_affinity.core.constraint import Domain
from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.server_group import AFFINITY, ANTI_AFFINITY, ServerGroup
from senlin_affinity.core.verdict import Verdict

_BINDING = (AFFINITY, ANTI_AFFINITY)


class ServerGroupConstraint:
    """The policy and the rules of the request's server group."""

    name = 'server_group'
    order = 100
    summary = 'no more servers of one group on a host than its policy and rules allow'
    needs = ('server_groups',)
    is_by_name = True
    is_by_resources = False
    is_about_room = True
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

    def check_host(self, question: Question, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        group = question.server_group
        if group is None:
            wanted = question.request.server_group
            if wanted is None:
                return Verdict.skipped('server_group.none')
            return Verdict.unknown('server_group.unknown', group=wanted)
        return self._of_host(question, group, host.host)

    def _of_host(self, question: Question, group: ServerGroup, host: str) -> Verdict:
        members = question.members_on.get(host, 0)
        slots = group.free_slots(members)
        if slots is not None:
            facts: dict[str, Any] = {
                'group': group.name,
                'members': members,
                'max_server_per_host': group.max_server_per_host,
            }
            if slots == 0:
                return Verdict.rejected('server_group.host_full', **facts)
            return Verdict.passed(
                'server_group.free_slots', room=slots, is_at_most=_is_vague(group), **facts
            )
        if group.policy != AFFINITY:
            return Verdict.skipped('server_group.only_weighs', policy=group.policy or 'no policy')
        hosts = sorted(question.members_on)
        if not hosts:
            return Verdict.passed('server_group.no_members', is_at_most=True, group=group.name)
        if members:
            return Verdict.passed('server_group.members_here', group=group.name)
        if _is_vague(group):
            return Verdict.unknown('server_group.unknown', group=group.name)
        return Verdict.rejected('server_group.other_host', group=group.name, hosts=', '.join(hosts))

    def shape(self, question: Question, host: Host) -> Hashable:
        """How many members the host holds is all that counts."""
        group = question.server_group
        if group is None or group.policy not in _BINDING:
            return None
        return question.members_on.get(host.host, 0)

    def has_domains(self, question: Question) -> bool:
        """Has a service host several hypervisors, and does the group limit what it holds?"""
        group = question.server_group
        is_limited = group is not None and group.max_server_per_host is not None
        return is_limited and question.snapshot.has_shared_services

    def domains(self, question: Question, host: Host) -> Collection[Domain]:
        """Nova counts by the service host, whatever hypervisors it has."""
        return (Domain('host', host.host),)

    def check_domains(
        self, question: Question, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """What is said about each host: the hypervisors of one share its slots."""
        group = question.server_group
        if group is None:
            return {}
        return {domain: self._of_host(question, group, domain.name) for domain in rooms}


def _is_vague(group: ServerGroup) -> bool:
    """Is there a member of which nobody knows where it is?"""
    return any(member.host is None for member in group.members)
