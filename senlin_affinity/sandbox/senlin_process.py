"""The child process with Senlin: ``python -m senlin_affinity.sandbox.senlin_process``."""

from __future__ import annotations

import socket

from senlin_affinity.sandbox import child_process, components
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.plan import Plan


def run(plan: Plan, listener: socket.socket, lifeline: Lifeline) -> None:
    """Start everything, then wait for the end."""
    # Not above: it brings Senlin, which changes Python's modules.
    from senlin_affinity.sandbox import senlin_services

    lifeline.stage('Senlin is loading')
    senlin_services.load(plan)
    lifeline.stage('Senlin has its database')
    senlin_services.start(listener)
    lifeline.stage("Senlin's API, conductor and engine run")
    lifeline.ready()
    senlin_services.wait()


if __name__ == '__main__':
    child_process.run(components.SENLIN_CHILD, run)
