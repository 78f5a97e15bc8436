"""Delete what was left behind: groups that a policy's notes name, and that nobody uses any more.

Data flow: the notes of one policy come in; each group that they name is looked at, deleted where it
is empty and nobody's, and taken out of the notes. An attach and a detach do it by the way, so an
error here is a line in the log. A name that a user chose is left to people
(``senlin-affinity group delete --orphans --by-name``).

Requests: none without such a note; else 2 for each group, and no more than ``_MOST`` of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_log import log as logging

from senlin_affinity.core.errors import is_mistake
from senlin_affinity.core.ports import ServerGroups
from senlin_affinity.plugins import senlin_engine as engine
from senlin_affinity.plugins import senlin_ledger as ledger
from senlin_affinity.policy.notes import CREATING, MADE, Note

LOG = logging.getLogger(__name__)

#: Groups that one operation looks at.
_MOST = 3


def clean(cluster: Any, policy: str, groups: Callable[[], ServerGroups]) -> None:
    """Delete the groups that other clusters of a policy left behind. Never raises."""
    try:
        ledger.settle(cluster.project, policy, cluster.id)
        known = ledger.read(cluster.project)
        found = [note for note in known.notes.get(policy, ()) if _is_over(note, known, cluster.id)]
        for note in found[:_MOST]:
            _clean(cluster, note, groups())
    except Exception as error:
        if is_mistake(error):
            LOG.exception('affinity policy: groups that were left behind')
        LOG.warning('affinity policy: a group that was left behind is not deleted: %s', error)


def _is_over(note: Note, known: ledger.Ledger, cluster: str) -> bool:
    """Is nobody left who the note could be for?"""
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
