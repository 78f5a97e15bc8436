"""Wait for a condition with a deadline instead of a fixed time."""

import threading
import time

#: Seconds between two checks. A check costs a service CPU time that the awaited work needs.
EVERY = 0.25


class NotInTime(AssertionError):
    """A deadline has passed."""


def ended(call, seconds=60.0):
    """Call the function in a thread, so that a hanging call fails only this test."""
    answers = []

    def work():
        try:
            answers.append((call(), None))
        except Exception as error:  # noqa: BLE001 - it is raised again below
            answers.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not answers:
        raise NotInTime(f'not over after {seconds:g} seconds')
    ((value, error),) = answers
    if error is not None:
        raise error
    return value


def until(view, seconds=30.0, what='the condition'):
    """Wait until ``view()`` returns a true value, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        value = view()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise NotInTime(f'{what}: not so after {seconds:g} seconds')
        time.sleep(EVERY)
