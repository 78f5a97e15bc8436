"""A call and an operation end at their deadlines."""

from datetime import datetime, timedelta

import pytest

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.transport import GivenUp, left, operation, remaining, within


def test_a_call_returns_its_result():
    assert within(60, lambda: 'yes') == 'yes'
    assert within(60, lambda: None) is None


@pytest.mark.parametrize('error', [RuntimeError('odd'), SystemExit(3), GeneratorExit()], ids=repr)
def test_an_exception_of_a_call_is_raised_unchanged(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        within(60, fail)
    assert caught.value is error
    assert within(60, lambda: 'yes') == 'yes'


@pytest.mark.parametrize(
    'read',
    [
        lambda: None['versions'],
        lambda: datetime.fromisoformat('x'),
        lambda: datetime.min - timedelta(1),
    ],
    ids=['no mapping', 'no time', 'no such time'],
)
def test_a_malformed_response_that_breaks_a_library_is_reported(read):
    with pytest.raises(GivenUp, match='an answer does not conform to the API') as caught:
        within(60, read)
    assert caught.value.is_uncertain
    assert within(60, lambda: 'yes') == 'yes'


def test_the_deadline_of_a_long_list_counts_from_the_last_answer(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(transport.time, 'monotonic', lambda: now[0])
    transport.renew()  # no operation
    with operation(10):
        now[0] += 40
        within(60, transport.renew)
        assert left(60) == 50
        with operation(1):
            now[0] += 4
            transport.renew()
            assert left(60) == 5
        now[0] += 50
        assert left(60) < 0


def test_the_calls_of_an_operation_share_its_deadline(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(transport.time, 'monotonic', lambda: now[0])
    with operation(10):
        remaining = [left(10)]
        now[0] += 25
        remaining.append(left(10))
        with operation(10):  # nested
            now[0] += 25
            with pytest.raises(GivenUp, match='within 5 times the request timeout') as caught:
                within(10, lambda: 'asked')
        assert within(10, lambda: 'written', is_write=True) == 'written'
    assert remaining == [30, 25]
    assert not caught.value.is_uncertain
    assert within(10, lambda: 'asked') == 'asked'


def test_each_wait_for_the_server_ends_with_the_call(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(transport.time, 'monotonic', lambda: now[0])

    def call():
        waits = [remaining(10), remaining(None)]
        now[0] += 25
        waits.append(remaining(10))
        now[0] += 5
        remaining(10)
        return waits

    with pytest.raises(GivenUp, match=r'^no complete answer within 30 seconds$') as caught:
        within(10, call)
    assert caught.value.is_uncertain
    assert [remaining(10), remaining(None)] == [10, None], 'no call'
    with operation(1):
        assert within(10, lambda: [remaining(10), remaining(1)]) == [5, 1]
