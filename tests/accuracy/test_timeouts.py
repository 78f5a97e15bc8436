"""A service that is too slow makes no answer wrong: the question is asked again, or not counted."""

import socket

import pytest
import requests
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from senlin_affinity.cloud import transport
from senlin_affinity.model.errors import CloudError
from tests.accuracy import kept, run, servers, timeouts
from tests.accuracy.comparison import NOT_ASKED, Result
from tests.accuracy.kinds import plain
from tests.accuracy.stage import Stage
from tests.support import waiting


@pytest.fixture
def silent():
    """The URL of a service that never answers."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        yield f'http://127.0.0.1:{listener.getsockname()[1]}'


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def get(url):
    with requests.Session() as session:
        session.trust_env = False
        session.get(url, timeout=0.1)


def sdk_get(url):
    Session(Token(url, 'token')).get(url, timeout=0.1)


@pytest.mark.parametrize('call', [get, sdk_get])
def test_a_silent_service_is_a_timeout(silent, call):
    error = error_of(lambda: call(silent))
    assert timeouts.is_timeout(error)
    wrapped = CloudError('could not list the servers')
    wrapped.__cause__ = error
    assert timeouts.is_timeout(wrapped)


def test_the_deadline_of_a_read_is_a_timeout():
    def read():
        while True:
            transport.remaining(None)

    assert timeouts.is_timeout(error_of(lambda: transport.within(0.001, read)))


def test_a_condition_that_is_not_met_in_time_is_a_timeout():
    assert timeouts.is_timeout(error_of(lambda: waiting.until(lambda: False, 0)))


@pytest.mark.parametrize(
    'error', [AssertionError('500 Unexpected API Error'), CloudError('HTTP 503'), KeyError('id')]
)
def test_other_errors_are_wrong_answers(error):
    assert not timeouts.is_timeout(error)


def test_an_error_of_nova_that_reports_a_timeout_is_one():
    with pytest.raises(waiting.NotInTime):
        timeouts.check("Unexpected API Error. <class 'oslo_messaging.exceptions.MessagingTimeout'>")
    timeouts.check('No valid host was found.')


def late(seed):
    return Result('plain', seed, -1, None, False, 0, 'NotInTime', is_asked=False)


def asked(seed):
    return Result('plain', seed, 0, 3, False, 3, '')


def test_a_case_that_was_not_asked_is_neither_right_nor_wrong():
    assert late(1).outcome == NOT_ASKED
    assert late(1).is_right


@pytest.mark.parametrize(('of', 'is_failed'), [(100, False), (99, True)])
def test_more_than_two_percent_that_were_not_asked_fail(of, is_failed):
    assert run.are_too_many([late(1), late(2)], [asked(seed) for seed in range(3, of + 1)]) == (
        is_failed
    )


def test_a_case_that_was_asked_later_counts_as_asked(tmp_path):
    path = tmp_path / 'out.json'
    kept.add(path, [late(1), late(2), asked(1)])
    assert kept.read(path) == [late(2), asked(1)]


@pytest.mark.long
def test_a_case_is_asked_again_on_a_new_sandbox(monkeypatch):
    """No server starts within no time."""
    started = []

    class Counted(Stage):
        def __enter__(self):
            started.append(self)
            return super().__enter__()

    monkeypatch.setattr(run, 'Stage', Counted)
    monkeypatch.setattr(servers, '_LONGEST', 0.0)
    ((_case, result),) = run.play([plain.case(1)], float('inf'))
    assert result.outcome == NOT_ASKED
    assert 'NotInTime' in result.line
    assert len(started) == run.ATTEMPTS
