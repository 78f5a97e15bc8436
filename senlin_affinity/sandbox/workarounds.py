"""Patch libraries so that whole services share one process and SQLite.

Each function patches a child process that does nothing else.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

#: Seconds.
_LOOK_EVERY = 0.3


def queue_sqlite_writers() -> None:
    """Let the writers of a SQLite file wait, instead of failing with "database is locked".

    SQLite has one writer per file and oslo.db does not queue them. Remove this when the sandbox
    uses another database.
    """
    from oslo_db.sqlalchemy import enginefacade

    manager = enginefacade._TransactionContextManager
    unqueued = manager._transaction_scope
    locks: dict[str, Any] = collections.defaultdict(threading.RLock)

    @contextlib.contextmanager
    def queued(self: Any, context: Any) -> Iterator[Any]:
        if self._mode is not enginefacade._WRITER:
            with unqueued(self, context) as resource:
                yield resource
            return
        url = str(self.writer.get_engine().url)
        with locks[url], unqueued(self, context) as resource:
            yield resource

    manager._transaction_scope = queued


def keep_sqlite_connections() -> None:
    """Keep the connections to a SQLite file open, instead of one for every session.

    Nova has a session for every read, and a new connection takes a third of the time of an answer.
    Remove this when oslo.db leaves SQLAlchemy 2.0's own default, which is the same, or when the
    sandbox uses another database.
    """
    from oslo_db.sqlalchemy import engines
    from sqlalchemy import pool

    choose = engines._init_connection_args

    def forget_transaction(_connection: Any, record: Any) -> None:
        # oslo.db's mark that BEGIN was sent; the pool has rolled it back.
        record.info.pop('in_transaction', None)

    def choose_and_keep(url: Any, engine_args: dict[str, Any], kw: dict[str, Any]) -> None:
        choose(url, engine_args, kw)
        if url.get_backend_name() == 'sqlite' and url.database not in (None, '', ':memory:'):
            engine_args['connect_args']['check_same_thread'] = False
            engine_args.update(
                poolclass=pool.QueuePool,
                pool_size=0,  # unlimited, both kept and in use
                max_overflow=-1,
                pool_events=[(forget_transaction, 'checkin')],
            )

    engines._init_connection_args = choose_and_keep


def wake_rpc_listeners() -> None:
    """Wake a listener of the in-memory RPC driver when a message arrives, instead of every 50 ms.

    Polling takes most of the process's time. Remove this when oslo.messaging's fake driver waits on
    a condition.
    """
    from oslo_messaging._drivers import base, impl_fake

    waiting: dict[str, list[Any]] = collections.defaultdict(list)

    class WakingListener(impl_fake.FakeListener):
        """A listener with its own event, set by every message that may be for it."""

        def __init__(self, exchange_manager: Any, targets: Any, pool: Any = None) -> None:
            super().__init__(exchange_manager, targets, pool)
            self._news = threading.Event()
            for topic in {target.topic for target in targets}:
                waiting[topic].append(self)

        @base.batch_poll_helper
        def poll(self, timeout: float | None = None) -> Any:
            deadline = None if timeout is None else time.monotonic() + timeout
            while not self._stopped.is_set():
                self._news.clear()  # before the poll, so that no message is missed
                if messages := super().poll(timeout=0):
                    return messages[0]
                patience = 60.0 if deadline is None else deadline - time.monotonic()
                if patience <= 0:
                    return None
                self._news.wait(patience)
            return None

        def stop(self) -> None:
            super().stop()
            self._news.set()

    deliver = impl_fake.FakeExchange.deliver_message

    def deliver_and_wake(
        self: Any, topic: str, ctxt: Any, message: Any, server: str | None = None, **more: Any
    ) -> None:
        deliver(self, topic, ctxt, message, server=server, **more)
        wanted = None if more.get('fanout') else server  # a fanout may name a server, too
        for listener in tuple(waiting[topic]):
            if any(wanted in (None, target.server) for target in listener._targets):
                listener._news.set()

    impl_fake.FakeListener = WakingListener
    impl_fake.FakeExchange.deliver_message = deliver_and_wake


def start_retried_actions() -> None:
    """Start an action again that did not get its lock, instead of leaving it READY.

    Senlin's ``Action.set_status`` passes the action's id to ``dispatcher.start_action``, which
    takes it for the name of an engine, and no engine gets the message. Without a name, all engines
    get it. Remove this when Senlin passes ``action_id``.
    """
    from senlin.engine import dispatcher

    start = dispatcher.start_action

    def start_action(engine_id: str | None = None, **more: Any) -> Any:
        return start(**more)

    dispatcher.start_action = start_action


def look_often() -> None:
    """Let the engine poll every 300 ms where it waits whole seconds between two polls.

    An action polls its children and locks, and openstacksdk a server. Remove this when Senlin has
    options for these times.
    """
    import random
    from types import SimpleNamespace

    import eventlet
    from openstack import utils
    from senlin.engine import senlin_lock
    from senlin.engine.actions.cluster_action import ClusterAction

    wait_for_dependents = ClusterAction._wait_for_dependents

    def wait_looking_often(self: Any, *arguments: Any, **more: Any) -> Any:
        # Replaced for this wait only: a pause that a policy requests uses the same method.
        self._sleep = lambda _period: eventlet.sleep(_LOOK_EVERY)
        try:
            return wait_for_dependents(self, *arguments, **more)
        finally:
            del self._sleep

    iterate_timeout = utils.iterate_timeout

    def iterate_often(timeout: Any, message: str, wait: Any = 2) -> Any:
        return iterate_timeout(timeout, message, min(wait or _LOOK_EVERY, _LOOK_EVERY))

    ClusterAction._wait_for_dependents = wait_looking_often
    utils.iterate_timeout = iterate_often
    # The lock uses the module "random" only for the seconds to the next attempt.
    senlin_lock.random = SimpleNamespace(randrange=lambda *_: random.uniform(0.5, 1) * _LOOK_EVERY)


def cap_microversions(compute: str | None, placement: str | None) -> None:
    """Lower the maximum microversions in the APIs' discovery documents and 406 responses."""
    if compute:
        from nova.api.openstack import api_version_request
        from nova.api.openstack.compute import versions

        api_version_request._MAX_API_VERSION = compute
        versions.VERSIONS['v2.1']['version'] = compute
    if placement:
        from placement import microversion

        # The middleware keeps a reference to this list.
        del microversion.VERSIONS[microversion.VERSIONS.index(placement) + 1 :]
