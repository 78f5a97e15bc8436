"""Waits for a condition, with a deadline: no test sleeps for a time that somebody guessed."""

import time

#: Seconds between two looks.
EVERY = 0.1


def until(look, seconds=30.0, what='the condition'):
    """Give the first value of ``look()`` that is true."""
    deadline = time.monotonic() + seconds
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < deadline, f'{what}: not so after {seconds:g} seconds'
        time.sleep(EVERY)
