"""Count the servers of many flavors, by zone, as a ratio to parsing the JSON of the snapshot.

Each round parses the text of a snapshot of 10,000 hosts with random usage, loads the file again so
that nothing is cached, and counts 50 or 200 flavors. A fifth of the flavors require a trait, and a
seventh have an extra spec of an aggregate filter. All installed constraints are evaluated. The
ratio compares the minimum CPU times of all rounds.

Run: make bench. The exit status is 1 if a goal is missed without a reason.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.bench_planner import HOSTS, TRAIT, make, spent
from benchmarks.goals import Goal, report
from senlin_affinity import api
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.flavor import Flavor
from tests.support.values import replace

ROUNDS = 5
#: The number of flavors, and the goal.
GOALS = {50: 1.5, 200: 2.5}
#: The reason for a missed goal, with shares from a profile.
BY_FLAVOR = (
    'two thirds are Python code that runs once for each flavor: constraints that read its amounts, '
    'rows of verdicts, assumptions; one third are arrays'
)


def flavors(number: int) -> tuple[Flavor, ...]:
    """Return flavors of different sizes, some of which have extra specs."""
    return tuple(
        Flavor(
            str(each),
            f'flavor-{each}',
            2 ** (each % 6),
            1024 * 2 ** (each % 7),
            10 * (each % 4),
            extra_specs={
                **({f'trait:{TRAIT}': 'required'} if each % 5 == 0 else {}),
                **({'disk': 'ssd'} if each % 7 == 0 else {}),
            },
        )
        for each in range(number)
    )


def goals() -> Iterator[Goal]:
    cloud = make(HOSTS, is_random=True)
    for number, goal in GOALS.items():
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, 'cloud.json')
            snapshot_file.save(replace(cloud, flavors=flavors(number)), path)
            text = path.read_text(encoding='utf-8')
            loads, capacity = [], []
            for _ in range(ROUNDS):
                loads.append(spent(partial(json.loads, text)))
                view = api.load(path)
                capacity.append(spent(partial(api.capacity, view, by='zone')))
                del view
        name = f'{HOSTS:,} hosts: capacity of {number} flavors by zone'
        yield Goal(name, min(capacity) / min(loads), goal, BY_FLAVOR)


def main() -> int:
    print(f'{HOSTS:,} hosts; ratios to json.loads of the same snapshot, in CPU time')
    return report(goals())


if __name__ == '__main__':
    sys.exit(main())
