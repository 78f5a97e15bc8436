"""Read who uses a server group from Senlin's database, leave a group, and lock it.

Source: Senlin 16.0.0, ``db/sqlalchemy``. Its table of cluster locks accepts any id: the lock of a
group has the group's id and belongs to the action that holds the cluster, so that Senlin releases
it with the locks of a dead engine. Senlin stores the binding after an attach: until then, the
running action shows that its policy may use the group.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from oslo_config import cfg
from oslo_db.exception import DBDuplicateEntry, DBError
from oslo_serialization import jsonutils
from senlin.common import consts, utils
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.objects import action as action_object
from senlin.objects import cluster_lock
from sqlalchemy import Text, column, select, table, update
from sqlalchemy.exc import SQLAlchemyError

from senlin_affinity.groups.attachment import cluster_of
from senlin_affinity.groups.audit import FOREIGN
from senlin_affinity.groups.steps import GroupUser, Leave, Use
from senlin_affinity.model import errors
from senlin_affinity.model.errors import AffinityError, BindingError, InvalidSpec
from senlin_affinity.policy import binding, profile, properties
from senlin_affinity.policy.binding import CLUSTER_KEY, KEPT, kept_group

_LOCKS = table('cluster_lock', column('cluster_id'), column('action_ids', Text))
_ACTIONS = table(
    'action',
    *map(column, ('target', 'action', 'status', 'owner')),
    column('inputs', Text),
)
#: Between two attempts to acquire a lock, in seconds.
PAUSE = 0.2
_WHOLE = -1  # Senlin's scope of an exclusive lock
#: Why an attach fails whose policy no longer exists.
DELETED = 'the policy was deleted meanwhile'
_OVER = (consts.ACTION_SUCCEEDED, consts.ACTION_FAILED, consts.ACTION_CANCELLED)


def is_outage(error: BaseException) -> bool:
    """Check whether Senlin's database failed."""
    return isinstance(error, DBError | SQLAlchemyError)


def is_mistake(error: BaseException) -> bool:
    """Check whether the error is a defect of code, whose traceback belongs in the log."""
    return errors.is_mistake(error) and not is_outage(error)


def in_words(error: Exception) -> str:
    """Return an error in one line for the user, without the SQL statement that failed."""
    if is_outage(error):
        return f"Senlin's database failed ({type(error).__name__}): try again"
    return errors.in_words(error)


def read_use(cluster: Any, policy: str, group_id: str, name: str | None, prefix: str) -> Use:
    """Read the users of a group in all projects, except this cluster with this policy.

    A name in a profile or a policy of another project means a group of that project.
    """
    with database.session_for_read() as session:
        by_age = sorted(session.query(models.Cluster), key=lambda it: (str(it.created_at), it.id))
        clusters = {each.id: each for each in by_age}
        policies = {each.id: each for each in session.query(models.Policy)}
        profiles = {each.id: each for each in session.query(models.Profile)}

        def shown(owned: Any) -> str:
            return str(owned.name) if owned.project == cluster.project else FOREIGN

        def refers(owned: Any, word: str | None) -> bool:
            by_name = name is not None and owned.project == cluster.project and word == name
            return word is not None and (by_name or word.lower() == group_id)

        def is_attaching(action: Any) -> bool:
            target = clusters.get(action.target)
            wanted = policies.get(jsonutils.loads(action.inputs).get('policy_id'))
            if target is None or target.id == cluster.id or wanted is None or _is_dead(action):
                return False
            hint = _hint(profiles.get(target.profile_id))
            return (
                refers(target, properties.group_name(wanted.spec))
                or refers(target, hint)
                or kept_group(target.data) == group_id
            )

        users = []
        for row, bound in _bindings(session, clusters):
            key = (row.cluster_id, row.policy_id)
            if bound.servergroup_id == group_id and key != (cluster.id, policy):
                user = clusters[key[0]]
                is_near = user.project == cluster.project
                may_own = is_near and _is_served(policies.get(row.policy_id))
                names = (user.id, shown(user), key[1])
                users.append(GroupUser(*names, is_owner=not bound.is_inherited, may_own=may_own))
        keepers = [each for each in clusters.values() if kept_group(each.data) == group_id]
        hinting = [each for each in profiles.values() if refers(each, _hint(each))]
        is_attach = _ACTIONS.c.action == consts.CLUSTER_ATTACH_POLICY
        is_running = _ACTIONS.c.status == consts.ACTION_RUNNING
        rows = session.execute(select(_ACTIONS).where(is_attach, is_running)).all()
        running = list(filter(is_attaching, rows))
        named_after = cluster_of(name or '', prefix)
        return Use(
            tuple(users),
            tuple(shown(each) for each in keepers if each.id != cluster.id),
            tuple(map(shown, hinting)),
            tuple(sorted({shown(clusters[each.target]) for each in running})),
            has_cluster=named_after is None or named_after in clusters,
        )


def _bindings(session: Any, clusters: Mapping[str, Any]) -> Iterator[tuple[Any, binding.Binding]]:
    """Yield the bindings that have a group, in the order of the clusters."""
    order = {key: number for number, key in enumerate(clusters)}
    rows = [each for each in session.query(models.ClusterPolicies) if each.cluster_id in order]
    for row in sorted(rows, key=lambda row: (order[row.cluster_id], row.id)):
        with contextlib.suppress(BindingError):
            if (held := binding.read(row.data)) is not None:
                yield row, held


def _is_served(policy: Any) -> bool:
    """Check whether our class, and not Senlin's own, serves the policy."""
    is_old = policy is None or policy.type == f'{properties.TYPE}-1.0'
    return not is_old or bool(cfg.CONF.affinity.serve_version_1_0)


def _is_dead(action: Any) -> bool:
    """Check whether the engine of a running action is dead, as Senlin's locks do."""
    owner = action.owner
    return owner is not None and bool(utils.is_service_dead(get_admin_context(), owner))


def _hint(row: Any) -> str | None:
    with contextlib.suppress(InvalidSpec):
        return None if row is None else profile.group_hint(row.spec)
    return None


def leave(cluster: Any, policy: str, effect: Leave) -> None:
    """Delete the binding, so that nobody counts it before the engine deletes it.

    In the same transaction, make the heir the owner, or record that the cluster keeps the group.
    """
    with database.session_for_write() as session:
        bindings = session.query(models.ClusterPolicies)
        if effect.heir is not None:
            heir = effect.heir
            row = bindings.filter_by(cluster_id=heir.cluster, policy_id=heir.policy).first()
            held = None if row is None else binding.read(row.data)
            if row is None or held is None or held.servergroup_id != effect.group_id:
                raise AffinityError(f'cluster {heir.cluster_name} left the group: try again')
            row.data = binding.write(replace(held, is_inherited=False))
        if effect.is_kept:
            cluster.data = {**(cluster.data or {}), CLUSTER_KEY: {KEPT: effect.group_id}}
            session.query(models.Cluster).get(cluster.id).data = cluster.data
        bindings.filter_by(cluster_id=cluster.id, policy_id=policy).delete()


def is_deleted(policy: str) -> bool:
    """Check whether the policy no longer exists."""
    with database.session_for_read() as session:
        return session.query(models.Policy).get(policy) is None


def is_running(cluster: str, action: str) -> bool:
    """Check whether an action of this kind holds the lock of a cluster."""
    found = (action_object.Action.get(get_admin_context(), each) for each in lock_holders(cluster))
    return any(each is not None and each.action == action for each in found)


def lock_holders(cluster: str) -> tuple[str, ...]:
    """Return the ids of the actions that hold the lock of a cluster or a group."""
    with database.session_for_read() as session:
        lock = session.query(models.ClusterLock).get(cluster)
        return () if lock is None else tuple(lock.action_ids)


def lock_name(cluster: Any, name: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a name, so that only one of several attaches creates its group."""
    other = f"another policy is still attaching to server group '{name}'"
    lock_id = uuid.uuid5(uuid.NAMESPACE_OID, f'{cluster.project} {name}')
    return lock_group(cluster.id, str(lock_id), other)


def _acquire(group_id: str, holder: str) -> list[str]:
    """Take a free lock, and return its owners; [] if another action took it at the same time."""
    try:
        return list(cluster_lock.ClusterLock.acquire(group_id, holder, _WHOLE))
    except DBDuplicateEntry:
        return []


def _take_over(group_id: str, owners: list[str], holder: str) -> bool:
    """Take a lock from owners that have ended; return False if the lock has other owners now."""
    here = _LOCKS.c.cluster_id == group_id
    is_theirs = _LOCKS.c.action_ids == jsonutils.dumps(owners)
    values = {'action_ids': jsonutils.dumps([holder])}
    with database.session_for_write() as session:
        done = session.execute(update(_LOCKS).where(here, is_theirs).values(**values))
    return bool(done.rowcount)


@contextlib.contextmanager
def lock_group(cluster: str, group_id: str, other: str = '') -> Iterator[None]:
    """Hold the lock of a group, so that policies leave it one at a time.

    Raise AffinityError if another policy holds the lock until the request timeout.
    """
    holder = (*lock_holders(cluster), cluster)[0]
    end = time.monotonic() + cfg.CONF.affinity.request_timeout
    while holder not in (owners := _acquire(group_id, holder)):
        dead = owners and action_object.Action.get(get_admin_context(), owners[0])
        if dead and dead.status in _OVER and _take_over(group_id, owners, holder):
            continue  # the action ended without releasing the lock
        if time.monotonic() > end:
            words = other or f'another policy is still leaving server group {group_id}'
            raise AffinityError(f'{words}: try again')
        time.sleep(PAUSE)
    try:
        yield
    finally:
        cluster_lock.ClusterLock.release(group_id, holder, _WHOLE)
