"""Compare the figures of a benchmark with their goals.

Example::

    report([Goal('plan, 10,000 hosts', 0.61, 1), Goal('the filter', 24.5, 20, is_least=True)]) == 0

    plan, 10,000 hosts       0.61       at most 1
    the filter               24.5     at least 20

Units: those of the benchmark; the name states the unit, unless the figure is a ratio. A goal is a
maximum or a minimum. A missed goal with a reason is not a failure.

``measured`` measures CPU time in turns, so that other load on the machine affects all alike; the
minimum of the rounds is the least affected.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

#: The file to which the figures are added as lines of JSON; ``benchmarks/run.py`` sets it.
FILE = 'BENCH_FIGURES'


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure, its goal, and the reason if it is missed."""

    name: str
    figure: float
    goal: float
    reason: str | None = None
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.figure >= self.goal if self.is_least else self.figure <= self.goal

    @property
    def words(self) -> str:
        return f'at {"least" if self.is_least else "most"} {self.goal:g}'

    @property
    def number(self) -> str:
        return f'{self.figure:.3g}' if self.figure < 100 else f'{self.figure:,.0f}'


def report(goals: Iterable[Goal]) -> int:
    """Print the figures and their goals; return 1 if one is missed without a reason."""
    goals = tuple(goals)
    width = max((len(goal.name) for goal in goals), default=0)
    for goal in goals:
        missed = '' if goal.is_met else f'  missed: {goal.reason or "NO REASON IS GIVEN"}'
        print(f'{goal.name:{width}} {goal.number:>10}  {goal.words:>14}{missed}')
    if FILE in os.environ:
        with Path(os.environ[FILE]).open('a', encoding='utf-8') as file:
            file.writelines(json.dumps(dataclasses.asdict(goal)) + '\n' for goal in goals)
    return int(any(not goal.is_met and not goal.reason for goal in goals))


def measured(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the minimum CPU seconds of each function; they run in turns."""
    return _least(ways, rounds, time.process_time)


def measured_children(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the same for functions that run child processes: the CPU seconds of these."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    return _least(ways, rounds, spent)


def _least(
    ways: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    least = dict.fromkeys(ways, float('inf'))
    for _ in range(rounds):
        for name, way in ways.items():
            gc.collect()
            start = clock()
            result = way()
            least[name] = min(least[name], clock() - start)
            del result
    return least
