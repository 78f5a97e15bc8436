"""A call that does not end is left behind, and its session is not used again."""

import signal
import threading
from types import SimpleNamespace

import pytest
import requests

from senlin_affinity.cloud import deadline
from senlin_affinity.cloud.deadline import GivenUp, left, operation, within

#: Seconds; nothing that is waited for here ever comes.
SHORT = 0.01


@pytest.fixture
def endless():
    """A call that does not end before the test does."""
    end = threading.Event()
    yield end.wait
    end.set()


@pytest.fixture
def session():
    return SimpleNamespace(session=requests.Session())


def test_a_call_answers(session):
    assert within(60, lambda: 'yes', session) == 'yes'
    assert within(60, lambda: None) is None


@pytest.mark.parametrize('error', [ValueError('odd'), SystemExit(3), GeneratorExit()], ids=repr)
def test_what_a_call_raises_comes_out_as_it_is(session, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        within(60, fail, session)
    assert caught.value is error
    assert within(60, lambda: 'yes', session) == 'yes'


def test_what_odd_answers_do_to_the_libraries_is_an_error_in_our_words(session):
    with pytest.raises(GivenUp, match='an answer is not what the API says') as caught:
        within(60, lambda: None['versions'], session)
    assert caught.value.is_uncertain
    assert within(60, lambda: 'yes', session) == 'yes'


def test_an_error_is_not_blamed_on_what_its_caller_is_handling(session):
    def fail():
        raise ValueError('odd')

    try:
        raise OSError(104, 'Connection reset by peer')
    except OSError:
        with pytest.raises(ValueError, match='odd') as caught:
            within(60, fail, session)
    assert caught.value.__context__ is None


def test_an_operation_has_a_deadline_that_its_calls_share(monkeypatch, session):
    now = [100.0]
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: now[0])
    with operation(10):
        seen = [left(10)]
        now[0] += 25
        seen.append(left(10))
        with operation(10):  # in another one
            now[0] += 25
            with pytest.raises(GivenUp, match='is over its deadline of 5 timeouts') as caught:
                within(10, lambda: 'asked', session)
        assert within(10, lambda: 'written', session, is_write=True) == 'written'
    assert seen == [30, 25]
    assert not caught.value.is_uncertain
    assert within(10, lambda: 'asked', session) == 'asked'


def test_a_call_ends_with_its_operation(monkeypatch, endless, session):
    """The clock stands still, or the operation could be over before its call on a busy machine."""
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: 100.0)
    with operation(SHORT / 5), pytest.raises(GivenUp, match=r'within 0\.01 seconds'):
        within(60, endless, session)


def test_a_call_that_does_not_end(endless, session):
    with pytest.raises(GivenUp, match=r'^no complete answer within 0\.03 seconds$') as caught:
        within(SHORT, endless, session)
    assert caught.value.is_uncertain
    left = [each for each in threading.enumerate() if each.name == 'senlin-affinity request']
    assert {each.daemon for each in left} == {True}, 'else the process could not end'


def test_a_session_that_was_given_up_fails_at_once(endless, session):
    with pytest.raises(GivenUp):
        within(SHORT, endless, session)
    words = r'given up: a request before had no complete answer within 0\.03 seconds'
    with pytest.raises(GivenUp, match=words) as caught:
        within(600, endless, session)
    assert not caught.value.is_uncertain, 'nothing was sent'


def test_a_session_that_was_given_up_sends_nothing_more(endless, session):
    """Whoever asks it: also the call that was left behind."""
    with pytest.raises(GivenUp):
        within(SHORT, endless, session)
    with pytest.raises(requests.ConnectionError, match='no complete answer'):
        session.session.get('http://127.0.0.1:9/')


def test_a_wait_that_is_interrupted_gives_the_session_up(endless, session):
    """By Ctrl-C, as a person presses it: the signal goes to the thread that waits."""

    def interrupt():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        endless()

    with pytest.raises(KeyboardInterrupt):
        within(60, interrupt, session)
    with pytest.raises(GivenUp, match='a request before had been interrupted'):
        within(60, endless, session)


def test_without_a_session_nothing_is_given_up(endless):
    with pytest.raises(GivenUp):
        within(SHORT, endless)
    assert within(60, lambda: 'yes') == 'yes'
