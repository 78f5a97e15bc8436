"""Run every interleaving of two operations with at most one event, and find violated invariants.

A node of the search is a world, the tasks and the remaining event. The search is breadth-first, and
visits equal nodes once, so that the trace of a violation is the shortest. A task is an operation of
a cluster with a policy (attach, detach, cluster delete, hook), of an operator (delete orphans), or
a single write of a user.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from senlin_affinity.groups import detachment, steps
from senlin_affinity.groups.attachment import CREATED
from senlin_affinity.groups.audit import (
    BindingRecord,
    DeleteOrphan,
    GroupReferences,
    HasCluster,
    ReadUses,
)
from senlin_affinity.groups.detachment import CheckBound, Detach, Undo
from senlin_affinity.groups.steps import LockGroup, LockName
from senlin_affinity.policy.senlin_data import Binding, Refusal
from tests.explorer.replay import Done, Failure, State, advance, begin
from tests.explorer.world import (
    OPERATOR,
    Actor,
    Bound,
    Checks,
    Database,
    World,
    leaks,
    operation,
    perform,
    violations,
    wrongly_bound,
)
from tests.support.values import replace

#: Events, one of which may happen at any effect.
KILL, LOST, FOREIGN, STALE, OUTAGE, RESTORE = EVENTS = (
    'engine killed', 'answer lost after the effect', "another object's answer", 'stale list',
    'database failure', 'database restored from a backup',
)  # fmt: skip
STORED = 'the binding is stored'
_NOVA = (steps.GetGroup, steps.SearchGroups, steps.CreateGroup, steps.DeleteGroup)


@dataclass(frozen=True)
class Operation:
    """The name of an operation, and its cluster, policy, group or name."""

    name: str
    cluster: str = ''
    policy: str = ''
    word: str = ''

    def __str__(self) -> str:
        return ' '.join(filter(None, (self.name, self.cluster[:8], self.policy, self.word[:8])))


@dataclass(frozen=True)
class Task:
    """An operation in progress.

    ``stage`` is what comes next: ``begin``, ``steps``, ``check``, ``store`` or ``end``. ``group``
    is the group that an attach binds. ``waits_for`` are the other tasks at the time at which a step
    found them busy. ``left`` are the policies that a cluster delete must still detach.
    """

    operation: Operation
    stage: str = 'begin'
    actor: Actor | None = None
    state: State | None = None
    effect: Any = None
    group: str = ''
    is_owner: bool = False
    waits_for: tuple[Any, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A state of the search."""

    world: World
    tasks: tuple[Task, ...]
    event: str = ''


@dataclass(frozen=True)
class Found:
    """The number of states, and the shortest trace of each violation."""

    states: int
    traces: dict[str, tuple[str, ...]]


_cached_advance = functools.lru_cache(maxsize=200_000)(advance)


class Explorer:
    """The search from one start state."""

    def __init__(
        self,
        start: World,
        operations: tuple[Operation, ...],
        events: tuple[str, ...] = EVENTS,
        checks: Checks = Checks(),  # noqa: B008 - a value
    ) -> None:
        hints = tuple(each.word for each in operations if each.name == 'profile update')
        self._start = replace(start, database=replace(start.database, hints=hints))
        self._operations, self._events = operations, events
        self._checks = checks

    def run(self) -> Found:
        _cached_advance.cache_clear()  # a test may have replaced a function of the steps
        first = Node(self._start, tuple(map(Task, self._operations)))
        parents: dict[Node, tuple[Node | None, str]] = {first: (None, '')}
        queue, traces = deque([first]), {}
        while queue:
            node = queue.popleft()
            following = list(self._following(node))
            is_over = all(what == RESTORE for what, _, _ in following)
            problems = self._end(node) if is_over else []
            for what, after, found in following:
                if after not in parents:
                    parents[after] = (node, what)
                    queue.append(after)
                for each in found:
                    traces.setdefault(each, (*_trace(parents, node), what))
            for each in problems:
                traces.setdefault(each, _trace(parents, node))
        return Found(len(parents), traces)

    def _end(self, node: Node) -> list[str]:
        """Return the violations in a final node."""
        if any(task.stage != 'end' for task in node.tasks):
            return ['the operations wait for each other']
        found = leaks(node.world)
        names = [
            group.name
            for group in node.world.groups
            if group.id in node.world.ours and group.id not in self._start.ours
        ]
        kinds = {task.operation.name for task in node.tasks}
        if len(names) > len({*names}) and not node.event and kinds == {'attach'}:
            found.append('two attaches create two groups of one name')
        return found

    def _following(self, node: Node) -> Iterator[tuple[str, Node, list[str]]]:
        for number, task in enumerate(node.tasks):
            for what, world, after in self.moves(node, number, task):
                tasks = (*node.tasks[:number], after, *node.tasks[number + 1 :])
                if after.stage == 'end':
                    locks = tuple(each for each in world.locks if each[1] != number)
                    world = replace(world, locks=locks)
                event = node.event or next((each for each in self._events if each in what), '')
                found = violations(node.world, world, task.actor)
                if what == STORED:
                    found += wrongly_bound(world, task.group, task.actor)
                if after.group == 'not reported':
                    found.append('a hook does not report a missing group')
                if after.group == 'still there':
                    found.append('a detach reports a deletion that did not happen')
                yield f'{number}: {task.operation}: {what}', Node(world, tasks, event), found
        if not node.event and RESTORE in self._events and node.world is not self._start:
            world = replace(node.world, database=self._start.database, locks=())
            killed = (replace(each, stage='end') for each in node.tasks if each.stage != 'begin')
            waiting = (each for each in node.tasks if each.stage == 'begin')
            yield RESTORE, Node(world, (*killed, *waiting), RESTORE), []

    def moves(self, node: Node, number: int, task: Task) -> Iterator[tuple[str, World, Task]]:
        """Yield the possible next steps of a task."""
        world, ended = node.world, replace(task, stage='end')
        if task.stage == 'end':
            return
        if task.stage == 'begin':
            yield from self._begun(node, number, task)
            return
        if task.stage in ('check', 'store'):
            yield self._of_senlin(world, task)
            if not node.event and OUTAGE in self._events:
                yield OUTAGE, world, ended
        elif not self._is_blocked(node, number, task):
            yield from self._effects(node, number, task)
        if not node.event and KILL in self._events and task.actor is not None:
            yield KILL, world, ended

    def _begun(self, node: Node, number: int, task: Task) -> Iterator[tuple[str, World, Task]]:
        """Begin the operation; actions of one cluster wait for each other, a deletion does not."""
        asked, world = task.operation, node.world
        database, ended = world.database, replace(task, stage='end')
        if asked.name == 'user creates':
            project = asked.cluster or 'p'
            yield 'begin', world.with_group(asked.word, project, is_ours=False), ended
        elif asked.name == 'user deletes':
            yield 'begin', world.without_group(asked.word), ended
        elif asked.name == 'policy delete':
            rows = tuple(each for each in database.policies if each.id != asked.policy)
            is_bound = any(row.policy == asked.policy for row in database.bound)
            after = database if is_bound else replace(database, policies=rows)
            yield 'begin', replace(world, database=after), ended
        elif asked.name == 'profile update':
            cluster = database.cluster(asked.cluster)
            after = (
                database.with_cluster(replace(cluster, hint=asked.word)) if cluster else database
            )
            yield 'begin', replace(world, database=after), ended
        elif asked.name == 'delete orphans':
            yield 'begin', world, self._started(task, Command(asked.word), None)
        else:
            other = [each for each in node.tasks if each is not task]
            is_locked = any(
                each.operation.cluster == asked.cluster and each.stage not in ('begin', 'end')
                for each in other
            )
            if is_locked and asked.name != 'cluster delete':
                return
            yield 'begin', *self._action(world, task)

    def _action(self, world: World, task: Task) -> tuple[World, Task]:
        asked, database = task.operation, world.database
        cluster, ended = database.cluster(asked.cluster), replace(task, stage='end')
        if asked.name == 'cluster delete' and not task.left and cluster is not None:
            rows = (each.policy for each in database.bound if each.cluster == asked.cluster)
            task = replace(task, left=tuple(rows))
        key = task.left[0] if task.left else asked.policy
        policy = database.policy(key)
        if cluster is None:
            return world, ended
        if asked.name == 'cluster delete' and not task.left:
            return self._deleted(world, asked.cluster), ended
        if policy is None:
            return world, ended
        row = database.binding(asked.cluster, key)
        has_policy = any(each.cluster == asked.cluster for each in database.bound)
        if has_policy if asked.name == 'attach' else row is None:  # a second policy is rejected
            return world, ended
        actor = Actor(cluster, policy)
        if asked.name == 'hook':
            return world, self._started(task, CheckBound(row.group), actor)
        made = operation(actor) if asked.name == 'attach' else Detach()
        return world, self._started(task, made, actor)

    @staticmethod
    def _deleted(world: World, key: str) -> World:
        database = world.database
        clusters = tuple(each for each in database.clusters if each.id != key)
        bound = tuple(each for each in database.bound if each.cluster != key)
        return replace(world, database=replace(database, clusters=clusters, bound=bound))

    def _started(self, task: Task, made: Any, actor: Actor | None) -> Task:
        state, effect = begin(made)
        return replace(task, stage='steps', actor=actor, state=state, effect=effect)

    def _is_blocked(self, node: Node, number: int, task: Task) -> bool:
        others = tuple(each for each in node.tasks if each is not task)
        if task.waits_for and task.waits_for == others:
            return True
        key = _key(task.effect, self._checks)
        return any(held == key and holder != number for held, holder in node.world.locks)

    def _effects(self, node: Node, number: int, task: Task) -> Iterator[tuple[str, World, Task]]:
        """Perform the next effect, with and without an event."""
        world, effect = node.world, task.effect
        assert task.state is not None
        task = replace(task, waits_for=())
        if (key := _key(effect, self._checks)) is not None:
            locks = {*world.locks, (key, number)}
            after = replace(world, locks=tuple(sorted(locks)))
            yield from self._answered(node, number, after, task, None, str(effect))
            return
        actor = task.actor or OPERATOR
        is_deleted = any(
            (each.operation.name, each.operation.cluster) == ('cluster delete', actor.cluster.id)
            and each.stage not in ('begin', 'end')
            for each in node.tasks
        )
        if is_deleted:  # it keeps no group for another policy
            actor = replace(actor, policy=replace(actor.policy, on_detach='delete'))
        attaching = tuple(
            each.actor
            for each in node.tasks
            if each is not task
            and each.actor is not None
            and each.operation.name == 'attach'
            and each.stage in ('steps', 'check', 'store')
            and each.operation != task.operation
        )
        if isinstance(effect, ReadUses):
            after, answer = world, _uses(world, attaching)
        elif isinstance(effect, HasCluster):
            after, answer = world, world.database.cluster(effect.cluster) is not None
        else:
            after, answer = perform(world, effect, actor, attaching, self._checks)
        yield from self._answered(node, number, after, task, answer, str(effect))
        if node.event:
            return
        is_of_nova = isinstance(effect, _NOVA)
        if LOST in self._events and is_of_nova:
            failure = Failure('lost', isinstance(effect, steps.CreateGroup | steps.DeleteGroup))
            yield from self._answered(node, number, after, task, failure, f'{effect} {LOST}')
        if OUTAGE in self._events and not is_of_nova and task.actor is not None:
            yield from self._answered(
                node, number, world, task, Failure(OUTAGE), f'{effect} {OUTAGE}'
            )
        if STALE in self._events and isinstance(effect, steps.SearchGroups):
            _, old = perform(self._start, effect, actor, (), self._checks)
            yield from self._answered(node, number, world, task, old, f'{effect} {STALE}')
        if STALE in self._events and isinstance(effect, ReadUses):
            old = _uses(replace(self._start, database=Database((), ())), ())
            yield from self._answered(node, number, world, task, old, f'{effect} {STALE}')
        if FOREIGN in self._events:
            for then, wrong in _foreign(world, after, effect, answer):
                yield from self._answered(node, number, then, task, wrong, f'{effect} {FOREIGN}')

    def _answered(
        self, node: Node, number: int, world: World, task: Task, answer: Any, what: str
    ) -> Iterator[tuple[str, World, Task]]:
        state, effect = _cached_advance(task.state, answer)
        task = replace(task, state=state, effect=effect)
        if not isinstance(effect, Done):
            yield what, world, task
            return
        locks = tuple(each for each in world.locks if each[1] != number)
        world, outcome = replace(world, locks=locks), effect.outcome
        if effect.is_busy:
            others = (*node.tasks[:number], *node.tasks[number + 1 :])
            again, first = begin(state.operation)
            yield f'{what}: busy', world, replace(task, state=again, effect=first, waits_for=others)
        elif effect.error:
            yield f'{what}: {effect.error}', world, replace(task, stage='end')
        elif isinstance(outcome, detachment.Detached):
            is_false = outcome.deleted is not None and world.group(outcome.deleted) is not None
            words = {outcome.released} - {None}
            world = replace(world, reported=world.reported | words)
            yield f'{what}: {outcome.message}', world, self._detached(task, is_false)
        elif isinstance(outcome, Refusal) or task.operation.name in ('hook', 'delete orphans'):
            is_hook = isinstance(state.operation, CheckBound) and not node.event
            is_silent = (
                is_hook and outcome is None and world.group(state.operation.group_id) is None
            )
            group = 'not reported' if is_silent else ''
            yield f'{what}: {outcome}', world, replace(task, stage='end', group=group)
        else:
            words = {outcome.group.id} if outcome.is_in_doubt else set()
            world = replace(world, reported=world.reported | words)
            bound = replace(
                task,
                stage='check',
                group=outcome.group.id,
                is_owner=not outcome.binding.is_inherited,
                left=(outcome.how,),
            )
            yield f'{what}: {outcome.how}', world, bound

    @staticmethod
    def _detached(task: Task, is_false: bool) -> Task:
        is_undo = isinstance(task.state.operation, Undo)
        group = 'still there' if is_false else ''
        return replace(task, stage='end' if is_undo else 'store', group=group)

    def _of_senlin(self, world: World, task: Task) -> tuple[str, World, Task]:
        """Perform what the policy does after its step, and what Senlin stores."""
        actor, database, ended = task.actor, world.database, replace(task, stage='end')
        assert actor is not None
        key = (actor.cluster.id, actor.policy.id)
        if task.stage == 'check':
            if database.policy(key[1]) is not None:
                return 'the policy exists', world, replace(task, stage='store')
            if task.left == (CREATED,):
                return 'the policy is gone', world, self._started(task, Undo(task.group), actor)
            return 'the policy is gone', world, ended
        if task.operation.name == 'attach':
            cluster, policy = database.cluster(key[0]), database.policy(key[1])
            if cluster is None or policy is None:  # the foreign keys of the table
                return 'the binding is not stored', world, ended
            row = Bound(*key, task.group, task.is_owner)
            database = replace(database, bound=tuple(sorted({*database.bound, row}, key=str)))
            database = database.with_cluster(replace(cluster, kept=None))
            return STORED, replace(world, database=database), ended
        world = replace(world, database=database.without(*key))
        if task.operation.name == 'cluster delete':
            rest = replace(task, left=task.left[1:], stage='begin')
            if not rest.left:
                return 'the cluster is deleted', self._deleted(world, key[0]), ended
            return 'the binding is removed', *self._action(world, rest)
        return 'the binding is removed', world, ended


@dataclass(frozen=True)
class Command:
    """The command that deletes orphans: it reads, asks its user, and reads again."""

    group_id: str

    def step(self) -> steps.Step[Any]:
        asked = DeleteOrphan(self.group_id)
        return (yield from asked.step()) if (yield from asked.still_orphan()) else None


def _uses(world: World, attaching: tuple[Actor, ...]) -> GroupReferences:
    """Return what Senlin's API shows an administrator."""
    database = world.database
    bound = (
        BindingRecord(
            row.cluster, row.cluster, row.policy, '', '', True, Binding(row.group, not row.is_owner)
        )
        for row in database.bound
    )
    return GroupReferences(
        {each.id: each.id for each in database.clusters},
        tuple(bound),
        {each.id: each.kept for each in database.clusters if each.kept},
        frozenset({*database.hints, *(each.hint for each in database.clusters if each.hint)}),
        frozenset(each.name for each in database.policies if each.name),
        frozenset(each.policy.name for each in attaching if each.policy.name),
    )


def _foreign(world: World, after: World, effect: Any, answer: Any) -> Iterator[tuple[World, Any]]:
    """Yield the possible answers that belong to another request, each with the resulting world."""
    match effect:
        case steps.GetGroup(key):
            yield after, None
            yield from ((after, each) for each in world.groups if each.id != key)
        case steps.SearchGroups(name):
            yield after, tuple(each for each in world.groups if each.name != name)
        case steps.CreateGroup(name):
            yield from ((after, each) for each in world.groups if each.name != name)
        case steps.DeleteGroup():
            yield world, True
        case HasCluster():
            yield after, not answer


def _trace(parents: dict[Node, tuple[Node | None, str]], node: Node) -> tuple[str, ...]:
    words: list[str] = []
    at: Node | None = node
    while at is not None:
        at, what = parents[at]
        words.append(what)
    return tuple(reversed(words[:-1]))


def _key(effect: Any, checks: Checks) -> str | None:
    """Return the key that an effect locks."""
    if isinstance(effect, LockName) and checks.locks_names:
        return f'name {effect.name}'
    if isinstance(effect, LockGroup) and checks.locks_groups:
        return effect.group_id
    return None
