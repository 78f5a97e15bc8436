"""The child process with Senlin: ``python -m senlin_affinity.sandbox.senlin_process``.

API, conductor and engine are the real ones, over an in-memory RPC; everything runs in eventlet's
green threads, as in Senlin's own daemons.
"""

from __future__ import annotations

import gc
import socket

from senlin_affinity.sandbox import config_files, lifeline, workarounds
from senlin_affinity.sandbox.blueprint import Plan
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.template_databases import provide

#: Seconds between two collections of garbage.
_COLLECT_EVERY = 1


def run(plan: Plan, listener: socket.socket, parent: Lifeline) -> None:
    """Start everything, then let the green threads run."""
    parent.tell(stage='Senlin is loading')
    _load_senlin(plan)
    parent.tell(stage='Senlin has its database')
    import eventlet
    import eventlet.wsgi
    from senlin.api.common import wsgi
    from senlin.common import consts
    from senlin.conductor import service as conductor
    from senlin.conf import CONF
    from senlin.engine import service as engine

    running = [
        conductor.ConductorService(CONF.host, consts.CONDUCTOR_TOPIC),
        engine.EngineService(CONF.host, consts.ENGINE_TOPIC),
    ]
    for service in running:
        service.start()
    application = wsgi.load_paste_app('senlin-api')
    # The socket again, as a green one.
    sock = eventlet.greenio.GreenSocket(listener)
    eventlet.spawn_n(eventlet.wsgi.server, sock, application, log_output=False)
    parent.tell(stage="Senlin's API, conductor and engine run")
    parent.tell(ready=True)
    gc.freeze()  # what is loaded by now stays; to go through all of it takes 50 ms each time
    eventlet.event.Event().wait()


def _load_senlin(plan: Plan) -> None:
    import senlin.cmd  # noqa: F401 - has eventlet replace the blocking parts, so it is the first
    from oslo_log import log
    from senlin import objects
    from senlin.common import config, messaging
    from senlin.db import api as database

    _collect_in_a_green_thread()
    workarounds.queue_sqlite_writers()
    workarounds.wake_rpc_listeners()
    workarounds.start_retried_actions()
    workarounds.look_often()
    path = config_files.write_senlin(plan)
    config.parse_args(['senlin', '--config-file', str(path)], 'senlin')
    log.setup(config.CONF, 'senlin')
    objects.register_all()
    if not (plan.directory / 'senlin.sqlite').exists():  # else it is started again
        provide(plan, 'senlin', ('senlin', 'sqlalchemy'), database.db_sync)
    messaging.setup()


def _collect_in_a_green_thread() -> None:
    """Keep the garbage collector out of eventlet's hub.

    Senlin leaves database sessions in reference cycles. Collected while the hub runs, SQLAlchemy
    rolls back and oslo.db's listener sleeps, which the hub may not: wake-ups are lost, and now and
    then a call never returns. It may go when Senlin closes its sessions.
    """
    import eventlet

    gc.disable()

    def collect() -> None:
        while True:
            eventlet.sleep(_COLLECT_EVERY)
            gc.collect()

    eventlet.spawn_n(collect)


if __name__ == '__main__':
    lifeline.run(('senlin',), run)
