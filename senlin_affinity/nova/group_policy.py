"""Decide whether anything enforces the policy of a server group.

Nova enforces affinity and anti-affinity twice: by a scheduler filter, and by a late check on the
compute host (``_validate_instance_group_policy``). For pinned hosts, no filter runs: the planner
enforces the policy.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
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
