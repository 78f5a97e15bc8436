"""Let the engine die between every two steps of an attach and of a detach.

A run without a fault finds the steps, including Senlin's own. In each other run, the process is
killed at one of them, or its database fails. Then the action is repeated, followed by a detach; or
the cluster is deleted, and the operator's command deletes the orphans. No group of ours may remain,
except one whose name a user chose.

An outcome is ``recovered``; ``reported``, if a group with a chosen name remains, and a policy
names it or the attach that inherited it reported it; or ``stuck``, if a later action fails.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from senlin.common import consts

from senlin_affinity.model import errors
from tests.reliability import cell, clustering, engine, operations, promises, quiet
from tests.reliability.operations import Stage
from tests.reliability.promises import Broken
from tests.reliability.report import Part

NAME = 'kill points'
RECOVERED, LEFT, STUCK = 'recovered', 'reported', 'stuck'
#: What follows the failure.
AGAIN, ORPHANS = AFTERWARDS = ('again', f'cluster deleted, {" ".join(clustering.COMMAND)}')
KILLED = tuple(each.name for each in operations.OPERATIONS if each.kind in ('attach', 'detach'))
_ACTIONS = {'attach': consts.CLUSTER_ATTACH_POLICY, 'detach': consts.CLUSTER_DETACH_POLICY}


@dataclass(frozen=True)
class Point:
    """A failure at the step with this number, and what follows."""

    operation: str
    number: int
    step: str
    blow: str
    afterwards: str

    def __str__(self) -> str:
        return f'{self.operation}; {self.number}. {self.step}; {self.blow}; {self.afterwards}'


@dataclass(frozen=True)
class Result:
    """The result of a case."""

    point: Point
    outcome: str
    broken: tuple[Broken, ...]


def run(
    workers: int,
    every: int = 1,
    only: str = '',
    tell: Callable[[str], object] = str,
    first: int = 0,
) -> Part:
    """Run the cases, or one of ``every`` cases, from number ``first`` on."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context('spawn')
        with context.Pool(workers, _prepare, (folder,)) as pool:
            steps = dict(zip(KILLED, pool.map(steps_of, KILLED, 1), strict=True))
            points = [
                Point(name, number, step, *what)
                for name in KILLED
                for number, step in enumerate(steps[name], 1)
                for what in _what(number, step)
            ]
            points = [point for point in points if only in str(point)][first % every :: every]
            results = []
            for result in pool.imap(kill, points, 1):
                results.append(result)
                if result.broken:
                    tell(f'{result.point}: {result.broken}')
    return Part(
        NAME,
        len(results),
        Counter(each.outcome for each in results),
        tuple((str(each.point), *item) for each in results for item in each.broken),
        time.monotonic() - begun,
    )


def _what(number: int, step: str) -> Iterator[tuple[str, str]]:
    """Yield the failures at a step, and what follows; database failures take turns with both."""
    yield from ((engine.DIES, afterwards) for afterwards in AFTERWARDS)
    for blow in engine.BLOWS[1:] if engine.is_of_database(step) else ():
        yield blow, AFTERWARDS[(number + engine.BLOWS.index(blow)) % len(AFTERWARDS)]


def _prepare(folder: str) -> None:
    quiet.down()
    cell.set_options()
    number = multiprocessing.current_process().name
    engine.make_database(str(Path(folder, f'{number}.sqlite')))


def steps_of(name: str) -> tuple[str, ...]:
    """Return the steps of an operation without a failure."""
    with operations.new_cloud() as cloud:
        ended = _act(Stage(cloud, operations.BY_NAME[name]))
    assert ended.status == 'SUCCEEDED', ended.reason
    return ended.steps


def kill(point: Point) -> Result:
    """Run a case; an exception is a violation, and does not stop the other cases."""
    try:
        return _kill(point)
    except Exception as error:  # noqa: BLE001 - the other cases must run
        broken = (promises.EXCEPTION, f'the case itself: {errors.in_words(error)}')
        return Result(point, STUCK, (broken,))


def _kill(point: Point) -> Result:
    with operations.new_cloud() as cloud:
        stage = Stage(cloud, operations.BY_NAME[point.operation])
        ended = _act(stage, point.number, point.blow)
        assert ended.is_killed == (point.blow == engine.DIES), point
        broken = [*promises.groups(stage)]
        stuck = [(promises.RECOVERY, why) for why in _FOLLOW[point.afterwards](stage)]
        left = [*promises.groups(stage, may_be_noted=False)]
        is_chosen = 'name' in stage.operation.spec['properties'].get('servergroup', {})
        is_left = bool(left) and is_chosen and point.afterwards == ORPHANS
        broken += [*stuck, *(promises.groups(stage) if is_left else left)]
        is_left |= any(promises.is_reported(stage, group) for group in cloud.nova.groups)
    return Result(point, STUCK if stuck else LEFT if is_left else RECOVERED, tuple(broken))


def _again(stage: Stage) -> list[str]:
    """Repeat the operation; then detach without keeping the group."""
    todo = [consts.CLUSTER_ATTACH_POLICY, consts.CLUSTER_DETACH_POLICY]
    if stage.operation.kind == 'detach' and stage.is_attached():
        todo.insert(0, consts.CLUSTER_DETACH_POLICY)
    stage.forget_to_keep()
    return _all(stage, todo)


def _command(stage: Stage) -> list[str]:
    """Delete the cluster; then run the operator's command."""
    lost = _all(stage, [consts.CLUSTER_DELETE])
    return lost + clustering.orphans(stage)


_FOLLOW = {AGAIN: _again, ORPHANS: _command}


def _all(stage: Stage, names: list[str]) -> list[str]:
    failed = []
    for name in names:
        ended = engine.act(stage, name, {'policy_id': stage.policy})
        stage.hear()
        failed += [f'{name}: {ended.reason}'] * (ended.status != 'SUCCEEDED')
    return failed


def _act(stage: Stage, at: int = 0, blow: str = engine.DIES) -> engine.Ended:
    name = _ACTIONS[stage.operation.kind]
    return engine.act(stage, name, {'policy_id': stage.policy}, at, blow)
