"""Plan a request without specs on a given snapshot.

Users call :mod:`senlin_affinity.api` instead, which raises the same errors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.cloud import Cloud
from tests.support import asked
from tests.support.asked import Given, NamedRequest


def plan(
    request: NamedRequest,
    snapshot: Cloud,
    constraints: Sequence[Constraint] | None = None,
    rules: Given | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Return the decision; the default are all installed constraints.

    :param remedies: whether to search for remedies, most of the cost of a rejection.
    """
    chosen = load_constraints() if constraints is None else constraints
    return asked.plan(request, snapshot, chosen, rules, remedies=remedies)


def take_snapshot(
    connection: Any,
    *,
    server_groups: Collection[str] | None = None,
    project_id: str | None = None,
) -> Cloud:
    """Return a snapshot of the cloud behind an ``openstack.connection.Connection``.

    The parameters are those of :func:`senlin_affinity.cloud.snapshot.take`. If the quotas of the
    project are forbidden, capacities are "at most".
    """
    from senlin_affinity.cloud import clients, snapshot

    return snapshot.take(clients.of(connection), server_groups=server_groups, project_id=project_id)
