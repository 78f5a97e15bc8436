"""Warns of servers of a cluster that are not in the server group of its affinity policy.

Errors: none leave it, as a warning must not refuse an action.
"""

from __future__ import annotations

import functools
from typing import Any

from oslo_log import log as logging

from senlin_affinity.plugins import senlin_engine as engine
from senlin_affinity.policy import binding, profile

LOG = logging.getLogger(__name__)


def warn(policy: str, cluster_id: str, entity: Any, bound: binding.Binding) -> None:
    """Say it in the log; whatever is wrong with that refuses nothing."""
    try:
        if profile.group_hint(entity.rt['profile'].spec):
            return  # every server of the profile joins the group, policy or not
        number = engine.outside(cluster_id, bound.servergroup_id)
    except Exception:
        LOG.exception('affinity policy %s: the nodes could not be looked at', policy)
        return
    if number:
        _say_once(policy, cluster_id, number, bound.servergroup_id)


@functools.lru_cache(maxsize=10_000)
def _say_once(policy: str, cluster_id: str, number: int, group_id: str) -> None:
    """Warn of servers outside of the group: once in this process for each number of them."""
    LOG.warning(
        'affinity policy %s, cluster %s: %s server(s) of the cluster are not in server group %s, '
        'which does not count them: they were created before the policy was attached, or while it '
        'was disabled',
        policy,
        cluster_id,
        number,
        group_id,
    )
