"""Holds the sandbox of ``sandbox up``, in the terminal or in the background, until it is ended.

In the background it is ``python -m senlin_affinity.sandbox.supervisor``, in a session of its own.
It tells the command that started it how the start goes, one JSON object a line::

    {"stage": "Placement runs"}    {"ready": {}}    {"error": "...", "invalid": false}
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.sandbox import interruption, session
from senlin_affinity.sandbox.child import Progress, environment
from senlin_affinity.sandbox.cloud import SandboxCloud

#: The cloud of ``sandbox up`` without a file.
DEFAULT_HOSTS = 2


def hold(
    cloud_file: Path | None, senlin: bool, progress: Progress, on_ready: Callable[[], None]
) -> None:
    """Run the sandbox here until SIGTERM, SIGHUP or Ctrl-C."""
    with interruption.until_a_signal(), session.held():
        if cloud_file is None:
            cloud = SandboxCloud(DEFAULT_HOSTS, senlin=senlin, progress=progress)
        else:
            cloud = SandboxCloud.from_file(cloud_file, senlin=senlin, progress=progress)
        with cloud:
            notes = (os.getpid(), cloud.base_url, cloud.log_dir, cloud.pids)
            session.write(*notes, cloud.clouds_yaml())
            on_ready()
            cloud.wait()
            raise CloudError(f'a part of the sandbox has ended by itself\n{cloud.logs()}')


def start(cloud_file: Path | None, senlin: bool, progress: Progress) -> None:
    """Run the sandbox in the background; come back when it is ready.

    Errors: InvalidSpec and CloudError as :class:`SandboxCloud` raises them.
    """
    report, news = os.pipe()
    log = session.runtime_directory() / 'supervisor.log'
    command = [sys.executable, '-m', __name__, str(news)]
    command += [] if senlin else ['--no-senlin']
    command += [] if cloud_file is None else ['--cloud', str(cloud_file.absolute())]
    with open(log, 'wb') as output, open(report, encoding='utf-8') as lines:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[news],
            cwd='/',
            env=environment(),
            start_new_session=True,
        )
        os.close(news)
        try:
            _follow(lines, progress)
        except BaseException:
            if process.poll() is None:
                process.terminate()
            process.wait()
            raise


def _follow(lines: Any, progress: Progress) -> None:
    for line in lines:
        event = json.loads(line)
        if 'stage' in event:
            progress(event['stage'])
        if 'error' in event:
            raise InvalidSpec(event['error']) if event['invalid'] else CloudError(event['error'])
        if 'ready' in event:
            return
    log = session.runtime_directory() / 'supervisor.log'
    raise CloudError(f'the sandbox ended before it was ready: see {log}')


def main() -> int:
    """Be the background process."""
    parser = argparse.ArgumentParser(description='Holds a sandbox; not run by hand.')
    parser.add_argument('report', type=int)
    parser.add_argument('--cloud', type=Path)
    parser.add_argument('--no-senlin', dest='senlin', action='store_false')
    given = parser.parse_args()
    os.set_inheritable(given.report, False)

    def tell(event: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the command has gone, the sandbox stays
            os.write(given.report, json.dumps(event).encode() + b'\n')

    try:
        hold(
            given.cloud,
            given.senlin,
            lambda stage: tell({'stage': stage}),
            lambda: tell({'ready': {}}),
        )
    except Exception as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        tell({'error': str(error), 'invalid': isinstance(error, InvalidSpec)})
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
