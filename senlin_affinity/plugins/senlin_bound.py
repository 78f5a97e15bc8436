"""What a bound server group is before nodes go into it, and what is told of one that stays behind.

Data flow: a cluster or a node, with its binding and what the preflight saw of the cloud, comes in;
why no node can be created goes out, if anything is in the way. What a detach left goes into the
status of the cluster and into Senlin's events; the text of the action is the engine's own.

Requests: 1, for the group, unless the preflight has looked at it.

Errors: none: a group that could not be looked at refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from oslo_log import log as logging
from senlin.common import consts
from senlin.common.context import RequestContext, get_admin_context
from senlin.engine import event
from senlin.objects import action as action_object

from senlin_affinity.core.errors import in_words, is_mistake
from senlin_affinity.core.ports import ServerGroups
from senlin_affinity.plugins import senlin_engine as engine
from senlin_affinity.plugins import senlin_ledger as ledger
from senlin_affinity.policy import ownership
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.hook import Seen
from senlin_affinity.policy.notes import read
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.policy.question import Look

LOG = logging.getLogger(__name__)


def refusal(
    policy: Any, cluster: str, bound: Binding, seen: Seen, entity: Any, groups: Callable[[], Any]
) -> Refusal | None:
    """Why no node can join the group that is bound; None where nothing is known to be in the way.

    :param groups: makes the owner's :class:`~senlin_affinity.core.ports.ServerGroups`.
    """
    if any(note.cluster == cluster for note in read(policy.data)):
        ledger.settle(entity.project, policy.id)  # the binding says it by now
    group_id = bound.servergroup_id
    why_not = ledger.rival(cluster, policy.id, group_id)
    if why_not is not None:
        return Refusal(why_not)
    known = seen.snapshot.server_groups if isinstance(seen, Look) else None
    try:
        gone = ownership.gone(group_id, _asked(group_id, groups()) if known is None else known)
    except Exception as error:
        said = 'affinity policy %s: whether server group %s is there is not known: %s'
        LOG.warning(said, policy.name, group_id, in_words(error), exc_info=is_mistake(error))
        return None
    if gone is not None:
        engine.forget_group(entity, group_id)
    return gone


def _asked(group_id: str, groups: ServerGroups) -> tuple[Any, ...]:
    group = groups.get(group_id)
    return () if group is None else (group,)


def tell(cluster: Any, said: str) -> None:
    """Say in the cluster's status and in Senlin's events what a detach left, and why.

    The engine stores the cluster after that.
    """
    cluster.status_reason = said
    try:
        for holder in ledger.holders(cluster.id):
            action = action_object.Action.get(get_admin_context(), holder)
            if action is not None and event.dispatchers is not None:
                owner = {'user_id': cluster.user, 'project_id': cluster.project}
                values = {name: getattr(action, name) for name in ('id', 'action', 'cause')}
                values |= {'inputs': action.inputs, 'entity': cluster}
                values['context'] = RequestContext(is_admin=True, **owner)
                event.info(SimpleNamespace(**values), consts.PHASE_END, said)
    except Exception:
        LOG.exception('affinity policy: no event of what a detach left')
