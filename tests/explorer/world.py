"""A model of Nova, Senlin's database and Senlin's own steps: plain values, and no I/O.

A world is everything that outlives an engine. :func:`perform` answers one effect of a step of the
package (``groups.steps``); :func:`violations` and :func:`leaks` are the invariants.

Units: servers are named after their cluster; the server ``s-x`` belongs to no cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from senlin_affinity.groups import steps
from senlin_affinity.groups.attachment import Attach, cluster_of
from senlin_affinity.groups.steps import GroupUser, Leave, Use
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.policy.group_lookup import is_uuid
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding
from tests.support.values import replace


def uid(number: int) -> str:
    """Return a UUID."""
    return f'{number:08x}-0000-4000-8000-000000000000'


@dataclass(frozen=True)
class Cluster:
    """A cluster; ``hint`` is the group that its profile names, ``kept`` the group that it keeps."""

    id: str
    project: str = 'p'
    hint: str | None = None
    kept: str | None = None


@dataclass(frozen=True)
class Policy:
    """A policy, and the group that its spec names."""

    id: str
    name: str | None = None
    project: str = 'p'
    on_detach: str = 'delete'


@dataclass(frozen=True)
class Bound:
    """A row of the table of bindings."""

    cluster: str
    policy: str
    group: str
    is_owner: bool = False


@dataclass(frozen=True)
class Database:
    """Senlin's rows; ``hints`` are the groups that profiles of project p name, used or not."""

    clusters: tuple[Cluster, ...]
    policies: tuple[Policy, ...]
    bound: tuple[Bound, ...] = ()
    hints: tuple[str, ...] = ()

    def cluster(self, key: str) -> Cluster | None:
        return next((each for each in self.clusters if each.id == key), None)

    def policy(self, key: str) -> Policy | None:
        return next((each for each in self.policies if each.id == key), None)

    def binding(self, cluster: str, policy: str) -> Bound | None:
        found = (each for each in self.bound if (each.cluster, each.policy) == (cluster, policy))
        return next(found, None)

    def with_cluster(self, changed: Cluster) -> Database:
        rows = tuple(changed if each.id == changed.id else each for each in self.clusters)
        return replace(self, clusters=rows)

    def without(self, cluster: str, policy: str) -> Database:
        rows = (each for each in self.bound if (each.cluster, each.policy) != (cluster, policy))
        return replace(self, bound=tuple(rows))

    def refers(self, cluster: Cluster, group: ServerGroup) -> bool:
        """Return whether the profile of a cluster names the group."""
        by_name = cluster.project == group.project_id and cluster.hint == group.name
        return by_name or cluster.hint == group.id


@dataclass(frozen=True)
class World:
    """The state outside of the engines.

    ``ours`` are the ids of groups that a policy created, ``removed`` those that one deleted.
    ``reported`` are names and ids that the owner of a cluster has read. ``locks`` are pairs of a
    key and the number of the task that holds it.
    """

    groups: tuple[ServerGroup, ...]
    database: Database
    ours: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()
    locks: tuple[tuple[str, int], ...] = ()
    made: int = 100

    def group(self, key: str) -> ServerGroup | None:
        return next((each for each in self.groups if each.id == key), None)

    def with_group(self, name: str, project: str, *, is_ours: bool) -> World:
        """Create a group; its user is that of the project."""
        new = ServerGroup(uid(self.made), name, 'anti-affinity', {}, (), project, f'u-{project}')
        ours = self.ours | {new.id} if is_ours else self.ours
        return replace(self, groups=(*self.groups, new), ours=ours, made=self.made + 1)

    def without_group(self, key: str) -> World:
        return replace(self, groups=tuple(each for each in self.groups if each.id != key))


@dataclass(frozen=True)
class Actor:
    """A cluster with a policy, on whose behalf an effect is performed."""

    cluster: Cluster
    policy: Policy


@dataclass(frozen=True)
class Checks:
    """Protections of the model that a test can switch off."""

    locks_names: bool = True
    locks_groups: bool = True
    reads_all_projects: bool = True


def operation(actor: Actor) -> Attach:
    """Return the attach of a policy to a cluster."""
    cluster = actor.cluster
    wanted = PolicySpec('1.1', actor.policy.name)
    return Attach(
        cluster.id, wanted, cluster.hint, cluster.kept, cluster.project, f'u-{cluster.project}'
    )


def perform(
    world: World, effect: Any, actor: Actor, attaching: tuple[Actor, ...], checks: Checks
) -> tuple[World, Any]:
    """Return the world after an effect, and its answer."""
    database, cluster = world.database, actor.cluster
    match effect:
        case steps.GetGroup(key):
            return world, world.group(key)
        case steps.SearchGroups(name):
            own = (each for each in world.groups if each.project_id == cluster.project)
            return world, tuple(each for each in own if name in (None, each.name))
        case steps.CreateGroup(name):
            world = world.with_group(name, cluster.project, is_ours=True)
            return world, world.groups[-1]
        case steps.DeleteGroup(key):
            is_there = world.group(key) is not None
            removed = world.removed | {key} if is_there else world.removed
            return replace(world.without_group(key), removed=removed), is_there
        case steps.ReadBinding():
            row = database.binding(cluster.id, actor.policy.id)
            return world, None if row is None else Binding(row.group, not row.is_owner)
        case steps.ReadUse(key, name):
            return world, _use(world, key, name, actor, attaching, checks)
        case steps.ReadKeep():
            return world, actor.policy.on_detach == 'keep'
        case steps.Announce(name):
            return replace(world, reported=world.reported | {name}), None
        case Leave():
            return replace(world, database=_left(database, effect, actor)), None
    return world, None


def _use(
    world: World,
    key: str,
    name: str | None,
    actor: Actor,
    attaching: tuple[Actor, ...],
    checks: Checks,
) -> Use:
    database, own = world.database, actor.cluster
    visible = [
        each
        for each in database.clusters
        if checks.reads_all_projects or each.project == own.project
    ]
    users = tuple(
        GroupUser(each.id, each.id, row.policy, row.is_owner, each.project == own.project)
        for each in visible
        for row in database.bound
        if row.cluster == each.id
        and row.group == key
        and (row.cluster, row.policy) != (own.id, actor.policy.id)
    )

    def refers(cluster: Cluster, word: str | None) -> bool:
        return word is not None and (
            word == key or (cluster.project == own.project and word == name)
        )

    named_after = cluster_of(name or '')
    return Use(
        users,
        tuple(each.id for each in visible if each.kept == key and each.id != own.id),
        tuple(each for each in database.hints if each in (key, name) and own.project == 'p'),
        tuple(
            cluster.id
            for each in attaching
            if database.policy(each.policy.id) is not None
            for cluster in visible
            if cluster.id == each.cluster.id != own.id
            and (
                refers(cluster, each.policy.name)
                or refers(cluster, cluster.hint)
                or cluster.kept == key
            )
        ),
        frozenset({f's-{own.id}'}),
        has_cluster=named_after is None or database.cluster(named_after) is not None,
    )


def _left(database: Database, effect: Leave, actor: Actor) -> Database:
    database = database.without(actor.cluster.id, actor.policy.id)
    if effect.heir is not None:
        key = (effect.heir.cluster, effect.heir.policy)
        rows = tuple(
            replace(each, is_owner=True) if (each.cluster, each.policy) == key else each
            for each in database.bound
        )
        return replace(database, bound=rows)
    cluster = database.cluster(actor.cluster.id)
    if effect.is_kept and cluster is not None:
        return database.with_cluster(replace(cluster, kept=effect.group_id))
    return database


def violations(before: World, after: World, actor: Actor | None) -> list[str]:
    """Return the invariants that one step violates; ``actor`` is None for users and operators."""
    found = []
    for key in after.removed - before.removed:
        group = before.group(key)
        assert group is not None
        own = actor.cluster.id if actor else ''
        others = [each for each in before.database.clusters if each.id != own]
        foreign = {each.server for each in group.members} - {f's-{own}'}
        if key not in before.ours:
            found.append('a group that no policy created is deleted')
        if foreign:
            found.append('a group with servers of others is deleted')
        if any(row.group == key and row.cluster != own for row in before.database.bound):
            found.append('a group that another cluster uses is deleted')
        if any(each.kept == key or before.database.refers(each, group) for each in others):
            found.append('a group that a profile names or another cluster keeps is deleted')
    for group in after.groups:
        rows = [row for row in after.database.bound if row.group == group.id and row.is_owner]
        owners = {row.cluster for row in rows}
        owners |= {each.id for each in after.database.clusters if each.kept == group.id}
        if len(owners) > 1:
            found.append('a group has two owners')
        if rows and group.id not in after.ours:
            found.append('a policy owns a group that it did not create')
    return found


def wrongly_bound(world: World, key: str, actor: Actor | None) -> list[str]:
    """Return the violations of a binding that is being stored."""
    if key in world.removed:
        return ['a cluster is bound to a group that a policy deleted']
    group, found = world.group(key), []
    if group is not None and actor is not None:
        cluster = actor.cluster
        named = {actor.policy.name or f'senlin-affinity-{cluster.id}', cluster.hint, cluster.kept}
        if not named & {group.id, group.name} - {None}:
            found.append('a cluster is bound to a group that it does not name')
    return found


def leaks(world: World) -> list[str]:
    """Return the groups of ours that are not in use, not named after a cluster and not reported."""
    database, found = world.database, []
    for group in world.groups:
        is_used = any(row.group == group.id for row in database.bound) or any(
            each.kept == group.id or database.refers(each, group) for each in database.clusters
        )
        words = {group.id, group.name}
        is_reported = bool(words & world.reported) or any(
            policy.name in words for policy in database.policies
        )
        is_used = is_used or bool(words & {*database.hints})
        if group.id in world.ours and not (is_used or cluster_of(group.name) or is_reported):
            found.append(f'group {group.name} is leaked')
    return found


#: The actor of the command.
OPERATOR = Actor(Cluster('operator'), Policy('operator'))
#: A server of no cluster.
FOREIGN_SERVER = Member('s-x')
assert is_uuid(uid(1))
