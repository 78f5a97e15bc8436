"""Who uses which server group, and who made it: the bindings and the notes of one project.

Data flow: rows of Senlin's database come in; what is noted goes into the ``data`` of the policy
that notes it, and of no other. A row is written only as it was read: of two engines that note
something at once, the second reads again.

Source: Senlin 16.0.0, ``db/sqlalchemy``. Its table of cluster locks takes any id: a group's is
locked under its own, held by the action that holds the cluster, so that Senlin frees it with the
locks of a dead engine.
"""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_db.exception import DBError
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

from senlin_affinity.core import errors
from senlin_affinity.core.errors import AffinityError, BindingError, InvalidSpec
from senlin_affinity.policy import binding, ledger, notes, profile
from senlin_affinity.policy.ledger import Bound, Ledger
from senlin_affinity.policy.notes import CREATING, MADE, Note

#: The policies, with their data as they are stored.
_POLICIES = table('policy', column('id'), column('project'), column('data', Text))
_TRIES = 20
#: The pause before a lock is asked for again, in seconds.
_PAUSE = 0.2
_WHOLE = -1  # Senlin's scope of a lock that nobody shares
_OVER = (consts.ACTION_SUCCEEDED, consts.ACTION_FAILED, consts.ACTION_CANCELLED)


def in_words(error: Exception) -> str:
    """An error for the user; what a database says, statements and all, is for the log."""
    if isinstance(error, DBError | SQLAlchemyError):
        return f"Senlin's database failed ({type(error).__name__}): try again"
    return errors.in_words(error)


def read(project: str) -> Ledger:
    """What stands in the database of a project now."""
    with database.session_for_read() as session:
        clusters: dict[str, str] = {}
        kept: list[Note] = []
        for each in session.query(models.Cluster).filter_by(project=project):
            clusters[each.id] = each.name
            kept.extend(ledger.kept(each.id, each.data))
        rows = (
            session.query(models.ClusterPolicies, models.Policy)
            .join(models.Policy, models.Policy.id == models.ClusterPolicies.policy_id)
            .join(models.Cluster, models.Cluster.id == models.ClusterPolicies.cluster_id)
            .filter(models.Cluster.project == project)
        )
        bound = []
        for row, policy in rows:
            with contextlib.suppress(BindingError):  # it holds no group
                if (held := binding.read(row.data)) is not None:
                    names = (clusters[row.cluster_id], row.policy_id, policy.name, policy.type)
                    bound.append(Bound(row.cluster_id, *names, bool(row.enabled), held))
        noting = _POLICIES.c.data.contains(notes.KEY)
        rows = session.execute(select(_POLICIES).where(_POLICIES.c.project == project, noting))
        found = {row.id: notes.read(jsonutils.loads(row.data)) for row in rows}
        return Ledger(clusters, tuple(bound), found, tuple(kept), _is_attaching)


def hints(project: str) -> set[str]:
    """The groups that the profiles of clusters name, by name or id: their servers need them."""
    found = set()
    with database.session_for_read() as session:
        here = models.Cluster.profile_id == models.Profile.id
        query = session.query(models.Profile).join(models.Cluster, here)
        for each in query.filter(models.Cluster.project == project):
            with contextlib.suppress(InvalidSpec):
                found.add(profile.group_hint(each.spec) or '')
    return found


def rival(cluster: str, policy: str, group_id: str) -> str | None:
    """Why a cluster has two policies with a group each, of which a node can join one."""
    for other in binding_object.ClusterPolicy.get_all(get_admin_context(), cluster):
        if not other.enabled or other.policy_id == policy:
            continue
        with contextlib.suppress(BindingError):
            held = binding.read(other.data)
            if held is not None and held.servergroup_id != group_id:
                return (
                    f'the cluster has another affinity policy, {other.policy.name} '
                    f'({other.policy.type}), with another server group, {held.servergroup_id}: '
                    'detach or disable one of them'
                )
    return None


def change(policy: str, edit: Callable[[tuple[Note, ...]], Iterable[Note]]) -> None:
    """Edit the notes of a policy; nothing is written where they stay as they are."""
    here = _POLICIES.c.id == policy
    for _ in range(_TRIES):
        with database.session_for_write() as session:
            row = session.execute(select(_POLICIES.c.data).where(here)).first()
            data = None if row is None else jsonutils.loads(row.data or 'null')
            known = notes.read(data)
            wanted = tuple(dict.fromkeys(edit(known)))
            if row is None or wanted == known:
                return
            is_as_read = _POLICIES.c.data == row.data  # NULL as well
            text = jsonutils.dumps(notes.write(data, wanted))
            done = session.execute(update(_POLICIES).where(here, is_as_read).values(data=text))
        if done.rowcount:
            return
    raise AffinityError('what the policy notes of server groups could not be stored')


def noting(cluster: str, policy: str) -> Callable[[str | None], None]:
    """A function that notes the name of a group which Nova is about to be asked for; None: none."""

    def note(name: str | None) -> None:
        def edit(known: tuple[Note, ...]) -> Iterator[Note]:
            yield from (each for each in known if (each.cluster, each.kind) != (cluster, CREATING))
            if name is not None:
                yield Note(cluster, CREATING, name)

        change(policy, edit)

    return note


def remembering(cluster: str, policy: str, kind: str = MADE) -> Callable[[str], None]:
    """A function that notes the id of a group that a policy made, in place of its name."""

    def remember(group_id: str) -> None:
        def edit(known: tuple[Note, ...]) -> Iterator[Note]:
            for note in known:
                is_replaced = note.kind == CREATING or note.group == group_id
                if note.cluster != cluster or not is_replaced:
                    yield note
            yield Note(cluster, kind, group_id)

        change(policy, edit)

    return remember


def leaving(cluster: Any, policy: str) -> Callable[[str], None]:
    """A function that takes a cluster out of the users of a group, which stays behind.

    The engine takes the binding away in a moment; whoever looks before that must not see it.
    The group is noted, unless another binding says that a policy made it.
    """

    def leave(group_id: str) -> None:
        is_bound = read(cluster.project).is_bound(group_id, (cluster.id, policy))
        if not is_bound:
            remembering(cluster.id, policy)(group_id)
        forget(
            cluster.project,
            lambda note: (
                (note.cluster, note.group) == (cluster.id, group_id)
                and (is_bound or note.kind != MADE)
            ),
        )
        binding_object.ClusterPolicy.delete(get_admin_context(), cluster.id, policy)

    return leave


def forget(project: str, is_over: Callable[[Note], bool]) -> None:
    """Take what is over out of the notes of all policies of the project."""
    for policy, known in read(project).notes.items():
        if any(map(is_over, known)):
            change(policy, lambda found: itertools.filterfalse(is_over, found))


def settle(project: str, policy: str, but: str | None = None) -> None:
    """Take out of a policy's notes what a binding says by now, but that of one cluster."""
    found = read(project).bound
    bound = [each for each in found if each.binding.is_ours and each.cluster != but]
    held = {(each.cluster, each.binding.servergroup_id) for each in bound}
    attached = {each.cluster for each in bound if each.policy == policy}

    def is_said(note: Note) -> bool:
        if note.kind == CREATING:
            return note.cluster in attached
        return (note.cluster, note.group) in held

    change(policy, lambda found: itertools.filterfalse(is_said, found))


def is_running(cluster: str, action: str) -> bool:
    """Is this the action that holds the lock of a cluster?"""
    found = (action_object.Action.get(get_admin_context(), each) for each in holders(cluster))
    return any(each is not None and each.action == action for each in found)


def _is_attaching(cluster: str) -> bool:
    return is_running(cluster, consts.CLUSTER_ATTACH_POLICY)


def holders(cluster: str) -> tuple[str, ...]:
    """The ids of the actions that hold the lock of a cluster, or of a group."""
    with database.session_for_read() as session:
        lock = session.query(models.ClusterLock).get(cluster)
        return () if lock is None else tuple(lock.action_ids)


def alone_with(cluster: Any, name: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a name, so that of several attaches that need its group one creates it."""
    key = str(uuid.uuid5(uuid.NAMESPACE_OID, f'{cluster.project} {name}'))
    return alone(cluster.id, key, f"another policy that attaches to server group '{name}'")


@contextlib.contextmanager
def alone(cluster: str, group_id: str, other: str = '') -> Iterator[None]:
    """Hold the group's lock, so that of several policies that leave it one does so at a time."""
    holder = (*holders(cluster), cluster)[0]
    end = time.monotonic() + cfg.CONF.affinity.request_timeout
    while holder not in (owners := cluster_lock.ClusterLock.acquire(group_id, holder, _WHOLE)):
        action = action_object.Action.get(get_admin_context(), owners[0])
        if action is not None and action.status in _OVER:  # it died before it let go
            cluster_lock.ClusterLock.steal(group_id, holder)
            break
        if time.monotonic() > end:
            words = other or f'another policy that leaves server group {group_id}'
            raise AffinityError(f'{words} is not done with it: try again')
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        cluster_lock.ClusterLock.release(group_id, holder, _WHOLE)
