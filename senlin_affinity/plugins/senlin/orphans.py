"""Delete orphans: groups in a policy's ownership records that nobody uses any more.

An attach and a detach check each recorded group, delete it if it is empty and unused, and remove
the record. An error here is only logged. A group with a name that a user chose stays
(``senlin-affinity group delete --orphans --by-name`` deletes it).

Units: without such a record no request; otherwise 2 for each group, for at most ``_MOST`` groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from senlin_affinity.groups.ownership_records import CREATING, MADE, Record
from senlin_affinity.model.ports import ServerGroups
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import engine
from senlin_affinity.plugins.senlin import group_registry as registry

LOG = plain_log.get('senlin_affinity.plugins.senlin_orphans')

#: The maximum number of groups in one operation.
_MOST = 3


def clean(cluster: Any, policy: str, groups: Callable[[], ServerGroups]) -> None:
    """Delete the orphans of a policy's other clusters. Never raises."""
    try:
        registry.prune_records(cluster.project, policy, cluster.id)
        now = registry.read(cluster.project)
        found = [each for each in now.records.get(policy, ()) if _is_over(each, now, cluster.id)]
        for each in found[:_MOST]:
            _clean(cluster, each, groups())
    except Exception as error:
        if registry.is_mistake(error):
            LOG.exception('affinity policy: groups that were left behind')
        LOG.warning(
            'affinity policy: a group that was left behind is not deleted: %s',
            registry.in_words(error),
        )


def _is_over(record: Record, known: registry.GroupRegistry, cluster: str) -> bool:
    """Check whether no cluster uses the recorded group or is about to use it."""
    if record.cluster == cluster or not record.is_unambiguous:
        return False
    if known.users_of(record.group, record.cluster):
        return False
    if record.cluster in known.clusters:
        return record.kind == MADE and not known.is_attaching(record.cluster)
    return True


def _clean(cluster: Any, record: Record, groups: ServerGroups) -> None:
    if record.kind == CREATING:
        found = groups.named(record.group)
    else:
        group = groups.get(record.group)
        found = () if group is None else (group,)
    for group in found:
        with registry.lock_group(cluster.id, group.id):
            users = {member.server for member in group.members}
            users -= {node.physical_id for node in engine.nodes_in(cluster, group.id, is_left=True)}
            users |= {group.id, group.name} & registry.hints(cluster.project)
            if users or registry.read(cluster.project).users_of(group.id, record.cluster):
                return
            groups.delete(group.id)
        LOG.info('affinity policy: deleted %s (%s), which was left behind', group.name, group.id)
        engine.forget_group(cluster, group.id)
    registry.delete_records(cluster.project, lambda each: each == record)
