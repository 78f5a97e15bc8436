"""Run one case of the fault matrix: an operation, one of its requests, and a fault.

The request fails, and the guarantees are checked. Afterwards, all requests succeed: the operation
must succeed, and a detach must leave no group.

An outcome is ``done``; ``retried``, done after another attempt; ``warned``, done with a warning in
the log; ``refused``, with a reason; or ``missed``, without the request.

Units: ``seconds`` is the duration of the faulty operation. The limit of a hang is a multiple of the
deadline, because of slow machines.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from oslo_config import cfg

from senlin_affinity.model import errors
from senlin_affinity.plugins.senlin import legacy_type
from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from tests.engine.support import make_database
from tests.reliability import faults, operations, promises
from tests.reliability.faulty_cloud import FaultyCloud, unreachable
from tests.reliability.operations import Operation, Stage
from tests.reliability.promises import Broken

DONE, RETRIED, WARNED, REFUSED, MISSED = OUTCOMES = 'done', 'retried', 'warned', 'refused', 'missed'
#: The request timeout, in seconds, of the faulty operation and of all others.
TIMEOUT, PATIENCE = 0.4, 30.0
#: Seconds after which the faulty operation counts as hung. Its deadline is five timeouts, and three
#: more for each write request.
HANGS = 45.0
#: The number of consecutive attempts of the request that fail.
TRIES = {'first': 1, 'second': 2}


@dataclass(frozen=True)
class Cell:
    """A case; ``times`` is the number of the request among the identical requests."""

    operation: str
    step: str
    times: int
    fault: str
    tries: str

    def __str__(self) -> str:
        return f'{self.operation}; {self.step} #{self.times}; {self.fault}; {self.tries} try'


@dataclass(frozen=True)
class Result:
    """The result of a case."""

    cell: Cell
    outcome: str
    broken: tuple[Broken, ...]
    seconds: float
    why: str = ''


def prepare() -> None:
    """Prepare a process for the cases."""
    set_options()
    make_database()


def set_options() -> None:
    """Set the options of all cases, as an engine does before it loads the policy."""
    cfg.CONF.set_override('serve_version_1_0', True, group='affinity')
    legacy_type.install(AffinityPolicy)
    cfg.CONF.set_override('max_answer_size', 1, group='affinity')


def steps(name: str) -> Counter[str]:
    """Return the requests of an operation without a fault."""
    with operations.new_cloud() as cloud:
        stage = _stage(cloud, operations.BY_NAME[name])
        cloud.begin()
        refused = stage.run()
        assert refused is None, refused
        return Counter(cloud.steps)


def cells(name: str, asked: Counter[str]) -> list[Cell]:
    """Return all cases of one operation."""
    return [
        Cell(name, step, times, fault.name, tries)
        for step in asked
        for times in range(1, asked[step] + 1)
        for fault in faults.FAULTS
        for tries in TRIES
        if fault.fits(step)
    ]


def run(cell: Cell, asked: Counter[str]) -> Result:
    """Run a case; an exception is a violation, and does not stop the other cases."""
    try:
        return _run(cell, asked)
    except Exception as error:  # noqa: BLE001 - the other cases must run
        broken = (promises.EXCEPTION, f'the case itself: {errors.in_words(error)}')
        return Result(cell, MISSED, (broken,), 0.0)


def _run(cell: Cell, asked: Counter[str]) -> Result:
    operation, fault = operations.BY_NAME[cell.operation], faults.BY_NAME[cell.fault]
    with operations.new_cloud() as cloud, unreachable(cloud):
        stage = _stage(cloud, operation)
        broken: list[Broken] = []
        cloud.begin(cell.step, range(cell.times, cell.times + TRIES[cell.tries]), fault)
        _be_patient(TIMEOUT)
        refused, seconds, warnings = _guarded(stage, operation, broken)
        _be_patient(PATIENCE)
        outcome = DONE
        if not cloud.hits:
            outcome = MISSED
        elif refused is not None:
            outcome = REFUSED
        elif warnings:
            outcome = WARNED
        elif cloud.steps[cell.step] > asked[cell.step]:
            outcome = RETRIED
        cloud.begin()
        broken += promises.groups(stage)
        broken += _recovered(stage, operation)
        return Result(cell, outcome, tuple(broken), seconds, refused or '; '.join(warnings))


def _guarded(
    stage: Stage, operation: Operation, broken: list[Broken]
) -> tuple[str | None, float, list[str]]:
    """Run the faulty operation; return the refusal, the duration and the logged warnings."""
    refused: str | None = 'no result'
    begun = time.monotonic()
    with promises.recorded_log() as recorder:
        try:
            with promises.ends_within(HANGS):
                refused = stage.run()
        except promises.Hung as hung:
            broken.append((promises.HANG, str(hung)))
        except Exception as error:  # noqa: BLE001 - it is a violation
            broken.append((promises.EXCEPTION, errors.in_words(error)))
        else:
            if operation.kind == 'hook':
                broken += promises.placement(stage, refused)
            if refused is not None and not refused.strip():
                broken.append((promises.EXCEPTION, 'no reason is given'))
    broken += [(promises.EXCEPTION, message) for message in recorder.mistakes]
    return refused, time.monotonic() - begun, recorder.warnings


def _recovered(stage: Stage, operation: Operation) -> list[Broken]:
    """Repeat the operation without the fault, then detach; return the violations."""
    broken: list[Broken] = []
    try:
        with promises.ends_within(HANGS):
            broken += _repeated(stage, operation)
    except promises.Hung as hung:
        broken.append((promises.HANG, f'after the fault: {hung}'))
    return broken


def _repeated(stage: Stage, operation: Operation) -> list[Broken]:
    broken: list[Broken] = []
    with promises.recorded_log() as recorder:
        again = None
        if operation.kind != 'detach' or stage.is_attached():
            again = stage.run()
        # If the fault deleted the group, the policy may report that.
        if again is not None and not stage.cloud.gone:
            broken.append((promises.RECOVERY, again))
        if operation.kind == 'hook':
            broken += promises.placement(stage, again)
        broken += promises.groups(stage)
        if stage.is_attached() and (why := stage.detach()) is not None:
            broken.append((promises.RECOVERY, f'detach: {why}'))
    is_kept = operation.spec['properties'].get('servergroup', {}).get('on_detach') == 'keep'
    broken += promises.groups(stage, may_be_noted=is_kept)
    broken += [(promises.EXCEPTION, message) for message in recorder.mistakes]
    return broken


def _stage(cloud: FaultyCloud, operation: Operation) -> Stage:
    _be_patient(PATIENCE)
    return Stage(cloud, operation)


def _be_patient(seconds: float) -> None:
    cfg.CONF.set_override('request_timeout', seconds, group='affinity')
