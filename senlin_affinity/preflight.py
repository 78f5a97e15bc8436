"""What other suites plan with: a request that names no specs, on a snapshot that is at hand.

Everybody else asks :mod:`senlin_affinity.api`. Errors: as there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import planner
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.core.planning.decision import Decision


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint] | None = None,
    rules: Rules | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Will the request fit, and if not, why? Constraints of None are all that are installed.

    :param remedies: whether to look for what would help, which is most of a refusal's cost.
    """
    chosen = load_constraints() if constraints is None else constraints
    return planner.plan(request, snapshot, chosen, rules, remedies=remedies)


def take_snapshot(
    connection: Any,
    *,
    server_groups: Collection[str] | None = None,
    project_id: str | None = None,
    timeout: float | None = None,
) -> CloudSnapshot:
    """The cloud behind an ``openstack.connection.Connection``, as the planner sees it.

    :param server_groups: ids or names of the only groups that will be asked about, which is
        cheaper; None is all groups.
    :param project_id: the project that the servers will belong to, where it is not the
        connection's own: its quotas are read, and its groups are called by their names. Where its
        quotas may not be read, a plan's number is "at most".
    :param timeout: seconds that a service may be silent; None is the connection's own, or a minute.
    """
    from senlin_affinity.cloud import snapshot

    return snapshot.take(
        connection, server_groups=server_groups, project_id=project_id, timeout=timeout
    ).snapshot
