"""Decide whether anything enforces the policy of a server group, and count its members like Nova.

Nova enforces affinity and anti-affinity twice: by a scheduler filter, and by a late check on the
compute host (``_validate_instance_group_policy``). For pinned hosts, no filter runs: the planner
enforces the policy.

Both also count members that the API of server groups does not show, or shows on another host:
soft-deleted servers, servers that are being moved, and, on its former host, a server whose live
migration, or reverted resize or cold migration, ended less than
``scheduler_instance_sync_interval`` seconds ago.

Source: ``HostManager`` of nova-scheduler, ``_validate_instance_group_policy`` (Nova 34).
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY, Member, ServerGroup
from senlin_affinity.nova.host_status import is_in_use
from senlin_affinity.nova.options import NO_LATE_CHECK

FILTERS: Mapping[str, str] = {
    AFFINITY: 'ServerGroupAffinityFilter',
    ANTI_AFFINITY: 'ServerGroupAntiAffinityFilter',
}


def is_enforced(policy: str | None, settings: Settings, *, is_pinned: bool) -> bool:
    """Check whether a policy is enforced; True for a soft policy, which rejects nothing."""
    name = FILTERS.get(policy or '')
    has_late_check = not settings.value(NO_LATE_CHECK)
    return name is None or name in settings.enabled_filters or has_late_check or is_pinned


def why_not_enforced(policy: str) -> str:
    """Return the sentence about a policy that nothing enforces."""
    return (
        f'{policy} is not enforced here: the scheduler does not run {FILTERS[policy]}, '
        f'and nova.conf sets {NO_LATE_CHECK.key}'
    )


def enforced_policy(request: Request) -> str | None:
    """Return ``affinity`` or ``anti-affinity`` if it is enforced for the servers, or else None."""
    group = request.server_group
    if group is None or group.policy not in FILTERS:
        return None
    is_held = is_enforced(group.policy, request.settings, is_pinned=request.is_pinned)
    return group.policy if is_held else None


def is_only_checked_late(request: Request) -> bool:
    """Check whether the scheduler sends servers to hosts that nova-compute then rejects."""
    policy = enforced_policy(request)
    return policy is not None and not (request.is_pinned or request.is_enforced(FILTERS[policy]))


#: The seconds between two runs of Nova's periodic tasks if nova.conf sets 0.
_DEFAULT_SPACING = 60
RECLAIM = Option(
    'reclaim_instance_interval',
    0,
    'Seconds after which Nova reclaims a soft-deleted server. Until then, the server counts in its '
    'group, but is not listed there. 0: servers are deleted immediately. Use the value in section '
    '[DEFAULT] of nova.conf.',
    minimum=0,
    nova='DEFAULT',
)
ATTEMPTS = Option(
    'max_attempts',
    3,
    'The maximum number of hosts that Nova tries for one server. Use the value in section '
    '[scheduler] of nova.conf.',
    minimum=1,
    nova='scheduler',
)
SYNC = Option(
    'scheduler_instance_sync_interval',
    120,
    'Seconds for which nova-scheduler may count a server on its former host after a migration. A '
    'negative value: without limit. Use the value in section [DEFAULT] of nova.conf.',
    nova='DEFAULT',
)


def is_checked_late(request: Request) -> bool:
    """Check whether nova-compute's late check counts the members, and not only the scheduler."""
    return not request.option(NO_LATE_CHECK)


def hidden_hosts(request: Request, cloud: Cloud) -> frozenset[str]:
    """Return the hosts on which Nova may count members that the group does not show there."""
    group = request.server_group
    deleted = cloud.soft_deleted or ()
    if group is None:
        return frozenset()
    shown = {member.server for member in group.members}
    left = frozenset(host for _member, host in _unsynced(request, group))
    return left | frozenset(
        member.host
        for member in deleted
        if member.host is not None
        and member.server not in shown
        and (member.project == group.project_id or None in (member.project, group.project_id))
    )


def _unsynced(request: Request, group: ServerGroup) -> list[tuple[Member, str]]:
    """Return pairs of a member and a former host that nova-scheduler may still count it on."""
    if request.is_pinned or is_only_checked_late(request):
        return []
    return [
        (member, host)
        for member in group.members
        for host, seconds in member.left.items()
        if may_count(request, seconds)
    ]


def may_count(request: Request, seconds: int) -> bool:
    """Check whether nova-scheduler may count a server on a host that it left ``seconds`` ago."""
    interval: int = request.option(SYNC)
    return interval < 0 or seconds < (interval or _DEFAULT_SPACING)


def is_any_hidden(request: Request, cloud: Cloud) -> bool:
    """Check whether any host may have soft-deleted servers that are not known."""
    return cloud.soft_deleted is None and bool(request.option(RECLAIM))


def checked_late(request: Request, cloud: Cloud) -> int:
    """Return the greatest number of hosts that only the late check rejects, at most ATTEMPTS.

    Without the filter, they may be all hosts but one: that of the affinity group, or the last host
    that is not full.
    """
    group = request.server_group
    if is_only_checked_late(request):
        used = (host.host for host in cloud.hosts or () if is_in_use(request, host))
        most, found = request.option(ATTEMPTS), set[str]()
        for name in used:
            found.add(name)
            if len(found) > most:  # more make no difference
                break
        return len(found) - 1
    if group is None or group.max_server_per_host is None or request.option(NO_LATE_CHECK):
        return 0
    chosen = group.held(is_checked=False)
    moved = {member.server: member.host or '' for member, _host in _unsynced(request, group)}
    chosen.subtract(moved.values())
    return sum(
        group.free_slots(number) == 0 and group.free_slots(chosen[host]) != 0
        for host, number in group.held().items()
    )


def may_run_out(request: Request, cloud: Cloud) -> bool:
    """Check whether Nova may give up because it tried only hosts that the late check rejects."""
    number, is_chosen = request.memo(checked_late, cloud), request.is_pinned
    is_chosen = is_chosen or request.is_forced
    return not is_chosen and number >= request.option(ATTEMPTS)
