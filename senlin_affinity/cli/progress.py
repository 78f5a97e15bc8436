"""Show on a terminal that a command is still at work, and how many requests it has sent."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO


@contextlib.contextmanager
def shown(what: str, stream: TextIO, connection: Any = None) -> Iterator[None]:
    """Show what is being done until the end of the block; nothing unless on a terminal.

    :param stream: where to, such as stderr.
    :param connection: the ``openstack.connection.Connection`` whose requests are counted.
    """
    if not stream.isatty():
        yield
        return
    # rich takes a tenth of a second to load.
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    numbers = Counter[tuple[str, str]]()
    if connection is not None:
        from senlin_affinity.cloud.request_count import RequestCount

        RequestCount(numbers).watch(connection.session)

    class Requests(TextColumn):
        """The number of requests so far."""

        def render(self, task: Any) -> Any:
            number = sum(numbers.values())
            task.fields['requests'] = f'{number:,} requests' if number else ''
            return super().render(task)

    columns = SpinnerColumn(), TextColumn('{task.description}'), Requests('{task.fields[requests]}')
    console = Console(file=stream)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        bar.add_task(what, total=None, requests='')
        yield
