"""Races: clusters whose policies name one server group come and go, on several workers at once.

Data flow: a round is made of a seed: four clusters, one policy for all or one each, of either
version, and a group of that name that is nobody's, or none. A worker (a thread, as in Senlin's
engine) per cluster carries out actions, Senlin's own ``ActionProc`` among them, while the others do
the same; then all detach, at the same time, in a random order. In some rounds an operator deletes
orphans while the workers run, and in some a user deletes a policy while it is being attached. After
both halves the promises are counted.

Units: a round is a case; an outcome is ``kept apart``, ``refused``, where an action was, or ``left
to servers of others``, where the group stays, and the owner of the cluster reads it. An
attach waits for the others, and is not refused.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senlin import objects
from senlin.common import consts, exception
from senlin.engine.actions import base as action_module

from senlin_affinity.plugins.senlin import group_registry as registry
from senlin_affinity.policy import binding
from senlin_affinity.sandbox import workarounds
from tests.engine.support import PROJECT, plain
from tests.reliability import cell, clustering, engine, missed, operations, promises, quiet
from tests.reliability.operations import FOREIGN, Operation, Stage
from tests.reliability.promises import Broken
from tests.reliability.report import Part
from tests.support.waiting import until

NAME = 'races'
APART, REFUSED, LEFT = 'kept apart', 'refused', 'left to servers of others'
#: Clusters of a round, and the actions of each before it detaches.
CLUSTERS, ACTIONS = 4, 5
#: Seconds for half a round.
_HANGS = 240.0
ATTACH = consts.CLUSTER_ATTACH_POLICY


@dataclass(frozen=True)
class Result:
    """What a round came to."""

    seed: int
    outcome: str
    broken: tuple[Broken, ...]


def run(workers: int, rounds: int, tell: Callable[[str], object] = str, first: int = 1) -> Part:
    """Run so many rounds, of the seeds from the first on."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context('spawn')
        with context.Pool(workers, _prepare, (folder,)) as pool:
            results = []
            for result in pool.imap(race, range(first, first + rounds), 1):
                results.append(result)
                if result.broken:
                    tell(f'round {result.seed}: {result.broken}')
    return Part(
        NAME,
        len(results),
        Counter(each.outcome for each in results),
        *missed.sorted_out(
            (f'round {each.seed}', *item) for each in results for item in each.broken
        ),
        time.monotonic() - begun,
    )


def _prepare(folder: str) -> None:
    quiet.down()
    cell.set_options()
    workarounds.queue_sqlite_writers()
    workarounds.keep_sqlite_connections()
    engine.make_database(str(Path(folder, f'{multiprocessing.current_process().name}.sqlite')))


def race(seed: int) -> Result:
    """One round."""
    with operations.new_cloud() as cloud, promises.listening() as ears:
        running = Round(Stage(cloud, _operation(seed)), random.Random(seed))
        broken = [*running.together(running.live, *running.others), *running.kept_apart()]
        broken += [*running.together(running.leave), *running.all_gone()]
        if not running.is_policy_deleted:
            broken += [(promises.RECOVERY, why) for why in running.refusals if ATTACH in why]
    broken += [(promises.EXCEPTION, said) for said in ears.mistakes]
    outcome = LEFT if running.is_left else APART
    return Result(seed, REFUSED if running.refusals else outcome, tuple(broken))


def _operation(seed: int) -> Operation:
    name = FOREIGN[0] if seed % 3 == 0 else 'shared'
    return Operation(f'round {seed}', 'attach', plain(servergroup={'name': name}))


class Round:
    """The clusters of a round at work."""

    def __init__(self, stage: Stage, random: random.Random) -> None:
        self.stage, self.random = stage, random
        name = stage.operation.spec['properties']['servergroup']['name']
        self.policies: dict[str, str] = {}
        is_shared = bool(random.getrandbits(1))
        for _ in range(CLUSTERS):
            version = random.choice(('1.0', '1.1'))
            policy = stage.add_policy(plain(version, servergroup={'name': name}))
            self.policies[stage.desk.cluster().id] = stage.policy if is_shared else policy
        # An engine died while it held the lock of the name: all wait for it, and one takes it over.
        dead = engine.action(
            stage.desk.context, next(iter(self.policies)), ATTACH, {}, consts.ACTION_FAILED
        )
        objects.ClusterLock.acquire(registry.lock_id(PROJECT, name), dead, -1)
        # Drawn before the workers run, so that a seed is always the same round.
        todo = (self._attach, self._detach, self._grow, self._grow, self._resize)
        self.todo = {
            cluster: [self._attach, *random.choices(todo, k=ACTIONS)] for cluster in self.policies
        }
        self.refusals: list[str] = []
        self.is_left = False
        self.is_policy_deleted = False
        #: The clusters whose actions are done.
        self.lived: list[str] = []
        #: What users and operators do while the clusters live.
        self.others = random.choices(
            ((), (self._delete_orphans,), (self._delete_policy,)), (2, 1, 1)
        )[0]

    def together(
        self, work: Callable[[str], None], *others: Callable[[str], None]
    ) -> Iterator[Broken]:
        """Run this for each cluster, and the others once, in threads; wait for all."""
        clusters = self.random.sample([*self.policies], CLUSTERS)
        errors: list[Broken] = []

        def guarded(work: Callable[[str], None], cluster: str) -> None:
            try:
                self.stage.desk.context.update_store()
                work(cluster)
            except Exception as error:  # noqa: BLE001 - that it comes out is what is looked for
                errors.append((promises.EXCEPTION, f'{type(error).__name__}: {error}'))

        calls = [*((work, each) for each in clusters), *((each, clusters[0]) for each in others)]
        threads = [threading.Thread(target=guarded, args=call, daemon=True) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_HANGS)
            if thread.is_alive():
                yield promises.HANG, f'not over after {_HANGS:g} seconds'
        yield from errors

    def live(self, cluster: str) -> None:
        """What a cluster does while the others do the same."""
        for action in self.todo[cluster]:
            action(cluster)
        self.lived.append(cluster)

    def _delete_orphans(self, _cluster: str) -> None:
        """Run the operator's command; it exits with 1 if a cluster adopts what it deletes."""
        clustering.orphans(self.stage)

    def _delete_policy(self, cluster: str) -> None:
        """Delete the policy of a cluster as soon as Senlin lets a user delete it."""

        def is_over() -> bool:
            with contextlib.suppress(exception.EResourceBusy):  # attached
                objects.Policy.delete(self.stage.desk.context, self.policies[cluster])
                self.is_policy_deleted = True
            return self.is_policy_deleted or len(self.lived) == CLUSTERS

        until(is_over, _HANGS, 'a policy is deleted, or all clusters are done')

    def leave(self, cluster: str) -> None:
        """The last of it."""
        self._shrink(cluster)
        self._detach(cluster)

    def kept_apart(self) -> Iterator[Broken]:
        """Each binding has a group that is there, and no group of ours is lost."""
        there = {group['id'] for group in self.stage.cloud.nova.groups}
        for cluster in self.policies:
            if (group := self._group(cluster)) is not None and group not in there:
                yield promises.LOST, f'{group} of cluster {cluster}'
        yield from promises.groups(self.stage)

    def all_gone(self) -> Iterator[Broken]:
        """Nothing is bound any more, and nothing of ours is left.

        A cluster that left before the others may have had servers in the group, which then stays.
        """
        for cluster in self.policies:
            if self._group(cluster) is not None:
                yield promises.RECOVERY, f'cluster {cluster} is still bound: {self.refusals[-1:]}'
        self.is_left = any(map(self._is_left_to_others, self.policies)) and bool(
            [*promises.groups(self.stage, may_be_noted=False)]
        )
        if not self.is_left:
            yield from promises.groups(self.stage, may_be_noted=False)

    def _is_left_to_others(self, cluster: str) -> bool:
        row = objects.Cluster.get(self.stage.desk.context, cluster)
        return 'outside the cluster is a member' in str(row.status_reason)

    def _group(self, cluster: str) -> str | None:
        for row in objects.ClusterPolicy.get_all(self.stage.desk.context, cluster):
            found = binding.read(row.data)
            return None if found is None else found.servergroup_id
        return None

    def _attach(self, cluster: str) -> None:
        self._act(cluster, ATTACH)

    def _detach(self, cluster: str) -> None:
        if self._group(cluster) is not None:
            self._act(cluster, consts.CLUSTER_DETACH_POLICY)

    def _act(self, cluster: str, name: str) -> None:
        inputs = {'policy_id': self.policies[cluster]}
        ended = engine.carry_out(self.stage.desk.context, cluster, name, inputs)
        if ended.status != 'SUCCEEDED':
            self.refusals.append(f'{name}: {ended.reason}')

    def _grow(self, cluster: str) -> None:
        self._place(cluster, consts.CLUSTER_SCALE_OUT, {'count': 1})

    def _resize(self, cluster: str) -> None:
        inputs = {'adjustment_type': consts.CHANGE_IN_CAPACITY, 'number': 2, 'strict': False}
        self._place(cluster, consts.CLUSTER_RESIZE, inputs)

    def _place(self, cluster: str, name: str, inputs: dict[str, Any]) -> None:
        """The hook, and then the nodes and servers of its placement."""
        desk = self.stage.desk
        made = engine.action(desk.context, cluster, name, inputs, consts.ACTION_RUNNING)
        action = action_module.Action.load(desk.context, action_id=made)
        action.policy_check(cluster, 'BEFORE')
        if action.data['status'] == 'ERROR':
            self.refusals.append(f'{name}: {action.data["reason"]}')
        for placed in action.data.get('placement', {}).get('placements', ()):
            server = str(uuid.uuid4())
            for group in self.stage.cloud.nova.groups:
                if group['id'] == placed['servergroup']:
                    group['members'].append(server)
            owner = desk.load_cluster(cluster)
            desk.node(owner, {'placement': placed}, physical_id=server)
        objects.Action.mark_succeeded(desk.context, made, time.time())

    def _shrink(self, cluster: str) -> None:
        """All nodes are deleted, and their servers."""
        for node in objects.Node.get_all_by_cluster(self.stage.desk.context, cluster):
            for group in self.stage.cloud.nova.groups:
                if node.physical_id in group['members']:
                    group['members'].remove(node.physical_id)
            objects.Node.delete(self.stage.desk.context, node.id)
