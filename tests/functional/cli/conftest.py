"""Runs the commands the way a person does: in a process, in a folder, with an environment."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """``run('policy', 'validate', 'spec.yaml')``: in a folder of its own, with no cloud named."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}

    def run_command(*arguments, **environment):
        return subprocess.run(
            [sys.executable, '-m', 'senlin_affinity.cli.main', *arguments],
            cwd=tmp_path,
            env={**clean, 'HOME': str(tmp_path), 'COLUMNS': '120', **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run_command


@pytest.fixture
def write(tmp_path):
    """``write('spec.yaml', text)``: a file in that folder."""

    def write_file(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return write_file
