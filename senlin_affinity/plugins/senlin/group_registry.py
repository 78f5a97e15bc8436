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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
from sqlalchemy import DateTime, Text, and_, column, func, or_, select, table, update
from sqlalchemy.exc import SQLAlchemyError

from senlin_affinity.groups.attachment import cluster_of
from senlin_affinity.groups.audit import FOREIGN
from senlin_affinity.groups.steps import GroupUser, Leave, Use
from senlin_affinity.model import errors
from senlin_affinity.model.errors import AffinityError, BindingError, InvalidSpec
from senlin_affinity.policy import profile, properties
from senlin_affinity.policy.senlin_data import CLUSTER_KEY, KEPT, Binding, kept_group

#: Senlin stores lists and mappings as JSON text.
_LOCKS = table('cluster_lock', column('cluster_id'), column('action_ids', Text))
_ACTIONS = table(
    'action',
    *map(column, ('target', 'action', 'status', 'owner')),
    column('inputs', Text),
)
_CLUSTERS = table(
    'cluster',
    *map(column, ('id', 'name', 'project', 'profile_id')),
    column('created_at', DateTime),
    column('data', Text),
)
_PROFILES = table('profile', *map(column, ('id', 'name', 'project')), column('spec', Text))
_POLICIES = table('policy', *map(column, ('id', 'type')), column('spec', Text))
_BINDINGS = table(
    'cluster_policy', *map(column, ('id', 'cluster_id', 'policy_id')), column('data', Text)
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


def is_defect(error: BaseException) -> bool:
    """Check whether the error is a defect of code, whose traceback belongs in the log."""
    return errors.is_defect(error) and not is_outage(error)


def in_words(error: Exception) -> str:
    """Return an error in one line for the user, without the SQL statement that failed."""
    if is_outage(error):
        return f"Senlin's database failed ({type(error).__name__}): try again"
    return errors.in_words(error)


def read_use(cluster: Any, policy: str, group_id: str, name: str | None, prefix: str) -> Use:
    """Read the users of a group in all projects, except this cluster with this policy.

    A name in a profile or a policy of another project means a group of that project.
    """
    sought = _Sought(group_id, name, cluster.project)
    with database.session_for_read() as session:
        return Use(
            tuple(_users(session, sought, (cluster.id, policy))),
            tuple(_keepers(session, sought, cluster.id)),
            tuple(_hinting(session, sought)),
            tuple(sorted(set(_attaching(session, sought, cluster.id)))),
            has_cluster=_has_cluster(session, cluster_of(name or '', prefix)),
        )


@dataclass(frozen=True)
class _Sought:
    """A group whose users are read for a cluster of a project.

    The queries select the rows whose JSON text has the id or the name of the group; Python compares
    the parsed values of these rows.
    """

    group_id: str
    name: str | None
    project: str

    def shown(self, row: Any) -> str:
        """Return the name of the row's object, or that it belongs to another project."""
        return str(row.name) if row.project == self.project else FOREIGN

    def is_named(self, word: str | None, project: str) -> bool:
        """Check whether a word in an object of a project is the id or the name of the group."""
        by_name = self.name is not None and project == self.project and word == self.name
        return word is not None and (by_name or word.lower() == self.group_id)

    def is_in(self, stored: Any) -> Any:
        """Return the condition that the text in a column has the id of the group."""
        return _contains(stored, self.group_id)

    def is_hinted_in(self, stored: Any, project: Any) -> Any:
        """Return the condition for hints with the id in any case, or, in the project, the name."""
        is_named = _contains(func.lower(stored), self.group_id.lower())
        if self.name is not None:
            by_name = and_(project == self.project, _contains(stored, self.name))
            is_named = or_(by_name, is_named)
        return and_(_contains(stored, 'scheduler_hints'), is_named)


def _contains(stored: Any, word: str) -> Any:
    """Return the condition that the JSON in a column has a word, in which 'é' is '\\u00e9'."""
    return stored.contains(jsonutils.dumps(word)[1:-1], autoescape=True)


def _loaded(text: str | None) -> Any:
    return None if text is None else jsonutils.loads(text)


def _by_age(rows: Iterable[Any]) -> list[Any]:
    """Return the rows in the order in which their clusters were created."""
    return sorted(rows, key=lambda row: (str(row.created_at), row.cluster_id, row.id))


def _users(session: Any, sought: _Sought, own: tuple[str, str]) -> Iterator[GroupUser]:
    """Yield the bindings to the group, except the own one."""
    query = (
        select(_BINDINGS, _CLUSTERS.c.name, _CLUSTERS.c.project, _CLUSTERS.c.created_at)
        .add_columns(_POLICIES.c.type)
        .join(_CLUSTERS, _CLUSTERS.c.id == _BINDINGS.c.cluster_id)
        .outerjoin(_POLICIES, _POLICIES.c.id == _BINDINGS.c.policy_id)
        .where(sought.is_in(_BINDINGS.c.data))
    )
    for row in _by_age(session.execute(query)):
        held = None
        with contextlib.suppress(BindingError):
            held = Binding.read(_loaded(row.data))
        is_own = (row.cluster_id, row.policy_id) == own
        if held is not None and held.servergroup_id == sought.group_id and not is_own:
            yield GroupUser(
                row.cluster_id,
                sought.shown(row),
                row.policy_id,
                is_owner=not held.is_inherited,
                may_own=row.project == sought.project and _is_served(row.type),
            )


def _keepers(session: Any, sought: _Sought, own: str) -> Iterator[str]:
    """Yield the names of the other clusters that keep the group."""
    query = select(_CLUSTERS, _CLUSTERS.c.id.label('cluster_id'))
    for row in _by_age(session.execute(query.where(sought.is_in(_CLUSTERS.c.data)))):
        if row.id != own and kept_group(_loaded(row.data)) == sought.group_id:
            yield sought.shown(row)


def _hinting(session: Any, sought: _Sought) -> Iterator[str]:
    """Yield the names of the profiles that name the group in their scheduler hints."""
    is_found = sought.is_hinted_in(_PROFILES.c.spec, _PROFILES.c.project)
    for row in session.execute(select(_PROFILES).where(is_found)):
        if sought.is_named(_hint(row.spec), row.project):
            yield sought.shown(row)


def _attaching(session: Any, sought: _Sought, own: str) -> Iterator[str]:
    """Yield the names of the other clusters to which a policy is being attached that may use it."""
    query = (
        select(_ACTIONS, _CLUSTERS.c.name, _CLUSTERS.c.project, _CLUSTERS.c.data)
        .add_columns(_PROFILES.c.spec)
        .join(_CLUSTERS, _CLUSTERS.c.id == _ACTIONS.c.target)
        .outerjoin(_PROFILES, _PROFILES.c.id == _CLUSTERS.c.profile_id)
        .where(_ACTIONS.c.action == consts.CLUSTER_ATTACH_POLICY, _CLUSTERS.c.id != own)
        .where(_ACTIONS.c.status == consts.ACTION_RUNNING)
    )
    rows = [(jsonutils.loads(row.inputs).get('policy_id'), row) for row in session.execute(query)]
    named = _POLICIES.c.id.in_(sorted({str(key) for key, _row in rows}))
    policies = session.execute(select(_POLICIES).where(named)) if rows else ()
    names = {each.id: properties.group_name(_loaded(each.spec)) for each in policies}
    for key, row in rows:
        words = (names.get(key), _hint(row.spec))
        is_user = any(sought.is_named(word, row.project) for word in words)
        may_use = is_user or kept_group(_loaded(row.data)) == sought.group_id
        if key in names and may_use and not _is_dead(row.owner):
            yield sought.shown(row)


def _has_cluster(session: Any, cluster: str | None) -> bool:
    """Check whether a cluster exists; True for None."""
    ids = select(_CLUSTERS.c.id).where(_CLUSTERS.c.id == cluster)
    return cluster is None or cluster in session.execute(ids).scalars()


def _is_served(kind: str | None) -> bool:
    """Check whether our class, and not Senlin's own, serves policies of a type; None: deleted."""
    is_old = kind in (None, f'{properties.TYPE}-1.0')
    return not is_old or bool(cfg.CONF.affinity.serve_version_1_0)


def _is_dead(owner: str | None) -> bool:
    """Check whether the engine of a running action is dead, as Senlin's locks do."""
    return owner is not None and bool(utils.is_service_dead(get_admin_context(), owner))


def _hint(spec: str | None) -> str | None:
    """Return the server group in the text of a profile's spec; None without a valid one."""
    with contextlib.suppress(InvalidSpec):
        return profile.group_hint(_loaded(spec) or {})
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
            held = None if row is None else Binding.read(row.data)
            if row is None or held is None or held.servergroup_id != effect.group_id:
                raise AffinityError(f'cluster {heir.cluster_name} left the group: try again')
            row.data = replace(held, is_inherited=False).data()
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
