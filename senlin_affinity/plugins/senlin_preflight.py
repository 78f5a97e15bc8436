"""The preflight of a cluster or a node of Senlin's: what it asks for, and the cloud it is in.

The way of the data: a cluster or a node comes in with its profile, its binding and its owner's
connection; what ``policy.planned`` decides goes out. The cloud is looked at when it is asked, and
not before.

Errors: CloudError, PluginError for a constraint that does not load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from senlin_affinity import preflight
from senlin_affinity.cloud import images, snapshot
from senlin_affinity.conf import opts
from senlin_affinity.core.decision import Decision
from senlin_affinity.core.errors import PluginError, in_words, is_mistake
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.policy import planned
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import Placement, Refusal, is_planned
from senlin_affinity.policy.planned import Preflight
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.request import Asked, must_pin

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EntityPreflight:
    """What can be asked about a cluster or a node (``entity``) that is bound to a policy.

    ``policy`` is the policy's name, for the log; ``connect`` makes the owner's connection.
    """

    policy: str
    entity: Any
    wanted: Properties
    bound: Binding
    connect: Callable[[], Any]

    def place(self, count: int) -> Placement | Refusal:
        """Where so many nodes go. A mistake in code refuses nothing that Nova can place."""
        asked = self._asked(count)
        try:
            return planned.place(asked, self.wanted, self.bound, self._preflight())
        except Exception as error:
            if not is_mistake(error) or must_pin(self.wanted, asked.rules):
                raise
            LOG.exception('affinity policy %s: the preflight failed', self.policy)
            return planned.unpinned(asked, self.wanted, self.bound)

    def warn_of_ceiling(self) -> None:
        """Say in the log where the cluster can not have its largest size. Never raises."""
        cluster = self.entity
        try:
            growth = cluster.max_size - len(cluster.nodes)  # max_size -1: no limit
            if growth < 1 or not is_planned(self.wanted):
                return
            why = planned.ceiling(self._asked(growth), self.wanted, self.bound, self._preflight())
        except Exception as error:
            if is_mistake(error):
                LOG.exception('affinity policy %s: the preflight failed', self.policy)
            why = f'could not be found out: {in_words(error)}'
        if why is not None:
            LOG.warning(
                'affinity policy %s, cluster %s: whether it can grow to its max_size of %s: %s',
                self.policy,
                cluster.id,
                cluster.max_size,
                why,
            )

    def _asked(self, count: int) -> Asked:
        options = opts.register(cfg.CONF)
        return Asked(
            count,
            properties=self.wanted,
            profile=self.entity.rt['profile'].spec,
            project_id=self.entity.project,
            enabled_filters=tuple(options.enabled_filters),
            rules=_rules(),
        )

    def _preflight(self) -> Preflight:
        timeout = opts.register(cfg.CONF).request_timeout
        said = ('affinity policy %s, %s: preflight: %s', self.policy, self.entity.name)
        return Preflight(
            snapshot=lambda: self._look(timeout),
            image=lambda name: images.properties(self.connect(), name, timeout),
            plan=_plan,
            warn=lambda words: LOG.warning(*said, words),
            note=lambda words: LOG.debug(*said, words),
        )

    def _look(self, timeout: float) -> tuple[CloudSnapshot, Mapping[str, str]]:
        groups = (self.bound.servergroup_id,)
        taken = snapshot.take(self.connect(), server_groups=groups, timeout=timeout)
        return taken.snapshot, taken.unknown


def _rules() -> Rules:
    """The options. A constraint that does not load fails the plan, and the mode says what then."""
    try:
        constraints = preflight.load_constraints()
    except PluginError:
        constraints = ()
    return opts.rules(cfg.CONF, constraints)


def _plan(
    request: PlacementRequest, cloud: CloudSnapshot, rules: Rules, only: tuple[str, ...] | None
) -> Decision:
    constraints = preflight.load_constraints()
    if only is not None:
        constraints = tuple(item for item in constraints if item.name in only)
    return preflight.plan(request, cloud, constraints, rules)
