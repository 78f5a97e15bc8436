"""Kill points: the engine dies between every two steps of an attach and of a detach.

Data flow: a run that nothing strikes says which steps there are, of Senlin's own as well; then each
of them is where the process is killed, or where its database fails. What follows is the same action
again, and a detach; or the deletion of the cluster, and then the operator's command. Then nothing
of ours may be left, except a group with a name that a user chose.

Shapes: an outcome is ``recovered``; ``left to people`` where a group with a name that a user chose
is left, and the attach that inherited it reported it, or a policy names it; or ``stuck`` where an
action afterwards fails.
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
RECOVERED, LEFT, STUCK = 'recovered', 'left to people', 'stuck'
#: What is done after the death.
AGAIN, ORPHANS = AFTERWARDS = ('again', f'cluster deleted, {" ".join(clustering.COMMAND)}')
KILLED = tuple(each.name for each in operations.OPERATIONS if each.kind in ('attach', 'detach'))
_ACTIONS = {'attach': consts.CLUSTER_ATTACH_POLICY, 'detach': consts.CLUSTER_DETACH_POLICY}


@dataclass(frozen=True)
class Point:
    """What strikes the engine where (at the step of this number), and what follows."""

    operation: str
    number: int
    step: str
    blow: str
    afterwards: str

    def __str__(self) -> str:
        return f'{self.operation}; {self.number}. {self.step}; {self.blow}; {self.afterwards}'


@dataclass(frozen=True)
class Result:
    """What came of it."""

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
    """Strike the engine at every point, or at one of so many; ``first`` is which of these."""
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
    """What strikes at a step, and what follows; of a database that fails one each time, in turn."""
    yield from ((engine.DIES, afterwards) for afterwards in AFTERWARDS)
    for blow in engine.BLOWS[1:] if engine.is_of_database(step) else ():
        yield blow, AFTERWARDS[(number + engine.BLOWS.index(blow)) % len(AFTERWARDS)]


def _prepare(folder: str) -> None:
    quiet.down()
    cell.set_options()
    number = multiprocessing.current_process().name
    engine.make_database(str(Path(folder, f'{number}.sqlite')))


def steps_of(name: str) -> tuple[str, ...]:
    """The steps of an operation that nothing disturbs."""
    with operations.new_cloud() as cloud:
        ended = _act(Stage(cloud, operations.BY_NAME[name]))
    assert ended.status == 'SUCCEEDED', ended.reason
    return ended.steps


def kill(point: Point) -> Result:
    """Have the engine struck there; a case that cannot be tried is broken, and ends no other."""
    try:
        return _kill(point)
    except Exception as error:  # noqa: BLE001 - a soak goes on
        broken = (promises.EXCEPTION, f'the case itself: {errors.in_words(error)}')
        return Result(point, STUCK, (broken,))


def _kill(point: Point) -> Result:
    """See what can be made of it."""
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
    """The same again; an attach is then detached, for good."""
    todo = [consts.CLUSTER_ATTACH_POLICY, consts.CLUSTER_DETACH_POLICY]
    if stage.operation.kind == 'detach' and stage.is_attached():
        todo.insert(0, consts.CLUSTER_DETACH_POLICY)
    stage.forget_to_keep()
    return _all(stage, todo)


def _command(stage: Stage) -> list[str]:
    """The cluster is deleted, and the operator's command cleans up what is left."""
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
