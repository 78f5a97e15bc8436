"""What a Senlin engine holds: sizes to reach, placement data, nodes, other clusters' bindings.

A decision is written where the engine looks for it, and nowhere else.

Errors: InvalidSpec for a count or a size that is none.

Source: Senlin 16.0.0, ``engine/actions``; the points listed in ``senlin_policy``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oslo_log import log as logging
from senlin.common import consts, scaleutils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.objects import action as action_object
from senlin.objects import cluster as cluster_object
from senlin.objects import cluster_policy as binding_object
from senlin.objects import node as node_object
from sqlalchemy import Text, column, select, table

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.numbers import whole
from senlin_affinity.plugins import senlin_ledger as ledger
from senlin_affinity.policy import binding, notes, ownership, placement, profile
from senlin_affinity.policy.ledger import noted
from senlin_affinity.policy.notes import KEPT

LOG = logging.getLogger(__name__)

#: The nodes, with their data as they are stored.
_NODES = table('node', column('id'), column('project'), column('cluster_id'), column('data', Text))
#: The limits that a resize may bring, and how small each may be; a webhook's were never looked at.
_LIMITS = {
    consts.ADJUSTMENT_MIN_SIZE: 0,
    consts.ADJUSTMENT_MAX_SIZE: -1,
    consts.ADJUSTMENT_MIN_STEP: 0,
}


def read_binding(cluster_id: str, policy_id: str) -> binding.Binding | None:
    """What is remembered of a policy on a cluster."""
    stored = binding_object.ClusterPolicy.get(get_admin_context(), cluster_id, policy_id)
    return None if stored is None else binding.read(stored.data)


def forget_notes(cluster: Any) -> None:
    """Take the notes out of what the engine stores of the cluster, once the binding is stored."""
    cluster.data = {key: value for key, value in (cluster.data or {}).items() if key != notes.KEY}


def known(
    cluster: Any, policy: str, hint: str | None = None, flavor: str | None = None
) -> ownership.Cluster:
    """What the policy must know of a cluster; a node without a server is in no group."""
    return ownership.Cluster(
        cluster.id,
        hint,
        ledger.read(cluster.project).pending(cluster.id),
        ledger.noting(cluster.id, policy),
        lambda group_id: ledger.read(cluster.project).users(group_id, cluster.id, policy),
        flavor,
        noted(cluster.data),
        [node.physical_id for node in cluster.nodes],
        lambda group_id: [node.physical_id for node in placed(cluster, group_id, is_left=True)],
        lambda group_id: ledger.read(cluster.project).is_made(group_id),
        ledger.remembering(cluster.id, policy),
        ledger.leaving(cluster, policy),
        lambda group_id: ledger.alone(cluster.id, group_id),
        lambda name: ledger.alone_with(cluster, name),
        lambda: ledger.hints(cluster.project),
    )


def keeping(cluster: Any, policy: str) -> Callable[[str], None]:
    """A function that notes a group which stays for the cluster's next policy."""

    def keep(group_id: str) -> None:
        ledger.remembering(cluster.id, policy, KEPT)(group_id)
        cluster.data = {**(cluster.data or {}), notes.KEY: {KEPT: group_id}}
        cluster_object.Cluster.update(get_admin_context(), cluster.id, {'data': cluster.data})

    return keep


def warn_of_outside(policy: str, cluster_id: str, entity: Any, group_id: str) -> None:
    """Warn of servers of a cluster that did not join its group; an error here refuses nothing."""
    try:
        if profile.group_hint(entity.rt['profile'].spec):
            return  # every server of the profile joins the group, policy or not
        nodes = node_object.Node.get_all_by_cluster(get_admin_context(), cluster_id)
        joined = [_placement(node).get('servergroup') for node in nodes if node.physical_id]
    except Exception:
        LOG.exception('affinity policy %s: the nodes could not be looked at', policy)
        return
    if number := len(joined) - joined.count(group_id):
        _say_once(policy, cluster_id, number, group_id)


@functools.lru_cache(maxsize=10_000)
def _say_once(policy: str, cluster_id: str, number: int, group_id: str) -> None:
    """Once in this process for each number of them."""
    LOG.warning(
        'affinity policy %s, cluster %s: %s server(s) of the cluster are not in server group %s, '
        'which does not count them: they were created before the policy was attached, or while it '
        'was disabled',
        policy,
        cluster_id,
        number,
        group_id,
    )


def forget_group(cluster: Any, group_id: str | None) -> None:
    """Take a group that is gone (None: there is none) out of all that is remembered of it.

    Otherwise a later RECREATE of a node that was placed into it deletes its server and can not boot
    it again; also of one that has left the cluster.
    """
    if group_id is None:
        return
    ledger.forget(cluster.project, lambda note: note.group == group_id)
    loaded = {node.id: node for node in getattr(cluster, 'nodes', ())}
    for row in placed(cluster, group_id):
        rest = {key: value for key, value in _placement(row).items() if key != 'servergroup'}
        data = {**row.data, 'placement': rest}
        node_object.Node.update(get_admin_context(), row.id, {'data': data})
        if row.id in loaded:
            loaded[row.id].data = data


def placed(cluster: Any, group_id: str, *, is_left: bool = False) -> list[Any]:
    """Nodes of the cluster's project that were placed into a group; those that left a cluster."""
    where = [_NODES.c.project == cluster.project, _NODES.c.data.contains(group_id)]
    if is_left:
        where.append(_NODES.c.cluster_id == '')
    with database.session_for_read() as session:
        ids = session.execute(select(_NODES.c.id).where(*where)).scalars().all()
    nodes = [node_object.Node.get(get_admin_context(), each) for each in ids]
    return [node for node in nodes if node and _placement(node).get('servergroup') == group_id]


def _placement(node: Any) -> dict[str, Any]:
    return (node.data or {}).get('placement') or {}


def count(action: Any) -> int | None:
    """How many nodes the action is about to create.

    None for an action that removes some, and for one that the engine is going to refuse with words
    of its own (a scale-out by 0, a resize beyond the limits).

    A size that no cluster may have is refused here, before there is a placement for each node: a
    webhook's count reaches the hook without having been looked at.
    """
    if action.action == consts.NODE_CREATE:
        return 1
    if 'deletion' in action.data:
        return None
    decided = placement.decided_count(action.data)
    if decided is None and action.action == consts.CLUSTER_RESIZE:
        return _resized_by(action)
    cluster, is_scale_out = action.entity, action.action == consts.CLUSTER_SCALE_OUT
    if decided is None:
        decided = whole(action.inputs.get('count', 1), 'inputs.count', 0)
        if decided == 0:
            return None
    # As the engine does for a scale-out; a decided resize it does not check at all.
    limits = cluster if is_scale_out else None
    why_not = scaleutils.check_size_params(
        limits, len(cluster.nodes) + decided, None, None, is_scale_out
    )
    if why_not and decided:
        raise InvalidSpec(str(why_not), 'count')
    return decided


def _resized_by(action: Any) -> int | None:
    """What a CLUSTER_RESIZE adds, by Senlin's own arithmetic; None for a shrink.

    A size that the engine is going to refuse is left to it (None), unless the cluster is empty:
    the engine then counts from the desired capacity, and would create nodes without placement.
    """
    cluster, inputs = action.entity, action.inputs
    current = desired = len(cluster.nodes)
    adjustment = inputs.get(consts.ADJUSTMENT_TYPE)
    smallest, largest, step = (
        None if inputs.get(name) is None else whole(inputs[name], f'inputs.{name}', least)
        for name, least in _LIMITS.items()
    )
    is_strict = bool(inputs.get(consts.ADJUSTMENT_STRICT))
    if adjustment is not None:
        number = _number(inputs.get(consts.ADJUSTMENT_NUMBER))
        desired = scaleutils.calculate_desired(current, adjustment, number, step)
        if not isinstance(desired, int):
            raise InvalidSpec(f'leads to {desired!r} nodes: must be an integer', 'inputs.number')
    if not is_strict:
        desired = scaleutils.truncate_desired(cluster, desired, smallest, largest)
    why_not = scaleutils.check_size_params(cluster, desired, smallest, largest, is_strict)
    if why_not and current == 0:
        raise InvalidSpec(str(why_not), 'inputs')
    return None if why_not or desired < current else desired - current


def _number(value: object) -> int | float:
    """The size or the change that a resize asks for; a string of digits is taken, too."""
    if isinstance(value, str):
        return whole(value, 'inputs.number', 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidSpec(f'must be a number, not {value!r}', 'inputs.number')
    return value


def is_cancelled(action: Any) -> bool:
    """Was the action cancelled by force meanwhile? (For a signal, the engine looks itself.)"""
    stored = action_object.Action.get(get_admin_context(), action.id)
    return stored is not None and stored.status == consts.ACTION_CANCELLED


def write_answer(action: Any, answer: placement.Placement | placement.Refusal) -> None:
    """Put the answer where the engine looks, and store the data alone.

    Not by ``action.store()``, which also writes the status that the action had when it was loaded:
    a cancel that came meanwhile would be undone.
    """
    for stale in ('placement', 'status_reason'):  # of an earlier run of this action
        action.data.pop(stale, None)
    action.data.update(answer.data())
    if isinstance(answer, placement.Placement):
        if action.action == consts.NODE_CREATE:
            node = action.entity
            node.data['placement'] = {**_placement(node), **answer.entries()[0]}
            node_object.Node.update(action.context, node.id, {'data': node.data})
        elif 'creation' in action.data or action.action == consts.CLUSTER_RESIZE:
            # What the engine reads must be the number of the placements.
            creation = action.data.get('creation') or {}
            action.data['creation'] = {**creation, 'count': answer.count}
    action_object.Action.update(action.context, action.id, {'data': action.data})
