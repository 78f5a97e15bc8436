"""The preflight of a cluster or a node of Senlin's: what it asks for, and the cloud it is in.

The way of the data: a cluster or a node comes in with its profile and its owner's connection; what
``policy.planned`` asks goes out. The cloud is looked at when it is asked, and not before.

Errors: CloudError, PluginError for a constraint that does not load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from senlin_affinity import preflight
from senlin_affinity.cloud import images, snapshot
from senlin_affinity.conf import opts
from senlin_affinity.core.decision import Decision
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.planned import Preflight
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.request import Asked

LOG = logging.getLogger(__name__)


def asked(entity: Any, wanted: Properties, count: int) -> Asked:
    """What is asked for so many nodes of a cluster, or for a node."""
    options = opts.register(cfg.CONF)
    return Asked(
        count,
        properties=wanted,
        profile=entity.rt['profile'].spec,
        project_id=entity.project,
        enabled_filters=tuple(options.enabled_filters),
        rules=opts.rules(cfg.CONF),
    )


def of(entity: Any, policy: str, bound: Binding, connect: Callable[[], Any]) -> Preflight:
    """The cloud of a cluster or a node, all installed constraints, and the log.

    :param policy: the name of the policy, for the log.
    :param connect: makes the connection of the cluster's owner.
    """
    timeout = opts.register(cfg.CONF).request_timeout

    def look() -> tuple[CloudSnapshot, Mapping[str, str]]:
        taken = snapshot.take(connect(), server_groups=(bound.servergroup_id,), timeout=timeout)
        return taken.snapshot, taken.unknown

    said = ('affinity policy %s, %s: preflight: %s', policy, entity.name)
    return Preflight(
        snapshot=look,
        image=lambda name: images.properties(connect(), name, timeout),
        plan=_plan,
        warn=lambda words: LOG.warning(*said, words),
        note=lambda words: LOG.debug(*said, words),
    )


def _plan(
    request: PlacementRequest, cloud: CloudSnapshot, rules: Rules, only: tuple[str, ...] | None
) -> Decision:
    constraints = preflight.load_constraints()
    if only is not None:
        constraints = tuple(item for item in constraints if item.name in only)
    return preflight.plan(request, cloud, constraints, rules)
