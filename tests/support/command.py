"""Run the command ``senlin-affinity`` in this process, with the behaviour of a separate one.

A process takes half a second to start, and most tests are about the output. Only what depends on a
process (start, signals, pipes, locale, imports) is tested in one.

Shapes::

    done = command.run('plan', '--count', '3', folder=tmp_path, COLUMNS='80')
    (done.returncode, done.stdout, done.stderr) == (2, '', 'error: ...')

The environment is that of the tests without the variables of clouds (``OS_``), with the given
variables. Variables that Python reads at start (``PYTHON...``) need ``run_alone``, which uses a
separate process.
"""

from __future__ import annotations

import builtins
import contextlib
import locale
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openstack.config import loader

from senlin_affinity.cli import main

LINE = (sys.executable, '-m', 'senlin_affinity.cli.main')
#: The environment of a cloud that does not respond.
NO_CLOUD = {
    'OS_AUTH_URL': 'http://127.0.0.1:9/v3',
    'OS_USERNAME': 'u',
    'OS_PASSWORD': 'p',
    'OS_PROJECT_NAME': 'p',
    'NO_PROXY': '127.0.0.1',
}


def run(
    *arguments: str, folder: Path | str = '.', text: str = '', **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with this standard input, and return its exit status and both outputs."""
    assert not any(name.startswith('PYTHON') for name in environment)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile('w+')) for _ in range(3)]
        streams[0].write(text)
        streams[0].seek(0)
        stack.enter_context(_place(folder, _environment(environment)))
        stack.enter_context(_clouds_files())
        stack.enter_context(_streams(*streams))
        stack.enter_context(_logging())
        status = _status(arguments)
        outputs = [_content(stream) for stream in streams[1:]]
    return subprocess.CompletedProcess([*LINE, *arguments], status, *outputs)


def run_alone(
    *arguments: str, folder: Path | str = '.', text: str = '', **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process."""
    return subprocess.run(
        [*LINE, *arguments],
        cwd=folder,
        env=_environment(environment),
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def check_refused(done: subprocess.CompletedProcess[str], outputs: str, status: int = 2) -> None:
    """Check that the command wrote this error as one line, to stderr only."""
    assert (done.returncode, done.stdout) == (status, '')
    assert outputs in done.stderr
    assert done.stderr.startswith('error: ')
    assert done.stderr.count('\n') == 1


def _environment(named: dict[str, str]) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
    return {**clean, **named}


def _status(arguments: tuple[str, ...]) -> int:
    """Return the exit status that a process would have."""
    try:
        return main.main(arguments)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f'{error.code}\n')
        return 1


@contextlib.contextmanager
def _place(folder: Path | str, environment: dict[str, str]) -> Iterator[None]:
    before, variables = os.getcwd(), dict(os.environ)
    language = locale.setlocale(locale.LC_ALL)
    os.chdir(folder)
    _replace(environment)
    try:
        yield
    finally:
        os.chdir(before)
        _replace(variables)
        locale.setlocale(locale.LC_ALL, language)  # cliff changes it


def _replace(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


@contextlib.contextmanager
def _clouds_files() -> Iterator[None]:
    """Set the paths of clouds.yaml, which openstacksdk determines at import."""
    folders = (os.getcwd(), os.path.expanduser('~/.config/openstack'), '/etc/openstack')
    kinds = {'CONFIG_FILES': 'clouds', 'SECURE_FILES': 'secure', 'VENDOR_FILES': 'clouds-public'}
    before = {name: getattr(loader, name) for name in kinds}
    for name, stem in kinds.items():
        suffixes = (*loader.YAML_SUFFIXES, *loader.JSON_SUFFIXES)
        files = [os.path.join(place, stem + suffix) for place in folders for suffix in suffixes]
        setattr(loader, name, files)
    try:
        yield
    finally:
        for name, files in before.items():
            setattr(loader, name, files)


@contextlib.contextmanager
def _streams(stdin: Any, stdout: Any, stderr: Any) -> Iterator[None]:
    """Use files as the standard streams; warnings that Python shows by default go there, too."""

    def show(message: Any, kind: Any, file: str, line: int, *_: Any) -> None:
        sys.stderr.write(warnings.formatwarning(message, kind, file, line))

    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    try:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for name in ('Deprecation', 'PendingDeprecation', 'Import', 'Resource'):
                warnings.simplefilter('ignore', getattr(builtins, f'{name}Warning'))
            warnings.showwarning = show
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@contextlib.contextmanager
def _logging() -> Iterator[None]:
    """Run with the handlers and levels of the command only, and restore the previous ones."""
    root = logging.getLogger()
    handlers, levels = root.handlers[:], _levels()
    root.handlers[:] = []
    for logger in levels:
        logger.setLevel(logging.WARNING if logger is root else logging.NOTSET)
    try:
        yield
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = handlers
        for logger in _levels():
            logger.setLevel(levels.get(logger, logging.NOTSET))


def _levels() -> dict[logging.Logger, int]:
    root = logging.getLogger()
    known = (item for item in root.manager.loggerDict.values() if isinstance(item, logging.Logger))
    return {logger: logger.level for logger in (root, *known)}


def _content(stream: Any) -> str:
    stream.flush()
    stream.seek(0)
    return str(stream.read())
