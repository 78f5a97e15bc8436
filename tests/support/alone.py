"""A pytest plugin for ``make quick``: a test that opens a socket or starts a process fails.

Audit hooks of Python detect both in any code.
"""

import sys

import pytest

_EVENTS = ('socket.connect', 'socket.bind', 'subprocess.Popen', 'os.fork', 'os.posix_spawn')
_running = []


def _watch(event, arguments):
    if _running and event in _EVENTS:
        raise PermissionError(f'{_running[-1]}: {event}{arguments} in a test of "make quick"')


sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.pop()
