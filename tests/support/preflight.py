"""What other suites plan with: a request that names no specs, on a snapshot that is at hand.

Everybody else asks :mod:`senlin_affinity.api`. Errors: as there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.request import PlacementRequest, Rules
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.planner import planner
from senlin_affinity.planner.decision import Decision


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

    The parameters are those of :func:`senlin_affinity.cloud.snapshot.take`. Where the quotas of the
    project may not be read, a plan's number is "at most".
    """
    from senlin_affinity.cloud import clients, snapshot

    return snapshot.take(
        clients.of(connection), server_groups=server_groups, project_id=project_id, timeout=timeout
    ).snapshot
