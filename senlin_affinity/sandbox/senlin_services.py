"""The real Senlin in this process: API, conductor and engine, over an in-memory RPC.

Everything here runs in eventlet's green threads, as Senlin's own daemons do.
"""

from __future__ import annotations

import gc
import socket
from typing import Any

from senlin_affinity.sandbox import ini, senlin_config, workarounds
from senlin_affinity.sandbox.plan import Plan
from senlin_affinity.sandbox.template_databases import Templates, versions

_MAKERS = ('senlin', 'sqlalchemy')
#: Seconds between two collections of garbage.
_COLLECT_EVERY = 1

#: The services that run; nothing else holds them.
_running: list[Any] = []


def load(plan: Plan) -> None:
    """Import Senlin, read its configuration and make its database."""
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
    path = plan.directory / 'senlin.conf'
    sections = senlin_config.senlin_sections(plan)
    path.write_text(ini.render(sections, plan.blueprint.senlin_options), encoding='utf-8')
    config.parse_args(['senlin', '--config-file', str(path)], 'senlin')
    log.setup(config.CONF, 'senlin')
    objects.register_all()
    if not (plan.directory / 'senlin.sqlite').exists():  # else it is started again
        templates = Templates(plan.cache, versions(_MAKERS), plan.directory)
        templates.provide('senlin', database.db_sync)
    messaging.setup()


def start(listener: socket.socket) -> None:
    """Start the conductor, the engine, and the API on the listening socket."""
    import eventlet
    import eventlet.wsgi
    from senlin.api.common import wsgi
    from senlin.common import consts
    from senlin.conductor import service as conductor
    from senlin.conf import CONF
    from senlin.engine import service as engine

    for service in (
        conductor.ConductorService(CONF.host, consts.CONDUCTOR_TOPIC),
        engine.EngineService(CONF.host, consts.ENGINE_TOPIC),
    ):
        service.start()
        _running.append(service)
    application = wsgi.load_paste_app('senlin-api')
    # The socket again, as a green one.
    sock = eventlet.greenio.GreenSocket(listener)
    eventlet.spawn_n(eventlet.wsgi.server, sock, application, log_output=False)


def wait() -> None:
    """Let the green threads run, for ever."""
    import eventlet

    gc.freeze()  # what is loaded by now stays; to go through all of it takes 50 ms each time
    eventlet.event.Event().wait()


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
