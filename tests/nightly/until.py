"""A pytest plugin for ``make nightly``: no test starts after ``--until``, a ``time.time()``."""

import time

import pytest


def pytest_addoption(parser):
    parser.addoption('--until', type=float, default=float('inf'))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if time.time() > item.config.getoption('--until'):
        pytest.skip('the time is up')
