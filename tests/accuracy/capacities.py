"""Compare the capacity of every flavor of a cloud with what the real scheduler then places.

The stage becomes the cloud of a case, without quotas. ``api.capacity`` counts all flavors at once;
then servers of each flavor are created one by one until one finds no host, and deleted again.
Hosts have no ``max_unit`` below their size: Nova's drivers set it to the size, which capacity takes
for granted, whereas a plan asks Placement.

Run on the first clouds of each kind: python -m tests.accuracy.capacities --clouds 2. Prints the
differences, and the number of exact, "at most" and wrong numbers.

Units: numbers of servers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity import api
from senlin_affinity.model.bounds import Bounds
from tests.accuracy import asking
from tests.accuracy.case import Case
from tests.accuracy.kinds import KINDS
from tests.accuracy.stage import Stage
from tests.support.values import replace

#: The maximum number of created servers of a flavor.
MOST = 40
#: The user of most servers.
USER = 'admin'
EXACT, AT_MOST, WRONG = 'exact', 'at most', 'wrong'


@dataclass(frozen=True)
class Compared:
    """The capacity of a flavor of a case, and the number of servers that became active."""

    case: str
    flavor: str
    bounds: Bounds
    codes: tuple[str, ...]
    placed: int

    @property
    def outcome(self) -> str:
        """Return whether the number is exact, "at most" and not too low, or wrong."""
        lower, _expected, upper = (
            MOST if each is None else min(each, MOST) for each in self.bounds
        )
        if self.placed == upper and not self.codes:
            return EXACT
        is_between = lower <= self.placed <= upper
        return AT_MOST if self.codes and is_between else WRONG

    def __str__(self) -> str:
        codes = f' ({", ".join(self.codes)})' if self.codes else ''
        return f'{self.case}, {self.flavor}: predicted {self.bounds}{codes}, placed {self.placed}'


def compare(stage: Stage, case: Case) -> Iterator[Compared]:
    """Create the cloud of a case, and compare the capacity of each of its flavors."""
    hosts = {name: _without_max_unit(host) for name, host in case.hosts.items()}
    case = replace(case, hosts=hosts, quotas={}, user_quotas={})
    stage.set_up(case)
    plain = replace(case.asks[0], is_complete=True, user=USER)
    given = asking.optional_input(stage, case, plain)
    question = api.Question(0, project_id=stage.project_id(USER), **given)
    names = {stage.flavors[name]: name for name in case.flavors}
    view = api.fetch(stage.novas[USER].connection, question, flavors=names)
    found = api.capacity(view, names, project_id=question.project_id, question=question)
    for each in found.flavors:
        image = None if plain.image is None else stage.images[plain.image]
        placed = _placed(stage, each.flavor.id, image)
        codes = tuple(caveat.code for caveat in each.caveats)
        yield Compared(str(case), names[each.flavor.id], each.bounds, codes, placed)
    stage.clear()


def _without_max_unit(host: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a host whose inventories have no ``max_unit`` of their own."""
    inventory = {
        name: {key: value for key, value in fields.items() if key != 'max_unit'}
        for name, fields in host.get('inventory', {}).items()
    }
    return host | ({'inventory': inventory} if inventory else {})


def _placed(stage: Stage, flavor: str, image: str | None) -> int:
    """Return the number of servers of a flavor that become active; delete them."""
    made: list[str] = []
    status, placed = 'ACTIVE', 0
    while status == 'ACTIVE' and placed < MOST:
        server, status = stage.novas[USER].boot(flavor, image=image)
        made += [server] if server is not None else []
        placed += status == 'ACTIVE'
    stage.delete(made)
    return placed


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the first clouds of each kind; return 1 if a number is wrong."""
    parser = argparse.ArgumentParser(prog='tests.accuracy.capacities')
    parser.add_argument('--clouds', type=int, default=2, help='clouds of each kind (default: 2)')
    parser.add_argument('--first', type=int, default=1, help='the first seed')
    parser.add_argument('--kinds', default=','.join(KINDS), help='kinds, separated by commas')
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    with Stage() as stage:
        for kind in given.kinds.split(','):
            for seed in range(given.first, given.first + given.clouds):
                for each in compare(stage, KINDS[kind](seed)):
                    counts[each.outcome] += 1
                    if each.outcome == WRONG:
                        sys.stdout.write(f'{each}\n')
                        sys.stdout.flush()
    sys.stdout.write(f'{dict(counts)}\n')
    return int(counts[WRONG] > 0)


if __name__ == '__main__':
    sys.exit(main())
