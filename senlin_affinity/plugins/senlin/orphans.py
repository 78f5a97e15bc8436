"""Delete orphans: groups in a policy's ownership records that nobody uses any more.

An attach and a detach check each recorded group, delete it if it is empty and unused, and remove
the record. An error here is only logged. A group with a name that a user chose stays
(``senlin-affinity group delete --orphans --by-name`` deletes it).

Units: without such a record no request; otherwise 2 for each group, for at most ``_MOST`` groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from senlin_affinity.groups.ownership_records import CREATING, MADE, Note
from senlin_affinity.model.ports import ServerGroups
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import engine
from senlin_affinity.plugins.senlin import group_registry as ledger

LOG = plain_log.get('senlin_affinity.plugins.senlin_orphans')

#: The maximum number of groups in one operation.
_MOST = 3


def clean(cluster: Any, policy: str, groups: Callable[[], ServerGroups]) -> None:
    """Delete the orphans of a policy's other clusters. Never raises."""
    try:
        ledger.settle(cluster.project, policy, cluster.id)
        known = ledger.read(cluster.project)
        found = [note for note in known.notes.get(policy, ()) if _is_over(note, known, cluster.id)]
        for note in found[:_MOST]:
            _clean(cluster, note, groups())
    except Exception as error:
        if ledger.is_mistake(error):
            LOG.exception('affinity policy: groups that were left behind')
        LOG.warning(
            'affinity policy: a group that was left behind is not deleted: %s',
            ledger.in_words(error),
        )


def _is_over(note: Note, known: ledger.GroupRegistry, cluster: str) -> bool:
    """Check whether no cluster uses the recorded group or is about to use it."""
    if note.cluster == cluster or not note.names_it_well:
        return False
    if known.users(note.group, note.cluster):
        return False
    if note.cluster in known.clusters:
        return note.kind == MADE and not known.is_attaching(note.cluster)
    return True


def _clean(cluster: Any, note: Note, groups: ServerGroups) -> None:
    if note.kind == CREATING:
        found = groups.named(note.group)
    else:
        group = groups.get(note.group)
        found = () if group is None else (group,)
    for group in found:
        with ledger.alone(cluster.id, group.id):
            users = {member.server for member in group.members}
            users -= {node.physical_id for node in engine.placed(cluster, group.id, is_left=True)}
            users |= {group.id, group.name} & ledger.hints(cluster.project)
            if users or ledger.read(cluster.project).users(group.id, note.cluster):
                return
            groups.delete(group.id)
        LOG.info('affinity policy: deleted %s (%s), which was left behind', group.name, group.id)
        engine.forget_group(cluster, group.id)
    ledger.forget(cluster.project, lambda each: each == note)
