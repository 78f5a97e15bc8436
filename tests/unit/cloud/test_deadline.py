"""A call that does not return in time is abandoned, and its session is not used again."""

import signal
import threading
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
import requests

from senlin_affinity.cloud import deadline
from senlin_affinity.cloud.deadline import GivenUp, left, operation, within

#: Seconds; no awaited event occurs in these tests.
SHORT = 0.01


@pytest.fixture
def endless():
    """Return a call that does not return before the end of the test."""
    end = threading.Event()
    yield end.wait
    end.set()


@pytest.fixture
def session():
    return SimpleNamespace(session=requests.Session())


def test_a_call_returns_its_result(session):
    assert within(60, lambda: 'yes', session) == 'yes'
    assert within(60, lambda: None) is None


@pytest.mark.parametrize('error', [RuntimeError('odd'), SystemExit(3), GeneratorExit()], ids=repr)
def test_an_exception_of_a_call_is_raised_unchanged(session, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        within(60, fail, session)
    assert caught.value is error
    assert within(60, lambda: 'yes', session) == 'yes'


@pytest.mark.parametrize(
    'read',
    [
        lambda: None['versions'],
        lambda: datetime.fromisoformat('x'),
        lambda: datetime.min - timedelta(1),
    ],
    ids=['no mapping', 'no time', 'no such time'],
)
def test_a_malformed_response_that_breaks_a_library_is_reported(session, read):
    with pytest.raises(GivenUp, match='an answer does not conform to the API') as caught:
        within(60, read, session)
    assert caught.value.is_uncertain
    assert within(60, lambda: 'yes', session) == 'yes'


def test_an_error_has_no_context_of_its_caller(session):
    def fail():
        raise RuntimeError('odd')

    try:
        raise OSError(104, 'Connection reset by peer')
    except OSError:
        with pytest.raises(RuntimeError, match='odd') as caught:
            within(60, fail, session)
    assert caught.value.__context__ is None


def test_the_deadline_of_a_long_list_counts_from_the_last_answer(monkeypatch, session):
    now = [100.0]
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: now[0])
    deadline.renew()  # no operation
    with operation(10):
        now[0] += 40
        within(60, deadline.renew, session)  # in another thread
        assert left(60) == 50
        with operation(1):
            now[0] += 4
            deadline.renew()
            assert left(60) == 5
        now[0] += 50
        assert left(60) < 0


def test_the_calls_of_an_operation_share_its_deadline(monkeypatch, session):
    now = [100.0]
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: now[0])
    with operation(10):
        remaining = [left(10)]
        now[0] += 25
        remaining.append(left(10))
        with operation(10):  # nested
            now[0] += 25
            with pytest.raises(GivenUp, match='within 5 times the request timeout') as caught:
                within(10, lambda: 'asked', session)
        assert within(10, lambda: 'written', session, is_write=True) == 'written'
    assert remaining == [30, 25]
    assert not caught.value.is_uncertain
    assert within(10, lambda: 'asked', session) == 'asked'


def test_a_call_is_limited_by_its_operation(monkeypatch, endless, session):
    """The clock is fixed, because on a busy machine the operation could end before the call."""
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: 100.0)
    with operation(SHORT / 5), pytest.raises(GivenUp, match=r'within 0\.01 seconds'):
        within(60, endless, session)


def test_a_call_without_an_end_is_given_up(endless, session):
    with pytest.raises(GivenUp, match=r'^no complete answer within 0\.03 seconds$') as caught:
        within(SHORT, endless, session)
    assert caught.value.is_uncertain
    left = [each for each in threading.enumerate() if each.name == 'senlin-affinity request']
    assert {each.daemon for each in left} == {True}, 'other threads keep the process alive'


def test_an_abandoned_session_fails_at_once(endless, session):
    with pytest.raises(GivenUp):
        within(SHORT, endless, session)
    words = r'abandoned: an earlier request had no complete answer within 0\.03 seconds'
    with pytest.raises(GivenUp, match=words) as caught:
        within(600, endless, session)
    assert not caught.value.is_uncertain, 'the request was not sent'


def test_an_abandoned_session_sends_no_request(endless, session):
    """This includes the abandoned call."""
    with pytest.raises(GivenUp):
        within(SHORT, endless, session)
    with pytest.raises(requests.ConnectionError, match='no complete answer'):
        session.session.get('http://127.0.0.1:9/')


def test_an_interrupted_call_abandons_its_session(endless, session):
    """As with Ctrl-C, the signal goes to the waiting thread."""

    def interrupt():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        endless()

    with pytest.raises(KeyboardInterrupt):
        within(60, interrupt, session)
    with pytest.raises(GivenUp, match='an earlier request had been interrupted'):
        within(60, endless, session)


def test_a_call_without_a_session_abandons_nothing(endless):
    with pytest.raises(GivenUp):
        within(SHORT, endless)
    assert within(60, lambda: 'yes') == 'yes'
