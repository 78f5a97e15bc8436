"""Waits for a condition, with a deadline: no test sleeps for a time that somebody guessed."""

import threading
import time

#: Seconds between two looks.
EVERY = 0.1


def ended(call, seconds=60.0):
    """Call it in a thread of its own, so that what hangs fails a test and not the whole run."""
    answers = []

    def work():
        try:
            answers.append((call(), None))
        except Exception as error:  # noqa: BLE001 - it is raised again below
            answers.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert answers, f'not over after {seconds:g} seconds'
    ((value, error),) = answers
    if error is not None:
        raise error
    return value


def until(view, seconds=30.0, what='the condition'):
    """Give the first value of ``view()`` that is true."""
    deadline = time.monotonic() + seconds
    while True:
        value = view()
        if value:
            return value
        assert time.monotonic() < deadline, f'{what}: not so after {seconds:g} seconds'
        time.sleep(EVERY)
