"""Drive the steps of a server group with Nova, Senlin's database and its locks.

A step that finds another action at work waits and starts again, until the request timeout.

Raises: the errors of the step.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from senlin.common import consts

from senlin_affinity.groups import attachment, steps
from senlin_affinity.groups.detachment import is_kept
from senlin_affinity.groups.steps import (
    Announce,
    CheckQuota,
    Effect,
    Leave,
    LockGroup,
    LockName,
    ReadBinding,
    ReadKeep,
    ReadUse,
)
from senlin_affinity.model.errors import GroupBusy
from senlin_affinity.plugins.senlin import bound_group, engine
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy.properties import PolicySpec


@dataclass(frozen=True)
class Driver:
    """A cluster and a policy for the steps; the spec and the connection are read if needed."""

    cluster: Any
    policy: str
    properties: Callable[[], PolicySpec]
    cloud: Callable[[], Any]

    def run(self, operation: Any) -> Any:
        """Run the operation, and return its outcome; its locks are released in any case."""
        end = time.monotonic() + cfg.CONF.affinity.request_timeout
        while True:
            try:
                with ExitStack() as locks:
                    return steps.run(operation.step(), functools.partial(self._perform, locks))
            except GroupBusy:
                if time.monotonic() > end:
                    raise
            time.sleep(registry.PAUSE)

    def _perform(self, locks: ExitStack, effect: Effect) -> Any:
        cluster = self.cluster
        match effect:
            case LockName(name):
                locks.enter_context(registry.lock_name(cluster, name))
            case LockGroup(group_id):
                locks.enter_context(registry.lock_group(cluster.id, group_id))
            case ReadBinding():
                return engine.read_binding(cluster.id, self.policy)
            case ReadUse(group_id, name):
                return engine.read_use(cluster, self.policy, group_id, name)
            case ReadKeep():  # a deleted cluster has no next policy
                is_going = registry.is_running(cluster.id, consts.CLUSTER_DELETE)
                return not is_going and is_kept(cluster.metadata or {}, self.properties)
            case Leave():
                registry.leave(cluster, self.policy, effect)
            case CheckQuota(name, policy):
                attachment.check_quota(self.cloud().inventory.quotas(), name, policy)
            case Announce(name):
                bound_group.emit_event(cluster, _ANNOUNCED.format(name=name))
            case _:
                return steps.ask_nova(effect, self.cloud().server_groups)
        return None


_ANNOUNCED = (
    "a policy creates server group '{name}' for the cluster: if the attach is interrupted, the "
    'group remains without an owner'
)
