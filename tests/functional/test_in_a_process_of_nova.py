"""Runs ``tests/nova``, whose tests load Nova's objects and API, in a process of its own.

Nova and Senlin register options of the same names, so that one process has room for one of them.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / 'nova'


def test_what_nova_loads_works_on_novas_own_objects():
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(FOLDER)]
    pipes = {'capture_output': True, 'text': True, 'timeout': 300}
    done = subprocess.run(command, cwd=FOLDER.parents[1], **pipes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ' passed' in done.stdout
