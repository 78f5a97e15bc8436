"""Enforce the policy and the rules of the request's server group.

Source: Nova's specification "Complex anti-affinity policies"; ServerGroupAntiAffinityFilter and
ServerGroupAffinityFilter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Constraint,
    Data,
    Domain,
    Evaluated,
    Host,
    Kind,
    OpenAssumption,
    RaisedNumber,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.server_group import (
    AFFINITY,
    ANTI_AFFINITY,
    MAX_SERVER_PER_HOST,
    ServerGroup,
)
from senlin_affinity.model.verdict import Caveat
from senlin_affinity.nova.alternatives import may_create_group, new_group, soft_group
from senlin_affinity.nova.group_policy import (
    ATTEMPTS,
    FILTERS,
    RECLAIM,
    SYNC,
    checked_late,
    enforced_policy,
    hidden_hosts,
    is_any_hidden,
    is_checked_late,
    is_only_checked_late,
    may_run_out,
)
from senlin_affinity.nova.options import NO_LATE_CHECK
from senlin_affinity.scenario.column import Column, distinct, in_order
from senlin_affinity.scenario.scenario import Scenario

#: What a request gives up with each change: servers apart, or together.
_GIVEN_UP: Mapping[str, Mapping[str, str]] = {
    ANTI_AFFINITY: {
        'new_group': 'its servers may share a host with those of the old one',
        'soft_policy': 'its servers may share a host',
        'no_group': 'nothing keeps the servers apart',
    },
    AFFINITY: {
        'new_group': 'its servers may be on another host than those of the old one',
        'soft_policy': 'its servers may be on several hosts',
        'no_group': 'nothing keeps the servers together',
    },
}
NO_SOFT_DELETED = Assumption('server_group.soft_deleted', 'no soft-deleted servers in the group')
LATE_CHECK = Assumption(
    'server_group.late_check', "Nova's default late check of server groups, and 3 attempts"
)

ONLY_LATE_CHECK = OpenAssumption(
    'server_group.only_late_check', "Nova's default late check of server groups"
)


def new_group_change(request: Request, cloud: Cloud, group: ServerGroup) -> Change:
    """Return the change ``new_group``: the same group with an unused name, without servers."""
    data = {'server_group': new_group(request, cloud, group)}
    change = 'a new server group (with Senlin: another cluster, or policy)'
    if request.is_group_optional and group.policy in _GIVEN_UP:
        change = f'a new server group{_given_up(group, "new_group")}'
    return Change('new_group', change, data, 1, Kind.REQUESTER, True, is_sufficient=True)


class ServerGroupConstraint(Constraint):
    """The policy of the request's server group."""

    name = 'server_group'
    order = 100
    summary = 'the policy and the rules of the server group allow another server on the host'
    needs = ('server_groups',)
    reads_flavor = ()
    is_unresolvable = True
    enforced_by_placement = True
    is_capacity_rule = True
    couples_domains = False
    #: Nova's late check enforces the policy with any set of filters.
    filters = ()
    options = (RECLAIM, ATTEMPTS, NO_LATE_CHECK, SYNC)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_group.free_slots': Reason(
            'server group {group} has free slots here',
            caveat='it is not known whether the group has hidden members, or Nova uses up its '
            'attempts',
        ),
        'server_group.host_full': Reason(
            'holds {members} server(s) of group {group}, '
            'max_server_per_host is {max_server_per_host}',
            advice='raise max_server_per_host, or add a host',
            for_owner='a host may hold {max_server_per_host} of server group {group}',
            short='server group {group} allows {max_server_per_host} per host',
            of_host='holds {members}',
        ),
        'server_group.other_host': Reason(
            'group {group} has the policy affinity, and its servers are on {hosts}',
            advice='free capacity on the host of the group, or use soft-affinity',
            for_owner='the servers of server group {affinity_group} must share a host',
            is_state=False,
        ),
        'server_group.members_here': Reason('the members of group {group} are on this host'),
        'server_group.no_members': Reason('group {group} has no members yet: any host is possible'),
        'server_group.only_weighs': Reason('{policy} only weighs hosts, and rejects none'),
        'server_group.not_enforced': Reason(
            'not enforced here: the scheduler does not run {filter}, and nova.conf disables '
            'the late check of {policy}'
        ),
        'server_group.none': Reason('the request has no server group'),
        'server_group.unknown': Reason('the hosts of the members of group {group} are not known'),
    }

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Compare the members on each host with the policy of the group.

        * SKIP ``none`` without a group, ``not_enforced`` if nothing enforces the policy,
          ``only_weighs`` for a soft one; ``unknown`` for an unknown group.
        * Anti-affinity: PASS ``free_slots`` with the free slots as room, at most if members may be
          hidden or :func:`may_run_out`; REJECT ``host_full`` without any.
        * Affinity, without room: PASS ``members_here``, at most if :func:`may_run_out`; PASS
          ``no_members`` if there are none, at most unless the request names its host; else REJECT
          ``other_host``, or ``unknown`` if the host of a member is.
        """
        group, unknown = request.server_group, request.unknown_group
        if group is None:
            skipped = Verdict.skipped('server_group.none')
            if unknown is not None:
                skipped = Verdict.unknown('server_group.unknown', group=unknown)
            return Column.by_name(scenario.columns, skipped, {})
        members = scenario.members(request, is_checked=is_checked_late(request))
        hidden = request.memo(hidden_hosts, scenario.cloud)
        kinds = members * 2 + scenario.columns.counted(dict.fromkeys(hidden, 1))
        kind_of, firsts = in_order(kinds)
        looks = (divmod(kind, 2) for kind in kinds[firsts].tolist())
        verdicts, numbers = distinct(
            self._of_host(request, scenario, group, number, is_hidden=bool(is_hidden))
            for number, is_hidden in looks
        )
        return Column.of(verdicts, np.array(numbers, np.int64)[kind_of])

    def _of_host(
        self,
        request: Request,
        scenario: Scenario,
        group: ServerGroup,
        members: int,
        *,
        is_hidden: bool,
    ) -> Verdict:
        """Return the verdict about a service host with so many members, and perhaps hidden ones."""
        if group.policy in FILTERS and request.memo(enforced_policy) is None:
            facts: dict[str, Any] = {'policy': group.policy, 'filter': FILTERS[group.policy]}
            return Verdict.skipped('server_group.not_enforced', **facts)
        cloud = scenario.cloud
        slots = group.free_slots(members)
        if slots is not None:
            facts = {'group': group.name, 'members': members}
            facts[MAX_SERVER_PER_HOST] = group.max_server_per_host
            if slots == 0:
                return Verdict.rejected('server_group.host_full', **facts)
            is_at_most = (
                group.has_lost_members
                or is_hidden
                or request.memo(is_any_hidden, cloud)
                or request.memo(may_run_out, cloud)
            )
            return Verdict.passed(
                'server_group.free_slots', room=slots, is_at_most=is_at_most, **facts
            )
        if group.policy != AFFINITY:
            return Verdict.skipped('server_group.only_weighs', policy=group.policy or 'no policy')
        hosts = sorted(scenario.members_on(request))
        if members:
            is_at_most = request.memo(may_run_out, cloud)
            return Verdict.passed(
                'server_group.members_here', is_at_most=is_at_most, group=group.name
            )
        if group.has_lost_members:
            return Verdict.unknown('server_group.unknown', group=group.name)
        if not hosts:
            is_at_most = not request.forced_host
            return Verdict.passed(
                'server_group.no_members', is_at_most=is_at_most, group=group.name
            )
        return Verdict.rejected('server_group.other_host', group=group.name, hosts=', '.join(hosts))

    def has_domains(self, request: Request, scenario: Scenario) -> bool:
        """Check whether a limit is enforced, and a service host has several hypervisors."""
        group = request.server_group
        is_limited = group is not None and group.max_server_per_host is not None
        is_limited = is_limited and request.memo(enforced_policy) is not None
        return is_limited and scenario.cloud.has_shared_services

    def domains(self, request: Request, scenario: Scenario, host: Host) -> Collection[Domain]:
        """Return ``Domain('host', <service host>)``, by which Nova counts members."""
        return (Domain('host', host.host),)

    def check_domains(
        self, request: Request, scenario: Scenario, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return the verdict about each service host; {} without a group."""
        group = request.server_group
        if group is None:
            return {}
        members = scenario.members_on(request, is_checked=is_checked_late(request))
        hidden = request.memo(hidden_hosts, scenario.cloud)

        def verdict(name: str) -> Verdict:
            number, is_hidden = members.get(name, 0), name in hidden
            return self._of_host(request, scenario, group, number, is_hidden=is_hidden)

        return {domain: verdict(domain.name) for domain in rooms}

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield ONLY_LATE_CHECK if no filter enforces the policy.

        With a limit per host, NO_SOFT_DELETED if these are unknown, and LATE_CHECK if a filter
        enforces the policy, but misses some members. Nothing without an enforced group or known
        hosts, nor about an explicit option.
        """
        group = request.server_group
        if group is None or cloud.hosts is None or request.memo(enforced_policy) is None:
            return
        is_late_check_set = request.settings.is_explicit(NO_LATE_CHECK)
        if is_only_checked_late(request) and not is_late_check_set:
            yield ONLY_LATE_CHECK
        if group.max_server_per_host is None:
            return
        if cloud.soft_deleted is None and not request.settings.is_explicit(RECLAIM):
            yield NO_SOFT_DELETED
        is_set = is_late_check_set and request.settings.is_explicit(ATTEMPTS)
        if not is_only_checked_late(request) and request.memo(checked_late, cloud) and not is_set:
            yield LATE_CHECK

    def caveats(self, request: Request, cloud: Cloud) -> Iterator[Caveat]:
        """Yield one if the scheduler does not run the filter of the group's policy.

        nova-conductor then rejects every server of the group, if it has the same configuration
        (``_get_group_details`` of nova/scheduler/utils.py), also for a forced host.
        """
        group, asked = request.server_group, request
        name = FILTERS.get(group.policy) if group is not None else None
        if request.elsewhere is not None:  # the request for a host has no filters
            asked = request.elsewhere[0]
        if name is not None and not asked.is_forced and not asked.is_enforced(name):
            yield Caveat(
                'server_group.filter',
                f'whether nova-conductor has {name} among its enabled_filters (without it, Nova '
                'rejects every server of the group)',
            )

    def without(self, request: Request) -> Data:
        """Return the change to a soft policy of the group; {} without one."""
        group = request.server_group
        return {} if group is None else {'server_group': soft_group(group)}

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield changes: a new group if this one has members, a higher limit if any, a soft policy.

        If the request could leave the group out, no group comes last. Nothing for a soft policy.
        """
        cloud, group = scenario.cloud, request.server_group
        if group is None or group.policy not in FILTERS:
            return
        if may_create_group(request, cloud, group):
            yield from self._other_groups(request, cloud, group)
        if request.is_group_optional:
            yield no_group_change(request, group)

    def _other_groups(self, request: Request, cloud: Cloud, group: ServerGroup) -> Iterator[Change]:
        """Yield the changes to another group."""
        wanted = request.count
        same = {'server_group': new_group(request, cloud, group)}
        whose: dict[str, Any] = {'kind': Kind.REQUESTER, 'for_tenant': True}
        if group.members:
            yield new_group_change(request, cloud, group)
        if group.max_server_per_host is not None:
            note = ' (more of its servers may share a host)' if request.is_group_optional else ''
            yield RaisedNumber(
                MAX_SERVER_PER_HOST,
                f'{MAX_SERVER_PER_HOST}: {{number}}{note}',
                same,
                **whose,
                path=('server_group', 'rules', MAX_SERVER_PER_HOST),
                now=group.max_server_per_host,
                most=wanted,
                is_per_host=True,
            )
        yield soft_policy_change(request, cloud, group)


def soft_policy_change(request: Request, cloud: Cloud, group: ServerGroup) -> Change:
    """Return the change ``soft_policy``: a new group with a soft policy and no rules.

    "policies: soft-affinity" is a property of the policy that determines the group; otherwise "a
    new server group with soft-affinity", because Nova changes no group, and what that gives up.
    """
    soft = new_group(request, cloud, group, **soft_group(group))
    policy, data = soft['policy'], {'server_group': soft}
    change = f'policies: {policy}'
    if request.is_group_optional:
        change = f'a new server group with {policy}{_given_up(group, "soft_policy")}'
    wanted = request.count
    return Change('soft_policy', change, data, wanted, Kind.GIVEN_UP, for_tenant=True)


def no_group_change(request: Request, group: ServerGroup) -> Change:
    """Return the change ``no_group``: the same request without this server group."""
    data, wanted = {'server_group': None}, request.count
    change = f'without the server group{_given_up(group, "no_group")}'
    return Change('no_group', change, data, wanted, Kind.GIVEN_UP, for_tenant=True)


def _given_up(group: ServerGroup, code: str) -> str:
    """Return " (what the change gives up)"; '' for a policy that binds nothing."""
    words = _GIVEN_UP.get(group.policy or '', {}).get(code)
    return f' ({words})' if words else ''
