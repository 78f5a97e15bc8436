"""Read and write the objects of a Senlin engine: sizes, placement data, nodes and bindings.

Raises: InvalidSpec for an invalid count or size.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from oslo_config import cfg
from senlin.common import consts, scaleutils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.objects import action as action_object
from senlin.objects import cluster_policy as binding_object
from senlin.objects import node as node_object
from senlin.objects import profile as profile_object
from sqlalchemy import Text, column, select, table

from senlin_affinity.groups.steps import Use
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.numbers import whole
from senlin_affinity.plugins import plain_log
from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy import profile
from senlin_affinity.policy.senlin_data import (
    CLUSTER_KEY,
    Binding,
    Placement,
    Refusal,
    decided_count,
)

LOG = plain_log.get('senlin_affinity.plugins.senlin_engine')

_NODES = table('node', column('id'), column('project'), column('cluster_id'), column('data', Text))
#: The minimum of each limit of a resize; Senlin does not validate those of a webhook.
_LIMITS = {
    consts.ADJUSTMENT_MIN_SIZE: 0,
    consts.ADJUSTMENT_MAX_SIZE: -1,
    consts.ADJUSTMENT_MIN_STEP: 0,
}


def read_binding(cluster_id: str, policy_id: str) -> Binding | None:
    """Return the stored binding of a policy on a cluster; None if there is none."""
    stored = binding_object.ClusterPolicy.get(get_admin_context(), cluster_id, policy_id)
    return None if stored is None else Binding.read(stored.data)


def forget_kept_group(cluster: Any) -> None:
    """Remove the record of a kept group from the cluster's data; the engine stores them."""
    cluster.data = {key: each for key, each in (cluster.data or {}).items() if key != CLUSTER_KEY}


def read_use(cluster: Any, policy: str, group_id: str, name: str | None) -> Use:
    """Read the users of a group, and the servers of the cluster.

    Nodes that were placed into the group and are in no cluster any more count as the cluster's.
    """
    prefix = cfg.CONF.affinity.group_name_prefix
    use = registry.read_use(cluster, policy, group_id, name, prefix)
    nodes = (*cluster.nodes, *nodes_in(cluster, group_id, is_left=True))
    return replace(use, own_servers=frozenset(each.physical_id for each in nodes))


def warn_nodes_outside_group(policy: str, cluster_id: str, group_id: str) -> None:
    """Log a warning if servers of a cluster are not in its group. Never raises."""
    hint = functools.cache(_hint)
    try:
        nodes = node_object.Node.get_all_by_cluster(get_admin_context(), cluster_id)
        joined = [
            _placement(node).get('servergroup') or hint(node.profile_id)
            for node in nodes
            if node.physical_id
        ]
    except Exception as error:
        words = 'affinity policy %s: the nodes could not be read: %s'
        is_defect = registry.is_defect(error)
        LOG.error(words, policy, registry.in_words(error), exc_info=is_defect)
        return
    if number := len(joined) - joined.count(group_id):
        _say_once(policy, cluster_id, number, group_id)


def _hint(profile_id: str) -> str | None:
    """Return the group that servers of a profile join without a placement.

    Senlin never updates the scheduler hints of a server.
    """
    stored = profile_object.Profile.get(get_admin_context(), profile_id)
    return stored and profile.group_hint(stored.spec)


@functools.lru_cache(maxsize=10_000)
def _say_once(policy: str, cluster_id: str, number: int, group_id: str) -> None:
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
    """Remove a deleted group (None: nothing to do) from the nodes' data.

    Otherwise a later RECREATE of a node that was placed into it, also of one that has left the
    cluster, would delete its server and fail to boot another.
    """
    if group_id is None:
        return
    loaded = {node.id: node for node in getattr(cluster, 'nodes', ())}
    for row in nodes_in(cluster, group_id):
        rest = {key: value for key, value in _placement(row).items() if key != 'servergroup'}
        data = {**row.data, 'placement': rest}
        node_object.Node.update(get_admin_context(), row.id, {'data': data})
        if row.id in loaded:
            loaded[row.id].data = data


def nodes_in(cluster: Any, group_id: str, *, is_left: bool = False) -> list[Any]:
    """Return the project's nodes that were placed into a group.

    :param is_left: only nodes that belong to no cluster any more.
    """
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
    """Return the number of nodes that the action will create.

    Return None for an action that removes nodes, and for one that the engine itself rejects (a
    scale-out by 0, a resize beyond the limits). Raise InvalidSpec for a size that no cluster may
    have: Senlin does not validate the count of a webhook.
    """
    if action.action == consts.NODE_CREATE:
        return 1
    if 'deletion' in action.data:
        return None
    decided = decided_count(action.data)
    if decided is None and action.action == consts.CLUSTER_RESIZE:
        return _resized_by(action)
    cluster, is_scale_out = action.entity, action.action == consts.CLUSTER_SCALE_OUT
    if decided is None:
        decided = whole(action.inputs.get('count', 1), 'inputs.count', 0)
        if decided == 0:
            return None
    # As the engine checks a scale-out; it does not check a resize that a policy decided.
    limits = cluster if is_scale_out else None
    why_not = scaleutils.check_size_params(
        limits, len(cluster.nodes) + decided, None, None, is_scale_out
    )
    if why_not and decided:
        raise InvalidSpec(str(why_not), 'count')
    return decided


def _resized_by(action: Any) -> int | None:
    """Return the nodes that a CLUSTER_RESIZE adds, by Senlin's own arithmetic; None for a shrink.

    Return None for a size that the engine rejects. If the cluster is empty, raise InvalidSpec: the
    engine would count from the desired capacity, and create nodes without placement.
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
            raise InvalidSpec(
                f'leads to {desired!r} nodes, which is not an integer', 'inputs.number'
            )
    if not is_strict:
        desired = scaleutils.truncate_desired(cluster, desired, smallest, largest)
    why_not = scaleutils.check_size_params(cluster, desired, smallest, largest, is_strict)
    if why_not and current == 0:
        raise InvalidSpec(str(why_not), 'inputs')
    return None if why_not or desired < current else desired - current


def _number(value: object) -> int | float:
    """Return the size or the change of a resize; convert a string of digits."""
    if isinstance(value, str):
        return whole(value, 'inputs.number', 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidSpec(f'must be a number, not {value!r}', 'inputs.number')
    return value


def is_cancelled(action: Any) -> bool:
    """Check whether the action was cancelled by force; the engine itself checks signals."""
    stored = action_object.Action.get(get_admin_context(), action.id)
    return stored is not None and stored.status == consts.ACTION_CANCELLED


def write_answer(action: Any, answer: Placement | Refusal) -> None:
    """Write the answer where the engine reads it, and store only the data.

    ``action.store()`` would also write the status that the action had when it was loaded, and so
    undo a cancellation.
    """
    action.data = with_answer(action, answer)
    if isinstance(answer, Placement):
        if action.action == consts.NODE_CREATE:
            node = action.entity
            node.data = {
                **(node.data or {}),
                'placement': {**_placement(node), **answer.entries()[0]},
            }
            node_object.Node.update(action.context, node.id, {'data': node.data})
        elif 'creation' in action.data or action.action == consts.CLUSTER_RESIZE:
            # The engine's count must be the number of placements.
            creation = action.data.get('creation') or {}
            action.data['creation'] = {**creation, 'count': answer.count}
    elif action.action == consts.NODE_CREATE:  # the engine leaves the node in INIT, with no reason
        reason = {'status_reason': answer.data()['reason']}
        node_object.Node.update(action.context, action.entity.id, reason)
    action_object.Action.update(action.context, action.id, {'data': action.data})


def with_answer(action: Any, answer: Placement | Refusal) -> dict[str, Any]:
    """Return the data of an action with the answer, without that of an earlier run.

    The result is a new dict: that of Senlin belongs to a row of the database, and cannot be changed
    after a transaction of this row has failed.
    """
    stale = ('placement', 'status_reason')
    kept = {key: value for key, value in action.data.items() if key not in stale}
    return {**kept, **answer.data()}
