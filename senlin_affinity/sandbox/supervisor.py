"""Run the sandbox of ``sandbox up``, in the terminal or in the background.

In the background it is ``python -m senlin_affinity.sandbox.supervisor``, and reports the progress
of the start to the command, one JSON object per line::

    {"stage": "Placement runs"}    {"ready": true}    {"error": "...", "invalid": false}
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.sandbox import session
from senlin_affinity.sandbox.blueprint import OPERATOR
from senlin_affinity.sandbox.child import Progress, environment
from senlin_affinity.sandbox.cloud import SandboxCloud

DEFAULT_HOSTS = 2


@dataclass(frozen=True)
class Wanted:
    """The parameters of ``sandbox up``: the path of a file, and the services.

    ``operator``: whether the policy has operator credentials.
    """

    cloud: str | None = None
    senlin: bool = True
    operator: bool = True

    def made(self, progress: Progress) -> SandboxCloud:
        """Return the sandbox, not yet started."""
        options = OPERATOR if self.operator else {}
        more: Any = {'senlin': self.senlin, 'progress': progress, 'senlin_options': options}
        if self.cloud is None:
            return SandboxCloud(DEFAULT_HOSTS, **more)
        return SandboxCloud.from_file(self.cloud, **more)


def hold(wanted: Wanted, progress: Progress, on_ready: Callable[[], None]) -> None:
    """Run the sandbox in this process until SIGTERM, SIGHUP or Ctrl-C."""
    with _until_a_signal(), session.held(), wanted.made(progress) as cloud:
        clouds_yaml = session.path('clouds.yaml')
        clouds_yaml.touch(mode=0o600)
        clouds_yaml.write_text(cloud.clouds_yaml(), encoding='utf-8')
        places = (cloud.base_url, str(cloud.log_dir), str(clouds_yaml))
        session.write(session.Session(os.getpid(), *places, cloud.pids))
        on_ready()
        cloud.wait()
        raise CloudError(f'a process of the sandbox ended unexpectedly\n{cloud.logs()}')


@contextlib.contextmanager
def _until_a_signal() -> Iterator[None]:
    """Run the block until the first SIGTERM, SIGHUP or Ctrl-C, which raises nothing."""
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


def start(wanted: Wanted, progress: Progress) -> None:
    """Start the sandbox in the background, and return when it is ready.

    Raise InvalidSpec and CloudError as :class:`SandboxCloud` does.
    """
    with open(session.path('supervisor.log'), 'wb') as output:
        process = subprocess.Popen(
            [sys.executable, '-m', __name__, json.dumps(dataclasses.asdict(wanted))],
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
    """Run the sandbox as the background process; return the exit status."""
    wanted = Wanted(**json.loads(sys.argv[1]))

    def tell(**event: Any) -> None:
        with contextlib.suppress(OSError):  # the command has exited, but the sandbox stays
            os.write(1, json.dumps(event).encode() + b'\n')

    try:
        hold(wanted, lambda stage: tell(stage=stage), lambda: tell(ready=True))
    except Exception as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        tell(error=str(error), invalid=isinstance(error, InvalidSpec))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
