"""What a Senlin engine holds: sizes to reach, placement data, nodes, other clusters' bindings.

A decision is written where the engine looks for it, and nowhere else.

Errors: InvalidSpec for a count or a size that is none.

Source: Senlin 16.0.0, ``engine/actions``; the points listed in ``senlin_policy``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log as logging
from senlin.common import consts, scaleutils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.objects import action as action_object
from senlin.objects import cluster as cluster_object
from senlin.objects import cluster_policy as binding_object
from senlin.objects import node as node_object

from senlin_affinity.core.errors import BindingError, InvalidSpec
from senlin_affinity.core.numbers import whole
from senlin_affinity.policy import binding, ownership, placement, profile

LOG = logging.getLogger(__name__)

#: The key of this project in a cluster's data, and what may be noted under it.
_NOTE = 'senlin_affinity'
CREATING, KEPT = 'creating', 'kept'


def read_binding(cluster_id: str, policy_id: str) -> binding.Binding | None:
    """What is remembered of a policy on a cluster."""
    stored = binding_object.ClusterPolicy.get(get_admin_context(), cluster_id, policy_id)
    return None if stored is None else binding.read(stored.data)


def noted(cluster: Any, what: str) -> str | None:
    """What the cluster's data remember of a server group without binding.

    :param what: ``CREATING``, the name of one that an attach was about to create when it broke
        off; ``KEPT``, the id of one that a detach kept.
    """
    note = (cluster.data or {}).get(_NOTE)
    return note.get(what) if isinstance(note, Mapping) else None


def noting(cluster: Any, what: str) -> Callable[[str | None], None]:
    """A function that stores such a note in the cluster's data; None takes it out."""

    def note(group: str | None) -> None:
        known = {CREATING: noted(cluster, CREATING), KEPT: noted(cluster, KEPT), what: group}
        notes = {key: value for key, value in known.items() if value is not None}
        forget_notes(cluster)
        if notes:
            cluster.data = {**cluster.data, _NOTE: notes}
        cluster_object.Cluster.update(get_admin_context(), cluster.id, {'data': cluster.data})

    return note


def forget_notes(cluster: Any) -> None:
    """Take the notes out of what the engine stores of the cluster, once the binding is stored."""
    cluster.data = {key: value for key, value in (cluster.data or {}).items() if key != _NOTE}


def is_being_deleted(cluster: Any) -> bool:
    """Whether the action that holds the cluster's lock deletes the cluster."""
    with database.session_for_read() as session:
        lock = session.query(models.ClusterLock).get(cluster.id)
        holders = () if lock is None else tuple(lock.action_ids)
    actions = (action_object.Action.get(get_admin_context(), each) for each in holders)
    return any(action and action.action == consts.CLUSTER_DELETE for action in actions)


def other_clusters(cluster: Any, group_id: str) -> list[str]:
    """Names of the project's other clusters whose affinity policy is bound to this group."""
    context = get_admin_context()
    found = []
    for other in cluster_object.Cluster.get_all(context, filters={'project': cluster.project}):
        for bound in binding_object.ClusterPolicy.get_all(context, other.id):
            with contextlib.suppress(BindingError):  # it holds no group, so not this one
                theirs = binding.read(bound.data)
                if theirs and theirs.servergroup_id == group_id and other.id != cluster.id:
                    found.append(str(other.name))
    return found


def known(cluster: Any, hint: str | None = None, flavor: str | None = None) -> ownership.Cluster:
    """What the policy must know of a cluster; a node without a server is in no group."""
    return ownership.Cluster(
        cluster.id,
        hint,
        noted(cluster, CREATING),
        noting(cluster, CREATING),
        lambda group_id: other_clusters(cluster, group_id),
        flavor,
        noted(cluster, KEPT),
        [node.physical_id for node in cluster.nodes],
    )


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
    """Take a group that is gone (None: there is none) out of the data of a cluster's nodes.

    Otherwise a later RECREATE of such a node deletes its server and can not boot it again.
    """
    for node in cluster.nodes if group_id is not None else ():
        if _placement(node).get('servergroup') == group_id:
            rest = {key: value for key, value in _placement(node).items() if key != 'servergroup'}
            node.data = {**node.data, 'placement': rest}
            node_object.Node.update(get_admin_context(), node.id, {'data': node.data})


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
    smallest = inputs.get(consts.ADJUSTMENT_MIN_SIZE)
    largest = inputs.get(consts.ADJUSTMENT_MAX_SIZE)
    is_strict = bool(inputs.get(consts.ADJUSTMENT_STRICT))
    if adjustment is not None:
        number = _number(inputs.get(consts.ADJUSTMENT_NUMBER))
        step = inputs.get(consts.ADJUSTMENT_MIN_STEP)
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
