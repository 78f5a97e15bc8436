"""Run commands like a user: in a folder, with an environment."""

import pytest

from tests.support import command


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the command in its own folder, without a configured cloud.

    The command runs in this process, unless the environment has variables that Python reads at
    start.
    """

    def run_command(*arguments, **environment):
        alone = any(name.startswith('PYTHON') for name in environment)
        named = {'HOME': str(tmp_path), 'COLUMNS': '120', **environment}
        return (command.run_alone if alone else command.run)(*arguments, folder=tmp_path, **named)

    return run_command


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file into that folder."""

    def write_file(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return write_file
