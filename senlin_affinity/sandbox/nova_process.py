"""The child process with Nova, Placement and the stubs: ``python -m ...sandbox.nova_process``.

The stubs answer first, so that Senlin's process can start at the same time.
"""

from __future__ import annotations

import os
import socket
import threading

from senlin_affinity.sandbox import child_process, components, wsgi
from senlin_affinity.sandbox.faults import Observer
from senlin_affinity.sandbox.glance_and_neutron import Glance, Neutron
from senlin_affinity.sandbox.keystone import Keystone
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.plan import Plan
from senlin_affinity.sandbox.wsgi import Switchboard


def run(plan: Plan, listener: socket.socket, lifeline: Lifeline) -> None:
    """Start everything, then wait for the end."""
    observer, switchboard = Observer(), Switchboard()
    applications = switchboard.applications
    applications['_sandbox'] = observer
    applications['identity'] = Keystone(plan.endpoints, plan.secret)
    applications['image'] = Glance(plan.endpoints)
    applications['network'] = Neutron(plan.endpoints)
    wsgi.serve(listener, switchboard)

    # Before anything of Nova is imported: native threads, no eventlet.
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    from senlin_affinity.sandbox import furniture, nova_services, placement_service

    lifeline.stage('Nova and Placement are loading')
    nova_services.load(plan)
    applications['placement'] = observer.watch('placement', placement_service.start(plan))
    lifeline.stage('Placement runs')
    applications['compute'] = observer.watch('compute', nova_services.start_api(plan))
    nova_services.start_controllers()
    lifeline.stage("Nova's API, conductor and scheduler run")
    nova_services.start_computes(plan.blueprint.hosts)
    lifeline.stage(f'{len(plan.blueprint.hosts)} compute services run')
    furniture.arrange(plan)
    lifeline.ready()
    threading.Event().wait()


if __name__ == '__main__':
    child_process.run(components.NOVA_CHILD, run)
