"""Runs the commands the way a person does: in a folder, with an environment."""

import pytest

from tests.support import command


@pytest.fixture
def run(tmp_path):
    """``run('policy', 'validate', 'spec.yaml')``: in a folder of its own, with no cloud named.

    In this process, unless the environment has what Python reads as it starts.
    """

    def run_command(*arguments, **environment):
        alone = any(name.startswith('PYTHON') for name in environment)
        named = {'HOME': str(tmp_path), 'COLUMNS': '120', **environment}
        return (command.run_alone if alone else command.run)(*arguments, folder=tmp_path, **named)

    return run_command


@pytest.fixture
def write(tmp_path):
    """``write('spec.yaml', text)``: a file in that folder."""

    def write_file(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return write_file
