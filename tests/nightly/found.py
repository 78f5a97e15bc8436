"""A plugin of pytest for ``make nightly``: a failing example becomes a row; nothing begins late.

Units: ``--until`` is a ``time.time()``.
"""

import time
from pathlib import Path

import pytest

from tests.support import tables

#: Characters of a report: the example and the line that repeats it stand at the end.
_MOST = 6000


def pytest_addoption(parser):
    parser.addoption('--keep', metavar='TABLE', type=Path)
    parser.addoption('--until', type=float, default=float('inf'))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if time.time() > item.config.getoption('--until'):
        pytest.skip('the time is up')


def pytest_configure(config):
    if config.getoption('--keep') and not hasattr(config, 'workerinput'):
        config.pluginmanager.register(_Keeper(config))


class _Keeper:
    """Hears of the tests of all workers."""

    def __init__(self, config):
        self._table = config.getoption('--keep')
        self._seed = int(config.getoption('--hypothesis-seed'))

    def pytest_runtest_logreport(self, report):
        if report.failed and report.when == 'call' and 'hypothesis' in report.keywords:
            tables.keep(self._table, row(report.nodeid, self._seed, report.longreprtext))


def row(test, seed, text):
    """The row of a failing test: pytest repeats it with this seed."""
    _, found, example = text.rpartition('Falsifying example: ')
    lines = f'{found}{example}'[-_MOST:].splitlines()
    return {
        'name': f'{test} with seed {seed}',
        'source': 'make nightly',
        'test': test,
        'seed': seed,
        'example': [line.removeprefix('E').strip() for line in lines],
    }
