"""Send many requests, a few at a time.

Each call runs in the operation of the caller (``cloud.deadline``). The threads are daemons: a
command that ends early, after an error or Ctrl-C, waits for none of them.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import TypeVar

T = TypeVar('T')
R = TypeVar('R')
#: The number of requests at the same time; Senlin's API has a few workers.
THREADS = 8


def mapped(
    call: Callable[[T], R], items: Sequence[T], threads: int = THREADS
) -> Iterator[tuple[T, R]]:
    """Yield each item with the result of its call, in the order in which the calls return.

    Raise the first exception of a call; no further call begins after it.
    """
    waiting = deque(items)
    done: queue.SimpleQueue[tuple[T, futures.Future[R]]] = queue.SimpleQueue()

    def work(context: contextvars.Context) -> None:
        while True:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            future: futures.Future[R] = futures.Future()
            try:
                future.set_result(context.run(call, item))
            except BaseException as error:  # noqa: BLE001 - the caller raises it again
                waiting.clear()
                future.set_exception(error)
            done.put((item, future))

    for _ in range(min(threads, len(items))):
        context = contextvars.copy_context()
        threading.Thread(target=work, args=(context,), name='senlin-affinity', daemon=True).start()
    try:
        for _ in items:
            item, future = done.get()
            yield item, future.result()
    finally:
        waiting.clear()
