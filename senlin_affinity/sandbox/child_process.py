"""The frame of both child processes: arguments in, a ready line or a clear error out."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from senlin_affinity.sandbox import components, work_directory
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.plan import Plan

Body = Callable[[Plan, socket.socket, Lifeline], None]


def arguments(directory: Path, listener: int, lifeline: int, report: int) -> list[str]:
    """Give the command line that :func:`run` reads."""
    values = (str(directory), str(listener), str(lifeline), str(report), str(os.getpid()))
    return list(values)


def run(needed: tuple[str, ...], body: Body) -> None:
    """Be a child: watch the parent, check what is needed, run the services for ever.

    :param needed: the distributions without which there is nothing to run.
    :param body: starts the services, says that they are ready, and returns only to end.
    """
    parser = argparse.ArgumentParser(description='A part of the sandbox; not run by hand.')
    parser.add_argument('directory', type=Path)
    for name in ('listener', 'lifeline', 'report', 'parent'):
        parser.add_argument(name, type=int)
    given = parser.parse_args()
    lifeline = Lifeline(given.lifeline, given.report, given.directory, given.parent)
    try:
        work_directory.hold(given.directory)
        lifeline.hold()
        absent = components.missing(needed)
        if absent:
            lifeline.fail(components.advice(absent, sys.executable), absent)
        body(Plan.read(given.directory), socket.socket(fileno=given.listener), lifeline)
    except BaseException as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        sys.stderr.flush()
        lifeline.fail(f'{type(error).__name__}: {error}')
    lifeline.leave()
