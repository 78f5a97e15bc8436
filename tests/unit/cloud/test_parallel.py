"""Calls run a few at a time; the first error ends them."""

import contextvars
import threading

import pytest

from senlin_affinity.cloud.senlin import mapped

VARIABLE = contextvars.ContextVar('variable', default=0)


def test_each_item_has_its_result():
    assert dict(mapped(str, range(100))) == {number: str(number) for number in range(100)}
    assert [*mapped(str, [])] == []


def test_calls_run_at_the_same_time_up_to_a_number():
    both, lock, running, most = threading.Barrier(2), threading.Lock(), [0], [0]

    def call(number):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        if number < 2:
            both.wait(10)
        with lock:
            running[0] -= 1

    assert len([*mapped(call, range(20), threads=2)]) == 20
    assert most == [2]


def test_a_call_runs_in_the_context_of_the_caller():
    VARIABLE.set(7)
    assert [*mapped(lambda _item: VARIABLE.get(), ['a'])] == [('a', 7)]


def test_no_call_begins_after_an_error():
    called = []

    def call(number):
        called.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match='0'):
        [*mapped(call, range(100), threads=1)]
    assert called == [0]
