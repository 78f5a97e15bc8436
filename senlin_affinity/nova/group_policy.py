"""Decide whether anything enforces the policy of a server group.

Nova enforces affinity and anti-affinity twice: by a scheduler filter, and by a late check on the
compute host (``_validate_instance_group_policy``). For pinned hosts, no filter runs: the planner
enforces the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from senlin_affinity.model.request import ResolvedRequest, Rules
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
from senlin_affinity.nova.options import NO_LATE_CHECK

FILTERS: Mapping[str, str] = {
    AFFINITY: 'ServerGroupAffinityFilter',
    ANTI_AFFINITY: 'ServerGroupAntiAffinityFilter',
}


def is_enforced(policy: str | None, enabled_filters: Collection[str], rules: Rules) -> bool:
    """Check whether a policy is enforced; True for a soft policy, which rejects nothing."""
    name = FILTERS.get(policy or '')
    is_pinned, has_late_check = rules.is_pinned, not rules.value(NO_LATE_CHECK)
    return name is None or name in enabled_filters or has_late_check or is_pinned


def why_not_enforced(policy: str) -> str:
    """Return the sentence about a policy that nothing enforces."""
    return (
        f'{policy} is not enforced here: the scheduler does not run {FILTERS[policy]}, '
        f'and nova.conf sets {NO_LATE_CHECK.key}'
    )


def holding(resolved: ResolvedRequest) -> str | None:
    """Return ``affinity`` or ``anti-affinity`` if it is enforced for the servers, or else None."""
    group = resolved.server_group
    if group is None or group.policy not in FILTERS:
        return None
    filters = resolved.request.enabled_filters
    return group.policy if is_enforced(group.policy, filters, resolved.rules) else None


def is_only_checked_late(resolved: ResolvedRequest) -> bool:
    """Check whether the scheduler sends servers to hosts that nova-compute then rejects."""
    policy = holding(resolved)
    return policy is not None and not (
        resolved.rules.is_pinned or resolved.is_enforced(FILTERS[policy])
    )
