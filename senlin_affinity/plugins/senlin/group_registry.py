"""Store which cluster uses which server group, and which policy created it, in Senlin's database.

Bindings and ownership records are read from all rows. A record is written into the ``data`` of its
own policy only. A row is written only if it is unchanged since it was read; otherwise it is read
and edited again.

Source: Senlin 16.0.0, ``db/sqlalchemy``. Its table of cluster locks accepts any id: the lock of a
group has the group's id and belongs to the action that holds the cluster, so that Senlin releases
it with the locks of a dead engine.
"""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_db.exception import DBDuplicateEntry, DBError
from oslo_serialization import jsonutils
from senlin.common import consts
from senlin.common.context import get_admin_context
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.objects import action as action_object
from senlin.objects import cluster_lock
from senlin.objects import cluster_policy as binding_object
from sqlalchemy import Text, column, select, table, update
from sqlalchemy.exc import SQLAlchemyError

from senlin_affinity.groups import ownership_records, registry
from senlin_affinity.groups.ownership_records import CREATING, MADE, Record
from senlin_affinity.groups.registry import FOREIGN, BindingRecord, GroupRegistry
from senlin_affinity.model import errors
from senlin_affinity.model.errors import AffinityError, BindingError, InvalidSpec
from senlin_affinity.policy import binding, profile
from senlin_affinity.policy.group_lookup import is_uuid

#: The policies, with their data as stored, and the locks of clusters.
_POLICIES = table('policy', column('id'), column('project'), column('data', Text))
_LOCKS = table('cluster_lock', column('cluster_id'), column('action_ids', Text))
_TRIES = 20
#: The pause between two attempts to acquire a lock, in seconds.
_PAUSE = 0.2
_WHOLE = -1  # Senlin's scope of an exclusive lock
#: The reason why no record is stored.
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


def cause(error: Exception) -> str:
    """Return the error of the database for the log, in one line and without the SQL statement."""
    return next(iter(str(error).splitlines()), '')


def read(project: str) -> GroupRegistry:
    """Read the bindings and the ownership records of all projects: any cluster may use a group.

    A cluster of another project has no name here.
    """
    with database.session_for_read() as session:
        clusters: dict[str, str] = {}
        kept: list[Record] = []
        for each in session.query(models.Cluster):
            clusters[each.id] = each.name if each.project == project else FOREIGN
            kept.extend(registry.kept_records(each.id, each.data))
        rows = (
            session.query(models.ClusterPolicies, models.Policy)
            .join(models.Policy, models.Policy.id == models.ClusterPolicies.policy_id)
            .join(models.Cluster, models.Cluster.id == models.ClusterPolicies.cluster_id)
        )
        bound = []
        for row, policy in rows:
            with contextlib.suppress(BindingError):  # the binding has no group
                if (held := binding.read(row.data)) is not None:
                    name = clusters.get(row.cluster_id, FOREIGN)
                    names = (name, row.policy_id, policy.name, policy.type)
                    bound.append(BindingRecord(row.cluster_id, *names, bool(row.enabled), held))
        has_records = _POLICIES.c.data.contains(ownership_records.KEY)
        rows = session.execute(select(_POLICIES).where(has_records))
        found = {row.id: ownership_records.read(jsonutils.loads(row.data)) for row in rows}
        return GroupRegistry(clusters, tuple(bound), found, tuple(kept), _is_attaching)


def hints(project: str) -> set[str]:
    """Return the groups that the profiles of clusters refer to, by name or id.

    A name in a profile of another project means a group of that project, and is left out.
    """
    found = set()
    with database.session_for_read() as session:
        here = models.Cluster.profile_id == models.Profile.id
        query = session.query(models.Profile, models.Cluster.project).join(models.Cluster, here)
        for each, owner in query:
            with contextlib.suppress(InvalidSpec):
                hint = profile.group_hint(each.spec) or ''
                if owner == project or is_uuid(hint):
                    found.add(hint)
    return found


def edit_records(policy: str, edit: Callable[[tuple[Record, ...]], Iterable[Record]]) -> None:
    """Edit the ownership records of a policy; write nothing if they do not change.

    Raise AffinityError if the policy does not exist any more and its records change.
    """
    here = _POLICIES.c.id == policy
    for _ in range(_TRIES):
        with database.session_for_write() as session:
            row = session.execute(select(_POLICIES.c.data).where(here)).first()
            data = None if row is None else jsonutils.loads(row.data or 'null')
            known = ownership_records.read(data)
            wanted = tuple(dict.fromkeys(edit(known)))
            if wanted == known:
                return
            if row is None:
                raise AffinityError(DELETED)
            is_as_read = _POLICIES.c.data == row.data  # also matches NULL
            text = jsonutils.dumps(ownership_records.write(data, wanted))
            done = session.execute(update(_POLICIES).where(here, is_as_read).values(data=text))
        if done.rowcount:
            return
    raise AffinityError('what the policy notes of server groups could not be stored')


def is_deleted(policy: str) -> bool:
    """Check whether the policy does not exist any more."""
    with database.session_for_read() as session:
        return (
            session.execute(select(_POLICIES.c.id).where(_POLICIES.c.id == policy)).first() is None
        )


def intent_recorder(cluster: str, policy: str) -> Callable[[str | None], None]:
    """Return a function that records a name before Nova creates the group; None removes it."""

    def record(name: str | None) -> None:
        def edit(known: tuple[Record, ...]) -> Iterator[Record]:
            yield from (each for each in known if (each.cluster, each.kind) != (cluster, CREATING))
            if name is not None:
                yield Record(cluster, CREATING, name)

        edit_records(policy, edit)

    return record


def group_recorder(cluster: str, policy: str, kind: str = MADE) -> Callable[[str], None]:
    """Return a function that records the id of a created group, in place of its name."""

    def remember(group_id: str) -> None:
        def edit(records: tuple[Record, ...]) -> Iterator[Record]:
            for record in records:
                is_replaced = record.kind == CREATING or record.group == group_id
                if record.cluster != cluster or not is_replaced:
                    yield record
            yield Record(cluster, kind, group_id)

        edit_records(policy, edit)

    return remember


def releaser(cluster: Any, policy: str) -> Callable[[str], None]:
    """Return a function that removes a cluster from the users of a group that stays.

    It deletes the binding, so that other engines do not see it before the engine deletes it. It
    also records the group, unless another binding owns it.
    """

    def leave(group_id: str) -> None:
        is_bound = read(cluster.project).has_binding(group_id, (cluster.id, policy))
        if not is_bound:
            group_recorder(cluster.id, policy)(group_id)
        delete_records(
            cluster.project,
            lambda record: (
                (record.cluster, record.group) == (cluster.id, group_id)
                and (is_bound or record.kind != MADE)
            ),
        )
        binding_object.ClusterPolicy.delete(get_admin_context(), cluster.id, policy)

    return leave


def delete_records(project: str, is_over: Callable[[Record], bool]) -> None:
    """Remove the matching records from all policies of the project."""
    for policy, known in read(project).records.items():
        if any(map(is_over, known)):
            edit_records(policy, lambda found: itertools.filterfalse(is_over, found))


def prune_records(project: str, policy: str, but: str | None = None) -> None:
    """Remove a policy's records that bindings replace, except bindings of cluster ``but``."""
    found = read(project).bound
    bound = [each for each in found if each.binding.is_ours and each.cluster != but]
    held = {(each.cluster, each.binding.servergroup_id) for each in bound}
    attached = {each.cluster for each in bound if each.policy == policy}

    def is_replaced(record: Record) -> bool:
        if record.kind == CREATING:
            return record.cluster in attached
        return (record.cluster, record.group) in held

    edit_records(policy, lambda found: itertools.filterfalse(is_replaced, found))


def is_running(cluster: str, action: str) -> bool:
    """Check whether an action of this kind holds the lock of a cluster."""
    found = (action_object.Action.get(get_admin_context(), each) for each in lock_holders(cluster))
    return any(each is not None and each.action == action for each in found)


def _is_attaching(cluster: str) -> bool:
    return is_running(cluster, consts.CLUSTER_ATTACH_POLICY)


def lock_holders(cluster: str) -> tuple[str, ...]:
    """Return the ids of the actions that hold the lock of a cluster or a group."""
    with database.session_for_read() as session:
        lock = session.query(models.ClusterLock).get(cluster)
        return () if lock is None else tuple(lock.action_ids)


def lock_name(cluster: Any, name: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a name, so that only one of several attaches creates its group."""
    other = f"another policy that attaches to server group '{name}'"
    return lock_group(cluster.id, lock_id(cluster.project, name), other)


def lock_id(project: str, name: str) -> str:
    """Return the id under which the name of a server group is locked."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f'{project} {name}'))


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
            break  # the action ended without releasing the lock
        if time.monotonic() > end:
            words = other or f'another policy that leaves server group {group_id}'
            raise AffinityError(f'{words} is not done with it: try again')
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        cluster_lock.ClusterLock.release(group_id, holder, _WHOLE)
