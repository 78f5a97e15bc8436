"""Evaluate ``member_of`` for 100,000 providers, and compare with a set intersection for each.

One run measures ``a & b`` per provider, ``admits`` per provider, and ``admitted`` for all of them,
flat and in trees. Then the number of aggregates that the expression does not name grows, in the
cloud and per provider: the cost of ``admits`` must not grow with it.

Run: make bench. Prints the minimum CPU time of the rounds, and its ratio to the intersections. The
exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import goals
from benchmarks.goals import Goal
from senlin_affinity.model.member_of import CanonicalUuids, MemberOf
from senlin_affinity.nova.provider_tree import Provider, admitted

PROVIDERS = 100_000
AGGREGATES = 1_000
ROUNDS = 5
#: Maximum growth with more unnamed aggregates, and with ten times as many per provider.
FOLLOWS, FOLLOWS_THIRTY = 1.5, 4


def uuids(count: int) -> list[str]:
    return [f'{number:08x}-0000-4000-8000-{number:012x}' for number in range(count)]


def memberships(aggregates: int, per_provider: int) -> list[CanonicalUuids]:
    """Return the aggregates of each provider, the same in every run."""
    dice = random.Random(1)
    known = uuids(aggregates)
    return [CanonicalUuids(dice.sample(known, per_provider)) for _ in range(PROVIDERS)]


def expression() -> MemberOf:
    """Return an expression: three of ten, one, and five forbidden ones of 100 aggregates."""
    known = uuids(100)
    return MemberOf.parse(
        [f'in:{",".join(known[:10])}', known[20], f'!in:{",".join(known[30:35])}']
    )


def least(work: Callable[[], Any]) -> float:
    """Return the minimum CPU seconds of the rounds."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def intersections(of: frozenset[str], all_of: list[frozenset[str]]) -> float:
    return least(lambda: [of & each for each in all_of])


def report(name: str, seconds: float, plain: float) -> float:
    """Print a line, and return the ratio."""
    each = seconds / PROVIDERS * 1e9
    print(f'{name:44} {seconds / plain:6.2f} x  {seconds * 1000:8.1f} ms  {each:7.0f} ns each')
    return seconds / plain


def found() -> Iterator[Goal]:
    member_of = expression()
    named = frozenset().union(*member_of.required, member_of.forbidden)
    print(f'{PROVIDERS:,} providers, an expression that names {len(named)} aggregates')

    own = memberships(AGGREGATES, 3)
    plain = intersections(named, own)
    flat = [Provider(str(number), None, each) for number, each in enumerate(own)]
    trees = [
        Provider(str(number), str(number - number % 5) if number % 5 else None, each)
        for number, each in enumerate(own)
    ]
    report('plain intersections', plain, plain)
    admits = least(lambda: [member_of.admits(each) for each in own])
    ratio = report('admits', admits, plain)
    yield Goal('member_of, admits: to a plain intersection', ratio, 1)
    for name, forest in (('flat', flat), ('in trees', trees)):
        report(f'admitted, {name}', least(lambda f=forest: admitted(f, member_of)), plain)
        suffixed = least(lambda f=forest: admitted(f, member_of, suffixed=True))
        report(f'admitted, {name}, suffixed', suffixed, plain)

    print('with more aggregates that are not named:')
    for aggregates, per_provider in ((100, 3), (1_000, 3), (10_000, 3), (1_000, 30)):
        own = memberships(aggregates, per_provider)
        seconds = least(lambda own=own: [member_of.admits(each) for each in own])
        name = f'admits, {aggregates:,} aggregates, {per_provider} for each'
        report(name, seconds, intersections(named, own))
        goal = FOLLOWS if per_provider == 3 else FOLLOWS_THIRTY
        yield Goal(f'member_of, {name}: to 1,000 and 3', seconds / admits, goal)


if __name__ == '__main__':
    sys.exit(goals.report(found()))
