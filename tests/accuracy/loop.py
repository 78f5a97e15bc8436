"""Print the outcomes of random clouds, and their sums: the loop of the modules that move servers.

An outcome is a dataclass of values of JSON, with a ``seed``, and in ``wrong`` what was wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol


class Outcome(Protocol):
    """The outcome of a part of a cloud."""

    __dataclass_fields__: Any

    @property
    def seed(self) -> int:
        """The seed of the cloud."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """What was wrong, in words."""

    def title(self) -> str:
        """Return the outcome as a line."""


#: An outcome with its fields as JSON has them.
Row = Mapping[str, Any]


def run(
    name: str,
    outcomes: Callable[[Sequence[int]], Iterable[Outcome]],
    sums: Callable[[Sequence[Row]], Iterable[str]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Print the outcomes of the clouds that the arguments name; return 1 if one was wrong.

    :param name: the name of the module.
    :param outcomes: yields the outcomes of the clouds of these seeds.
    :param sums: yields lines about all outcomes.
    """
    parser = argparse.ArgumentParser(prog=f'python -m tests.accuracy.{name}')
    parser.add_argument('number', type=int, help='the number of clouds')
    parser.add_argument('--first', type=int, default=1, metavar='SEED')
    parser.add_argument('--out', type=Path, metavar='FILE', help='add a line for each outcome')
    given = parser.parse_args(arguments)
    known: list[Row] = []
    if given.out is not None and given.out.exists():
        known = [json.loads(line) for line in given.out.read_text().splitlines()]
    done = {each['seed'] for each in known}
    seeds = [each for each in range(given.first, given.first + given.number) if each not in done]
    begin = time.monotonic()
    for each in outcomes(seeds):
        known.append(asdict(each))
        print(each.title(), *each.wrong, sep='\n    ', flush=True)
        if given.out is not None:
            with given.out.open('a', encoding='utf-8') as file:
                file.write(json.dumps(known[-1]) + '\n')
    wrong = sum(bool(each['wrong']) for each in known)
    first, *others = sums(known)
    print(f'{first}; {wrong} wrong; {time.monotonic() - begin:.0f} s', *others, sep='\n')
    return int(wrong > 0)
