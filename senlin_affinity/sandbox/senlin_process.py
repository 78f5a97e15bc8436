"""Run Senlin: ``python -m senlin_affinity.sandbox.senlin_process``.

API, conductor and engine run over an in-memory RPC in eventlet's green threads.
"""

from __future__ import annotations

import gc
import socket

from senlin_affinity.sandbox import config_files, lifeline, workarounds
from senlin_affinity.sandbox.blueprint import RunPlan
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.template_databases import provide

#: Seconds.
_COLLECT_EVERY = 1


def run(plan: RunPlan, listener: socket.socket, parent: Lifeline) -> None:
    """Start everything, and run the green threads forever."""
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
    sock = eventlet.greenio.GreenSocket(listener)
    eventlet.spawn_n(eventlet.wsgi.server, sock, application, log_output=False)
    parent.tell(stage="Senlin's API, conductor and engine run")
    parent.tell(ready=True)
    gc.freeze()  # loaded objects stay; scanning them takes 50 ms each time
    eventlet.event.Event().wait()


def _load_senlin(plan: RunPlan) -> None:
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
    if not (plan.directory / 'senlin.sqlite').exists():  # it exists after a restart
        provide(plan, 'senlin', ('senlin', 'sqlalchemy'), database.db_sync)
    messaging.setup()


def _collect_in_a_green_thread() -> None:
    """Run the garbage collector in a green thread of its own, instead of eventlet's hub.

    Senlin leaves database sessions in reference cycles. If they are collected while the hub runs,
    SQLAlchemy rolls back and oslo.db's listener sleeps, which the hub must not: wake-ups are lost,
    and some calls never return. Remove this when Senlin closes its sessions.
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
