"""Signals that come at the wrong moment wait; signals that say "enough" end a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Put Ctrl-C off until the end of the block, which must end by its own deadlines.

    Only the main thread gets signals; elsewhere there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def until_a_signal() -> Iterator[None]:
    """Let SIGTERM, SIGHUP and Ctrl-C end the block, the first of them, without an error."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def end(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
