"""Replay random traces of the explorer on Senlin's conductor, engine and database.

The traces show that the explorer's model behaves like Senlin and the driver. Two operations run at
a time. The model makes each move first; then the operation of the engine, a greenlet, continues to
the same place. The answers must agree after each effect, and all rows and groups after each
operation.

Run: ``python -m tests.engine.group_replay 100``, in a separate process, because the conductor
imports eventlet's service framework. ``make soak`` replays 2,000 traces, ``make test-services``
100.
"""

import random
import sys
import uuid
from contextlib import suppress

import greenlet
import pytest
from oslo_messaging.rpc.dispatcher import ExpectedException
from senlin import objects
from senlin.conductor.service import ConductorService
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.engine import cluster as cluster_module
from senlin.engine import dispatcher, senlin_lock
from senlin.engine.actions import base as actions
from senlin.objects.requests import clusters, policies

from senlin_affinity.groups import steps
from senlin_affinity.plugins.senlin import group_driver, group_registry
from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from senlin_affinity.policy.senlin_data import Binding, kept_group
from tests.engine.support import PROJECT, Desk, make_database, plain, record_events
from tests.explorer.explore import Explorer, Node, Operation, Task
from tests.explorer.world import Bound, Cluster, Database, Policy, World
from tests.support.edge import Edge
from tests.support.values import replace

#: The number of moves of a trace.
MOVES = 40
#: Properties of the policies: the name of the server group, and ``on_detach``.
SPECS = ((None, 'delete'), ('web', 'delete'), ('web', 'keep'))
ENGINE = str(uuid.uuid4())


class Senlin:
    """The conductor and an engine, whose operations stop before each effect."""

    def __init__(self, desk, monkeypatch):
        self.desk, self.conductor = desk, ConductorService('host', 'conductor')
        self.main, self.performed, self.answer = greenlet.getcurrent(), None, None
        connection = desk.edge.connection()
        monkeypatch.setattr(dispatcher, 'start_action', lambda *_, **__: None)
        monkeypatch.setattr(group_driver.time, 'sleep', lambda _seconds: None)
        monkeypatch.setattr(senlin_lock.eventlet, 'sleep', lambda _seconds: None)
        monkeypatch.setattr(AffinityPolicy, '_connection', lambda *_: connection)
        monkeypatch.setattr(group_driver.Driver, '_perform', self.performing())
        for owner, name, place in (
            (group_registry, 'is_deleted', 'check'),
            (cluster_module.cpm.ClusterPolicy, 'store', 'store'),
            (cluster_module.cpo.ClusterPolicy, 'delete', 'store'),
        ):
            monkeypatch.setattr(owner, name, self.stopping(getattr(owner, name), place))

    def stop(self, place):
        if greenlet.getcurrent() is not self.main:
            self.main.switch(place)

    def stopping(self, real, place):
        def stop(*args, **more):
            self.stop(place)
            return real(*args, **more)

        return stop

    def performing(self):
        real = group_driver.Driver._perform

        def perform(driver, locks, effect):
            self.stop('steps')
            answer = real(driver, locks, effect)
            if isinstance(effect, steps.CreateGroup):  # both call it by the same id
                self.desk.edge.nova.groups[-1]['id'] = self.answer.id
                answer = replace(answer, id=self.answer.id)
            self.performed = effect, answer
            return answer

        return perform

    def run(self, operation):
        """Send the request to the conductor, and execute the action that it creates."""
        groups, context = self.desk.edge.nova.groups, self.desk.context
        of_both = {'identity': operation.cluster, 'policy_id': operation.policy}
        match operation.name:
            case 'user creates':
                self.desk.edge.nova.add_group(operation.word, id=self.answer)
                return
            case 'user deletes':
                groups[:] = [each for each in groups if each['id'] != operation.word]
                return
            case 'attach':
                send = self.conductor.cluster_policy_attach
                request = clusters.ClusterAttachPolicyRequest(**of_both)
            case 'detach':
                send = self.conductor.cluster_policy_detach
                request = clusters.ClusterDetachPolicyRequest(**of_both)
            case 'cluster delete':
                send = self.conductor.cluster_delete
                request = clusters.ClusterDeleteRequest(identity=operation.cluster, force=True)
            case 'policy delete':
                send = self.conductor.policy_delete
                request = policies.PolicyDeleteRequest(identity=operation.policy)
        with suppress(ExpectedException):  # the conductor rejects the request
            made = send(context, request.obj_to_primitive())
            if made is not None:
                objects.Action.acquire(context, made['action'], ENGINE, 1.0)
                actions.ActionProc(context, made['action'])


class Replay:
    """Two operations at a time, on the model and on Senlin."""

    def __init__(self, desk, senlin, seed):
        self.desk, self.senlin, self.random = desk, senlin, random.Random(seed)
        self.moves, self.ended = [], 0
        world = World((), Database((), ()), made=1000 * (seed + 1))
        self.explorer = Explorer(world, (), events=())
        idle = Task(Operation('idle'), stage='end')
        self.node = Node(world, (idle, idle))
        self.engine = [None, None]
        for number in range(2):
            self.add_cluster()
            self.add_policy(*(SPECS[1] if number else self.random.choice(SPECS)))

    @property
    def rows(self):
        return self.node.world.database

    def change(self, **rows):
        world = replace(self.node.world, database=replace(self.rows, **rows))
        self.node = replace(self.node, world=world)

    def add_cluster(self):
        new = Cluster(self.desk.cluster().id, PROJECT)
        objects.Cluster.update(self.desk.context, new.id, {'name': new.id})
        by_age = sorted(objects.Cluster.get_all(self.desk.context), key=self.age)
        known = {each.id: each for each in (*self.rows.clusters, new)}
        self.change(clusters=tuple(known[each.id] for each in by_age))

    @staticmethod
    def age(row):
        return str(row.created_at), row.id

    def add_policy(self, name, on_detach):
        group = {'name': name, 'on_detach': on_detach} if name else {'on_detach': on_detach}
        policy = self.desk.policy(plain(servergroup=group))
        self.change(policies=(*self.rows.policies, Policy(policy.id, name, PROJECT, on_detach)))

    def choose(self):
        """Return an operation on what exists, mostly an attach or a detach."""
        if not self.rows.clusters:
            self.add_cluster()
        if not self.rows.policies:
            self.add_policy(*self.random.choice(SPECS))
        cluster = self.random.choice(self.rows.clusters).id
        policy = self.random.choice(self.rows.policies).id
        groups = [each.id for each in self.node.world.groups]
        row = next((each for each in self.rows.bound if each.cluster == cluster), None)
        match self.random.randrange(12):
            case 0:
                return Operation('cluster delete', cluster)
            case 1:
                return Operation('policy delete', policy=policy)
            case 2:
                return Operation('user creates', PROJECT, word='web')
            case 3 if groups:
                return Operation('user deletes', word=self.random.choice(groups))
        if row is not None and self.random.random() < 0.9:
            return Operation('detach', cluster, row.policy)
        return Operation('attach', cluster, policy)

    def run(self):
        for _ in range(MOVES):
            self.move(self.random.randrange(2))
        for number in (0, 1) * MOVES:  # a trace ends with no operation under way
            if self.node.tasks[number].stage != 'end':
                self.move(number)
        assert [task.stage for task in self.node.tasks] == ['end', 'end']

    def move(self, number):
        task = self.node.tasks[number]
        if task.stage == 'end':
            task = Task(self.choose())
            self.senlin.answer = f'{self.node.world.made:08x}-0000-4000-8000-000000000000'
            self.engine[number] = greenlet.greenlet(self.senlin.run)
        tasks = list(self.node.tasks)
        tasks[number] = task
        self.node = replace(self.node, tasks=tuple(tasks))
        following = [*self.explorer.moves(self.node, number, task)]
        if not following:  # it waits for a lock, or for the other operation
            return
        ((what, world, after),) = following
        self.moves.append(f'{number}: {task.operation}: {what}')
        is_answered = task.stage == 'steps' and after.state.answers  # no answers: it starts again
        if is_answered:
            self.senlin.answer = after.state.answers[-1]
        place = self.engine[number].switch(*[task.operation] * (task.stage == 'begin'))
        if is_answered:
            effect, answer = self.senlin.performed
            assert effect == task.effect, self.moves
            assert shown(effect, answer) == shown(effect, self.senlin.answer), self.moves
        assert (place or 'end') == after.stage, self.moves
        if after.stage == 'end':
            locks = tuple(each for each in world.locks if each[1] != number)
            world = replace(world, locks=locks)
        tasks[number] = after
        self.node = Node(world, tuple(tasks))
        if {each.stage for each in tasks} == {'end'}:
            self.compare()

    def compare(self):
        """Compare all groups and rows."""
        self.ended += 1
        world, context = self.node.world, self.desk.context
        with database.session_for_read() as session:
            rows = session.query(models.ClusterPolicies).all()
            held = {(row.cluster_id, row.policy_id): Binding.read(row.data) for row in rows}
            locks = session.query(models.ClusterLock).count()
        bound = {
            Bound(*key, each.servergroup_id, not each.is_inherited) for key, each in held.items()
        }
        kept = {each.id: each.kept for each in world.database.clusters}
        assert bound == {*world.database.bound}, self.moves
        assert locks == 0, self.moves
        stored = objects.Cluster.get_all(context)
        assert {each.id: kept_group(each.data) for each in stored} == kept, self.moves
        names = {each.id for each in world.database.policies}
        assert {each.id for each in objects.Policy.get_all(context)} == names, self.moves
        assert self.desk.groups() == [each.id for each in world.groups], self.moves


def shown(effect, answer):
    """Return the part of an answer on which both must agree."""
    match effect:
        case steps.GetGroup() | steps.CreateGroup():
            return answer and (answer.id, answer.name)
        case steps.SearchGroups():
            return [(each.id, each.name) for each in answer]
        case steps.ReadBinding():
            return answer and (answer.servergroup_id, answer.is_inherited)
        case steps.ReadUse():
            users = [(each.cluster, each.policy, each.is_owner) for each in answer.users]
            kept = len(answer.keepers)
            return users, kept, len(answer.attaching), answer.has_cluster
        case steps.DeleteGroup() | steps.ReadKeep():
            return bool(answer)
    return None


def empty(desk):
    """Delete all rows and groups, because each trace compares all of them."""
    desk.edge.nova.groups.clear()
    with database.session_for_write() as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            session.execute(table.delete())
    objects.Service.create(desk.context, ENGINE, 'host', 'senlin-engine', 'engine')


def main(traces):
    """Replay this number of traces; an assertion fails at the first difference."""
    make_database()
    # SQLite checks foreign keys only on request; MariaDB and PostgreSQL always do.
    database.get_engine().raw_connection().execute('PRAGMA foreign_keys = ON')
    happened, ended = set(), 0
    with pytest.MonkeyPatch.context() as monkeypatch, Edge() as edge:
        record_events(monkeypatch)
        desk = Desk(edge)
        senlin = Senlin(desk, monkeypatch)
        for seed in range(traces):
            empty(desk)
            replay = Replay(desk, senlin, seed)
            replay.run()
            ended += replay.ended
            happened |= {each.split(': ')[2].split('(')[0] for each in replay.moves}
    assert {'CreateGroup', 'DeleteGroup', 'Leave', 'ReadUse', 'the cluster is deleted'} <= happened
    sys.stdout.write(f'{traces} traces, {ended} comparisons of all rows: no difference\n')


if __name__ == '__main__':
    main(int(sys.argv[1]))
