"""Explore all pairs of operations from all start states: ``python -m tests.explorer.explore_all``.

Prints the number of states per start state. The exit status is 1 if an invariant is violated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from tests.explorer.explore import EVENTS, Explorer, Found, Operation
from tests.explorer.scenarios import STARTS, pairs
from tests.explorer.world import Checks


def explored(
    checks: Checks = Checks(),  # noqa: B008 - a value
    events: tuple[str, ...] = EVENTS,
) -> Iterator[tuple[str, tuple[Operation, ...], Found]]:
    """Explore each pair of operations from each start state."""
    for name, start in STARTS.items():
        for pair in pairs(start):
            yield name, pair, Explorer(start, pair, events, checks).run()


def traces(start: str, pair: tuple[Operation, ...], found: Found) -> str:
    """Return the shortest trace of each violation; '' if there is none."""
    lines = []
    for violation, trace in found.traces.items():
        lines += [f'{violation}: {start}; {" + ".join(map(str, pair))}', *trace, '']
    return '\n'.join(lines)


def main() -> int:
    """Print the numbers of states, and each violation with its trace."""
    begun, states, is_violated = time.monotonic(), dict.fromkeys(STARTS, 0), False
    for start, pair, found in explored():
        states[start] += found.states
        if found.traces:
            is_violated = True
            sys.stdout.write(traces(start, pair, found))
    for start, number in states.items():
        sys.stdout.write(f'{start}: {number} states\n')
    seconds = time.monotonic() - begun
    sys.stdout.write(f'{sum(states.values())} states in {seconds:.0f} s\n')
    return int(is_violated)


if __name__ == '__main__':
    sys.exit(main())
