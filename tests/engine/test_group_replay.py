"""The explorer's model of group operations behaves like Senlin and the driver."""

import subprocess
import sys

import pytest


@pytest.mark.long
def test_the_model_and_senlin_agree():
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.engine.group_replay', '40']
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    assert '40 traces' in done.stdout
