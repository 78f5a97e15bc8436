"""Run ``tests/nova``, which loads Nova's objects and API, in a separate process.

Nova and Senlin register options with the same names, so they cannot share a process.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / 'nova'


def test_the_nova_plugins_work_with_novas_own_objects():
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(FOLDER)]
    pipes = {'capture_output': True, 'text': True, 'timeout': 300}
    done = subprocess.run(command, cwd=FOLDER.parents[1], **pipes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ' passed' in done.stdout
