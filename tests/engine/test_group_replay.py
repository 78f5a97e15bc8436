"""Random interleavings of attach and detach, on the model of the explorer and on Senlin's database.

Each effect is performed by both, and the answers must agree: the explorer proves nothing if its
model is not what Senlin's database and the driver do.
"""

import random
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest
from senlin import objects
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.engine.actions import base as action_module

from senlin_affinity.groups import steps
from senlin_affinity.groups.attachment import Attach
from senlin_affinity.groups.detachment import Detach
from senlin_affinity.model.errors import GroupBusy
from senlin_affinity.plugins.senlin.group_driver import Driver
from senlin_affinity.policy import binding
from senlin_affinity.policy.properties import Properties
from tests.engine.support import PROJECT, USER, plain
from tests.explorer.world import Actor, Bound, Checks, Cluster, Database, Policy, World, perform

#: Moves of a trace; traces in CI.
MOVES, TRACES = 40, 100


class Lane:
    """A cluster whose policy is attached and detached, again and again."""

    def __init__(self, desk, policy):
        self.desk, self.policy = desk, policy
        self.id = desk.cluster().id
        self.cloud = policy._ports(USER, PROJECT)
        self.step = self.effect = self.action = None
        self.locks, self.is_attach = ExitStack(), False

    def begin(self, operation):
        self.is_attach = not isinstance(operation, Detach)
        if self.is_attach and self.action is None:
            self.action = action_module.Action.create(
                self.desk.context,
                self.id,
                'CLUSTER_ATTACH_POLICY',
                inputs={'policy_id': self.policy.id},
                cluster_id=self.id,
                cause='RPC Request',
                status='RUNNING',
            )
        self.operation, self.step = operation, operation.step()
        self.effect = next(self.step)

    def perform(self, effect):
        cluster = self.desk.load_cluster(self.id)
        driver = Driver(cluster, self.policy.id, self.policy._wanted, lambda: self.cloud)
        return driver._perform(self.locks, effect)

    def end(self):
        self.locks.close()
        self.step = None
        if self.action is not None:
            objects.Action.mark_succeeded(self.desk.context, self.action, time.time())
            self.action = None


class Replay:
    """Two lanes, the model, and the random order of their moves."""

    def __init__(self, desk, seed):
        self.desk, self.random = desk, random.Random(seed)
        names = self.random.choice([('web', 'web'), ('web', None), (None, None)])
        self.names = dict(zip(range(2), names, strict=True))
        policies = [
            desk.policy(plain(servergroup={'name': each} if each else {})) for each in names
        ]
        self.lanes = [Lane(desk, policy) for policy in policies]
        clusters = [Cluster(lane.id, PROJECT) for lane in self.lanes]
        rows = [Policy(each.id, name, PROJECT) for each, name in zip(policies, names, strict=True)]
        order = {row.id: row.created_at for row in objects.Cluster.get_all(desk.context)}
        clusters.sort(key=lambda each: (str(order[each.id]), each.id))
        self.world = World((), Database(tuple(clusters), tuple(rows)), made=1000 * (seed + 1))
        self.moves = []

    def actor(self, lane):
        rows = self.world.database
        return Actor(rows.cluster(lane.id), rows.policy(lane.policy.id))

    def run(self):
        for _ in range(MOVES):
            lane = self.random.choice(self.lanes)
            if lane.step is None:
                self.begin(lane)
            elif not self.is_blocked(lane):
                self.move(lane)
        for lane in self.lanes:
            lane.end()

    def begin(self, lane):
        row = self.world.database.binding(lane.id, lane.policy.id)
        lane.begin(Detach() if row else self.attach(lane))

    def attach(self, lane):
        name = self.actor(lane).policy.name
        return Attach(lane.id, Properties('1.1', name), None, None, PROJECT, USER)

    def is_blocked(self, lane):
        key = (
            getattr(lane.effect, 'name', None) if isinstance(lane.effect, steps.LockName) else None
        )
        if isinstance(lane.effect, steps.LockGroup):
            key = lane.effect.group_id
        return key is not None and any(
            held == key and holder != lane.id for held, holder in self.world.locks
        )

    def move(self, lane):
        effect, number = lane.effect, self.lanes.index(lane)
        self.moves.append(f'{number}: {effect}')
        other = self.lanes[1 - number]
        attaching = (self.actor(other),) if other.step is not None and other.is_attach else ()
        real = lane.perform(effect)
        self.world, expected = perform(self.world, effect, self.actor(lane), attaching, Checks())
        if isinstance(effect, steps.LockName | steps.LockGroup):
            key = effect.name if isinstance(effect, steps.LockName) else effect.group_id
            self.world = replace(self.world, locks=(*self.world.locks, (key, lane.id)))
        if isinstance(effect, steps.CreateGroup):  # both call it by the same id
            self.desk.edge.nova.groups[-1]['id'] = expected.id
            real = replace(real, id=expected.id)
        assert shown(effect, real) == shown(effect, expected), self.moves
        try:
            lane.effect = lane.step.send(real)
        except StopIteration as end:
            self.store(lane, end.value)
        except GroupBusy:
            self.unlock(lane)
            lane.locks.close()
            lane.begin(lane.operation)

    def unlock(self, lane):
        locks = tuple(each for each in self.world.locks if each[1] != lane.id)
        self.world = replace(self.world, locks=locks)

    def store(self, lane, outcome):
        """What Senlin does after an attach or a detach, in both."""
        rows = self.world.database
        if lane.is_attach:
            self.desk.bind(
                self.desk.load_cluster(lane.id), lane.policy, binding.write(outcome.binding)
            )
            bound = outcome.binding
            row = Bound(lane.id, lane.policy.id, bound.servergroup_id, not bound.is_inherited)
            rows = replace(rows, bound=(*rows.bound, row))
        else:
            objects.ClusterPolicy.delete(self.desk.context, lane.id, lane.policy.id)
            rows = rows.without(lane.id, lane.policy.id)
        self.world = replace(self.world, database=rows)
        self.unlock(lane)
        lane.end()


def shown(effect, answer):
    """What of an answer both must agree about."""
    match effect:
        case steps.GetGroup() | steps.CreateGroup():
            return answer and (answer.id, answer.name)
        case steps.SearchGroups():
            return [(each.id, each.name) for each in answer]
        case steps.ReadBinding():
            return answer and (answer.servergroup_id, answer.is_inherited)
        case steps.ReadUse():
            users = [(each.cluster, each.policy, each.is_owner) for each in answer.users]
            return users, len(answer.attaching), answer.has_cluster, answer.is_noted
        case steps.DeleteGroup():
            return bool(answer)
    return None


def empty(desk):
    """Begin a trace with no rows and no groups: each read is of all of them."""
    desk.edge.nova.groups.clear()
    with database.session_for_write() as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            session.execute(table.delete())


@pytest.mark.long
def test_the_model_and_senlins_database_agree(desk):
    seen = set()
    for seed in range(TRACES):
        empty(desk)
        replayed = Replay(desk, seed)
        replayed.run()
        seen |= {each.split(': ')[1].split('(')[0] for each in replayed.moves}
    assert {'CreateGroup', 'DeleteGroup', 'Leave', 'ReadUse'} <= seen
