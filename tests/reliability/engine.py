"""Senlin's engine on a database in a file, an action at a time, which can be killed at any step.

Data flow: an action is a row; a process of its own is forked, takes it, and runs Senlin's own
``ActionProc`` on it: locks, policy, binding, status. It counts its steps, and may kill itself just
before one of them. What it leaves is then what Senlin's clean-up after dead engines makes of it.

Units: a step is a request to the cloud, or a transaction that writes; the first is 1.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy
import urllib3.connectionpool
from oslo_config import cfg
from oslo_log import log
from senlin import objects
from senlin.common import consts
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.engine import environment
from senlin.engine.actions import base as action_module

from tests.reliability.faulty_cloud import step_of
from tests.reliability.operations import Stage

#: Whose locks and actions are cleaned up after a death.
_ENGINE = '0e0e0e0e-0000-4000-8000-000000000001'
_WRITES = re.compile(r'\s*(INSERT INTO|UPDATE|DELETE FROM) (\w+)', re.IGNORECASE)


@dataclass(frozen=True)
class Ended:
    """How an action ended; ``steps`` are those of a process that was not killed."""

    is_killed: bool
    status: str
    reason: str
    steps: tuple[str, ...] = ()


def make_database(path: str) -> None:
    """An empty database of Senlin's in this file; once in a process."""
    log.register_options(cfg.CONF)
    cfg.CONF.set_override('connection', f'sqlite:///{path}', group='database')
    objects.register_all()
    environment.initialize()
    models.BASE.metadata.create_all(database.get_engine())


def act(
    stage: Stage, name: str, inputs: Mapping[str, Any] | None = None, kill_at: int = 0
) -> Ended:
    """Have an engine carry out an action on the stage's cluster, and wait for its end."""
    context = stage.desk.context
    made = action(context, stage.cluster, name, inputs)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _run(context, made, kill_at, lambda steps: os.write(writing, steps))
        except BaseException:  # noqa: BLE001 - a forked process must not go on
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with open(reading, 'rb') as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    is_killed = status != 0
    if is_killed:
        objects.Service.gc_by_engine(_ENGINE)
    row = objects.Action.get(context, made, refresh=True)
    steps = () if is_killed else tuple(json.loads(told))
    return Ended(is_killed, str(row.status), str(row.status_reason), steps)


def carry_out(
    context: Any, cluster: str, name: str, inputs: Mapping[str, Any] | None = None
) -> Ended:
    """Carry out an action in this very thread, as one of an engine's workers does."""
    made = action(context, cluster, name, inputs)
    assert objects.Action.acquire(context, made, _ENGINE, time.time()) is not None
    action_module.ActionProc(context, made)
    row = objects.Action.get(context, made, refresh=True)
    return Ended(False, str(row.status), str(row.status_reason))


def action(
    context: Any,
    cluster: str,
    name: str,
    inputs: Mapping[str, Any] | None = None,
    status: str = consts.ACTION_READY,
) -> str:
    """The row of a new action on a cluster; its id."""
    made = action_module.Action.create(
        context,
        cluster,
        name,
        inputs=dict(inputs or {}),
        cluster_id=cluster,
        cause=consts.CAUSE_RPC,
        status=status,
    )
    return str(made)


def _run(context: Any, made: str, kill_at: int, tell: Callable[[bytes], object]) -> None:
    """Be the engine's process."""
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    context.update_store()
    assert objects.Action.acquire(context, made, _ENGINE, time.time()) is not None
    _count(step)
    action_module.ActionProc(context, made)
    tell(json.dumps(steps).encode())


def _count(step: Callable[[str], None]) -> None:
    request = urllib3.connectionpool.HTTPConnectionPool._make_request
    written: list[str] = []

    def make_request(pool: Any, connection: Any, method: str, url: str, *more: Any, **rest: Any):
        step(step_of(method, url))
        return request(pool, connection, method, url, *more, **rest)

    def before_execute(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        found = _WRITES.match(statement)
        if found:
            written.append(found[2])

    def before_commit(_connection: Any) -> None:
        if written:
            step(f'commit {", ".join(dict.fromkeys(written))}')
            written.clear()

    urllib3.connectionpool.HTTPConnectionPool._make_request = make_request
    engine = database.get_engine()
    sqlalchemy.event.listen(engine, 'before_cursor_execute', before_execute)
    sqlalchemy.event.listen(engine, 'commit', before_commit)
