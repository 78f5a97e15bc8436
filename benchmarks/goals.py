"""Goals beside figures: what a benchmark holds, and fails where it is missed.

Shapes::

    report([Goal('plan, 10,000 hosts', 0.61, 1), Goal('the filter', 24.5, 20, is_least=True)]) == 0

    plan, 10,000 hosts       0.61       at most 1
    the filter               24.5     at least 20

Units: those of the benchmark, which the name says where the figure is no ratio. A goal is a most,
or a least. A goal that is missed with a reason is shown with it, and fails nothing.

``measured`` interleaves what is compared, in CPU time: other work on the machine takes from both,
and the least of the rounds has the least of it.
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
    """A figure and its goal, and why it may be missed."""

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
        """The goal, as a table shows it."""
        return f'at {"least" if self.is_least else "most"} {self.goal:g}'

    @property
    def number(self) -> str:
        """The figure, as a table shows it."""
        return f'{self.figure:.3g}' if self.figure < 100 else f'{self.figure:,.0f}'


def report(goals: Iterable[Goal]) -> int:
    """Print the figures beside their goals; 1 where one is missed without a reason."""
    goals = tuple(goals)
    width = max((len(goal.name) for goal in goals), default=0)
    for goal in goals:
        missed = '' if goal.is_met else f'  missed: {goal.reason or "NO REASON IS KNOWN"}'
        print(f'{goal.name:{width}} {goal.number:>10}  {goal.words:>14}{missed}')
    if FILE in os.environ:
        with Path(os.environ[FILE]).open('a', encoding='utf-8') as file:
            file.writelines(json.dumps(dataclasses.asdict(goal)) + '\n' for goal in goals)
    return int(any(not goal.is_met and not goal.reason for goal in goals))


def measured(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """CPU seconds of each way, the least of the rounds, in which they take turns."""
    return _least(ways, rounds, time.process_time)


def measured_children(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The same of ways that run processes and wait for them: the CPU of those."""

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
