"""Run ``main`` of a service's module under the system's Python: ``daemon.py nova.cmd.compute ...``.

Senlin 14 leaves database sessions in reference cycles. If Python collects them in eventlet's hub,
their rollback switches greenlets there, and an action hangs forever. For Senlin, only an ordinary
green thread collects garbage. Remove this when Senlin closes its sessions.

An engine kills itself before a step of an action if the file in CLUSTER_DIE names both, as in
``CLUSTER_ATTACH_POLICY 7``. A step is a request that is not a GET, or a commit to the database.
"""

import contextvars
import gc
import importlib
import os
import signal
import sys
from pathlib import Path

module = sys.argv.pop(1)
is_senlin = module.startswith('senlin.cmd.')
if is_senlin:
    gc.disable()
main = importlib.import_module(module).main  # applies eventlet's patches

if is_senlin:
    import eventlet

    def collect():
        """Collect garbage every five seconds, except the imported modules."""
        gc.freeze()
        while True:
            eventlet.sleep(5)
            gc.collect()

    eventlet.spawn_n(collect)

if 'CLUSTER_DIE' in os.environ:
    import requests
    import sqlalchemy
    from senlin.engine.actions import base

    trap = Path(os.environ['CLUSTER_DIE'])
    #: The steps that remain, in a list that the threads of an action share.
    remaining = contextvars.ContextVar('remaining', default=None)
    run, send = base.ActionProc, requests.Session.send

    def count(*_connection):
        """Count a step, and die before the one in the file."""
        left = remaining.get()
        if left is not None:
            left[0] -= 1
            if left[0] == 0:
                trap.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

    def run_counted(context, action_id):
        """Run an action, with its steps counted if the file names it."""
        if trap.exists():
            name, number = trap.read_text().split()
            action = base.Action.load(context, action_id=action_id, project_safe=False)
            remaining.set([int(number)] if action.action == name else None)
        return run(context, action_id)

    def send_counted(session, request, **more):
        """Send a request, which is a step unless it reads."""
        if request.method != 'GET':
            count()
        return send(session, request, **more)

    base.ActionProc, requests.Session.send = run_counted, send_counted
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, 'commit', count)

sys.argv[0] = module.replace('.cmd.', '-').replace('_', '-')
sys.exit(main())
