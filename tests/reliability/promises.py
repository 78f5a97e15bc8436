"""Check the guarantees that must hold after every case.

A violation is ``(kind, words)``.
"""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from senlin_affinity.groups import attachment
from senlin_affinity.model import errors
from tests.reliability.operations import Stage

LEAK, FOREIGN, LOST, HANG, EXCEPTION, PLACEMENT, RECOVERY = KINDS = (
    'leaked group', 'foreign deletion', 'lost group', 'hang', 'foreign exception',
    'half placement', 'no recovery',
)  # fmt: skip
Broken = tuple[str, str]


class Hung(BaseException):
    """Raised in code that exceeds its time."""


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Raise Hung in the block after this time; only in the main thread."""

    def give_up(*_signal: Any) -> None:
        raise Hung(f'not finished after {seconds:g} seconds')

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class LogRecorder(logging.Handler):
    """Records the warnings of our code, and mistakes: logged exceptions that are not our errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []
        self.mistakes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.exc_info and errors.is_defect(record.exc_info[1] or Exception()):
            self.mistakes.append(f'{message}: {record.exc_info[1]!r}')
        elif record.levelno == logging.WARNING:
            self.warnings.append(message)


@contextlib.contextmanager
def recorded_log() -> Iterator[LogRecorder]:
    """Record what is logged in the block."""
    recorder, logger = LogRecorder(), logging.getLogger('senlin_affinity')
    logger.addHandler(recorder)
    try:
        yield recorder
    finally:
        logger.removeHandler(recorder)


def groups(stage: Stage, *, may_be_noted: bool = True) -> Iterator[Broken]:
    """Yield each group of ours that nothing names, and each foreign group that was deleted.

    The name of a cluster's own group identifies its cluster. A group that an attach reported to its
    owner may remain.
    """
    known = stage.notes() if may_be_noted else ''
    foreign = stage.foreign | stage.cloud.taken
    for group in stage.cloud.nova.groups:
        is_own = may_be_noted and group['name'].startswith(attachment.GROUP_NAME_PREFIX)
        is_named = is_own or repr(group['id']) in known or repr(group['name']) in known
        if group['id'] not in foreign and not is_named and not is_reported(stage, group):
            yield LEAK, f'{group["name"]} ({group["id"]})'
    there = {group['id'] for group in stage.cloud.nova.groups}
    for group in sorted(foreign - there - stage.cloud.gone):
        yield FOREIGN, group


def is_reported(stage: Stage, group: Mapping[str, Any]) -> bool:
    """Return whether the owner read that an attach with an unknown outcome may have created it."""
    report = f'server group {group["name"]} ({group["id"]}): {attachment.IN_DOUBT}'
    return any(report in each for each in stage.reports)


def placement(stage: Stage, refused: str | None) -> Iterator[Broken]:
    """Yield a violation unless there is a complete placement, or only a reason."""
    data, wanted = stage.data, stage.operation.wanted
    placed = data.get('placement')
    if refused is not None:
        if placed is not None or not data.get('status_reason') or not data.get('reason'):
            yield PLACEMENT, repr(data)
        return
    entries = (placed or {}).get('placements') or []
    is_whole = len(entries) == wanted == (placed or {}).get('count')
    if not is_whole or not all(entry.get('servergroup') for entry in entries):
        yield PLACEMENT, repr(data)
    if stage.node is not None and 'placement' not in stage.desk.node_data(stage.node):
        yield PLACEMENT, 'the node has no placement'
