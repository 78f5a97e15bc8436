"""Holds the sandbox of ``sandbox up``, in the terminal or in the background, until it is ended.

In the background it is ``python -m senlin_affinity.sandbox.supervisor``, in a session of its own.
It tells the command that started it how the start goes, one JSON object a line::

    {"stage": "Placement runs"}    {"ready": true}    {"error": "...", "invalid": false}
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.sandbox import session
from senlin_affinity.sandbox.child import Progress, environment
from senlin_affinity.sandbox.cloud import SandboxCloud

#: The cloud of ``sandbox up`` without a file.
DEFAULT_HOSTS = 2


def hold(
    cloud_file: Path | None, senlin: bool, progress: Progress, on_ready: Callable[[], None]
) -> None:
    """Run the sandbox here until SIGTERM, SIGHUP or Ctrl-C."""
    with _until_a_signal(), session.held():
        if cloud_file is None:
            cloud = SandboxCloud(DEFAULT_HOSTS, senlin=senlin, progress=progress)
        else:
            cloud = SandboxCloud.from_file(cloud_file, senlin=senlin, progress=progress)
        with cloud:
            clouds_yaml = session.path('clouds.yaml')
            clouds_yaml.touch(mode=0o600)
            clouds_yaml.write_text(cloud.clouds_yaml(), encoding='utf-8')
            places = (cloud.base_url, str(cloud.log_dir), str(clouds_yaml))
            session.write(session.Session(os.getpid(), *places, cloud.pids))
            on_ready()
            cloud.wait()
            raise CloudError(f'a part of the sandbox has ended by itself\n{cloud.logs()}')


@contextlib.contextmanager
def _until_a_signal() -> Iterator[None]:
    """Let SIGTERM, SIGHUP and Ctrl-C end the block, the first of them, without an error."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def end(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def start(cloud_file: Path | None, senlin: bool, progress: Progress) -> None:
    """Run the sandbox in the background; come back when it is ready.

    Errors: InvalidSpec and CloudError as :class:`SandboxCloud` raises them.
    """
    given = {'cloud': cloud_file and str(cloud_file.absolute()), 'senlin': senlin}
    with open(session.path('supervisor.log'), 'wb') as output:
        process = subprocess.Popen(
            [sys.executable, '-m', __name__, json.dumps(given)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd='/',
            env=environment(),
            start_new_session=True,
        )
    try:
        _follow(process.stdout, progress)
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
    log = session.path('supervisor.log')
    raise CloudError(f'the sandbox ended before it was ready: see {log}')


def main() -> int:
    """Be the background process."""
    given = json.loads(sys.argv[1])
    cloud_file = given['cloud'] and Path(given['cloud'])

    def tell(**event: Any) -> None:
        with contextlib.suppress(OSError):  # the command has gone, the sandbox stays
            os.write(1, json.dumps(event).encode() + b'\n')

    try:
        hold(cloud_file, given['senlin'], lambda stage: tell(stage=stage), lambda: tell(ready=True))
    except Exception as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        tell(error=str(error), invalid=isinstance(error, InvalidSpec))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
