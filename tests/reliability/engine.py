"""Run Senlin's engine on a database in a file, one action at a time, and kill it at any step.

A forked process takes the row of an action, and runs Senlin's ``ActionProc`` on it: locks, policy,
binding, status. It counts its steps, and kills itself before one of them, or its database fails at
one that writes. Afterwards, Senlin's clean-up of dead engines runs.

Units: a step is a request to the cloud, or a transaction that writes; the first is 1.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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

#: The engine whose locks and actions are cleaned up.
_ENGINE = '0e0e0e0e-0000-4000-8000-000000000001'
_COMMIT = 'commit '
_WHOLE = -1
_WRITES = re.compile(r'\s*(INSERT INTO|UPDATE|DELETE FROM) (\w+)', re.IGNORECASE)


#: The event at a step: the process dies; the database fails for one transaction, or stores it and
#: its response is lost; or the database fails from then on.
DIES, FAILS, LOSES, GONE = BLOWS = (
    'dies', 'database fails', 'answer of the database is lost', 'database is gone',
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """The end of an action; ``steps`` is empty if the process was killed."""

    is_killed: bool
    status: str
    reason: str
    steps: tuple[str, ...] = ()


def make_database(path: str) -> None:
    """Create an empty Senlin database in this file; once per process."""
    log.register_options(cfg.CONF)
    cfg.CONF.set_override('connection', f'sqlite:///{path}', group='database')
    objects.register_all()
    environment.initialize()
    models.BASE.metadata.create_all(database.get_engine())


def act(
    stage: Stage,
    name: str,
    inputs: Mapping[str, Any] | None = None,
    blow_at: int = 0,
    blow: str = DIES,
) -> Ended:
    """Run an action on the stage's cluster in an engine, and wait for its end."""
    context = stage.desk.context
    made = action(context, stage.cluster, name, inputs)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _run(context, made, Steps(blow_at, blow), lambda steps: os.write(writing, steps))
        except BaseException:  # noqa: BLE001 - a forked process must not continue
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with open(reading, 'rb') as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    is_killed = status != 0
    row = objects.Action.get(context, made, refresh=True)
    if is_killed or row.status == consts.ACTION_RUNNING:  # the engine restarts
        objects.Service.gc_by_engine(_ENGINE)
        row = objects.Action.get(context, made, refresh=True)
    # Senlin keeps the lock of a cluster if its database fails during the release.
    objects.ClusterLock.release(stage.cluster, made, _WHOLE)
    steps = () if is_killed else tuple(json.loads(told))
    return Ended(is_killed, str(row.status), str(row.status_reason), steps)


def action(
    context: Any,
    cluster: str,
    name: str,
    inputs: Mapping[str, Any] | None = None,
    status: str = consts.ACTION_READY,
) -> str:
    """Create an action on a cluster; return its id."""
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


class Steps:
    """Counts the steps of a process, and causes the event at one of them."""

    def __init__(self, at: int, blow: str) -> None:
        self.names: list[str] = []
        self._at, self._blow = at, blow
        self._written: list[str] = []
        self._is_gone = False

    def count(self) -> None:
        """Start counting."""
        request = urllib3.connectionpool.HTTPConnectionPool._make_request
        dialect = database.get_engine().dialect
        commit, execute = dialect.do_commit, dialect.do_execute

        def make_request(
            pool: Any, connection: Any, method: str, url: str, *more: Any, **rest: Any
        ):
            self._is_struck(step_of(method, url))
            return request(pool, connection, method, url, *more, **rest)

        def do_execute(cursor: Any, statement: str, *more: Any) -> None:
            if self._is_gone:
                raise sqlite3.OperationalError('the database is gone')
            if found := _WRITES.match(statement):
                self._written.append(found[2])
            execute(cursor, statement, *more)

        def do_commit(connection: Any) -> None:
            names, self._written = [*dict.fromkeys(self._written)], []
            is_struck = bool(names) and self._is_struck(f'{_COMMIT}{", ".join(names)}')
            if not is_struck or self._blow == LOSES:
                commit(connection)
            if is_struck:
                self._is_gone = self._blow == GONE
                raise sqlite3.OperationalError('the database fails')

        urllib3.connectionpool.HTTPConnectionPool._make_request = make_request
        dialect.do_execute, dialect.do_commit = do_execute, do_commit

    def _is_struck(self, name: str) -> bool:
        self.names.append(name)
        is_struck = len(self.names) == self._at
        if is_struck and self._blow == DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        return is_struck


def is_of_database(step: str) -> bool:
    """Return whether the step is a transaction."""
    return step.startswith(_COMMIT)


def _run(context: Any, made: str, steps: Steps, tell: Callable[[bytes], object]) -> None:
    """Run the engine's process; an exception in its thread goes to Senlin's log."""
    context.update_store()
    assert objects.Action.acquire(context, made, _ENGINE, time.time()) is not None
    steps.count()
    with contextlib.suppress(Exception):
        action_module.ActionProc(context, made)
    tell(json.dumps(steps.names).encode())
