"""Deciding 10,000 hosts by the metadata of their aggregates, against Nova's own filter on each.

One flavor with 10 extra specs; three aggregates a host on average, in 200 distinct sets. Both are
asked about the same hosts in one run, so the ratios are comparable though the machine is noisy.
Ours is the constraint as the planner asks it: hosts with the same aggregates are decided once. The
snapshot, its hosts and their aggregates are new in every round, so that nothing is remembered. All
hosts pass, which is the most work for both.

Run: make bench. Prints the minimum of the rounds, and the ratio to ours.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Sequence
from types import SimpleNamespace
from typing import Any

from nova.scheduler.filters.aggregate_instance_extra_specs import AggregateInstanceExtraSpecsFilter

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.core.aggregate_metadata import Requirements
from senlin_affinity.core.objects import (
    Aggregate,
    CloudSnapshot,
    Flavor,
    Host,
    PlacementRequest,
    ResolvedRequest,
)
from senlin_affinity.core.verdict import Verdict

HOSTS = 10_000
SETS = 200
ROUNDS = 7
SINGLE_ROUNDS = 100
SINGLE_CALLS = 100

EXTRA_SPECS = {
    'disk': 'ssd',
    'cpu': '<or> skylake <or> icelake',
    'memory': '>= 256',
    'rack': 's>= r',
    'features': '<all-in> avx 512',
    'network': '<in> gbit',
    'aggregate_instance_extra_specs:tier': 'gold',
    'aggregate_instance_extra_specs:power': '<= 900',
    'generation': '== 4',
    'owner': 's!= nobody',
}
#: Three aggregates hold what the extra specs ask for, between them.
PARTS = (
    {'disk': 'ssd, nvme', 'rack': 'r{}', 'features': 'avx512', 'power': '{}'},
    {'cpu': 'skylake', 'memory': '512', 'network': '25gbit', 'availability_zone': 'zone-{}'},
    {'tier': 'gold,silver', 'generation': '4', 'owner': 'team-{}', 'licence': 'windows'},
)


def aggregates() -> list[Aggregate]:
    """100 aggregates of each part."""
    return [
        Aggregate(
            f'{number:08}-{part}',
            f'aggregate-{part}-{number}',
            metadata={key: value.format(number) for key, value in metadata.items()},
        )
        for number in range(100)
        for part, metadata in enumerate(PARTS)
    ]


def memberships(known: Sequence[Aggregate]) -> list[tuple[Aggregate, ...]]:
    """The aggregates of each host: 200 distinct sets of three."""
    draw = random.Random(0)
    parts = [known[part::3] for part in range(3)]
    sets: set[tuple[int, ...]] = set()
    while len(sets) < SETS:
        sets.add(tuple(draw.randrange(100) for _ in parts))
    chosen = [
        tuple(part[number] for part, number in zip(parts, each, strict=True))
        for each in sorted(sets)
    ]
    members = [chosen[number % SETS] for number in range(HOSTS)]
    draw.shuffle(members)
    return members


def resolved(
    known: Sequence[Aggregate], members: Sequence[tuple[Aggregate, ...]]
) -> ResolvedRequest:
    """The snapshot anew, as an inventory would make it."""
    hosts = tuple(
        Host(f'cmp-{i}', f'cmp-{i}', aggregates=frozenset(each.uuid for each in mine))
        for i, mine in enumerate(members)
    )
    return ResolvedRequest(
        PlacementRequest(1, 'f', enabled_filters=('AggregateInstanceTypeFilter',)),
        CloudSnapshot(hosts=hosts, aggregates=tuple(known)),
        flavor=Flavor('f', 'f', 1, 1, 1, extra_specs=EXTRA_SPECS),
    )


def ours(asked: ResolvedRequest) -> list[Verdict]:
    """Ask as the planner does: one host of each shape."""
    constraint = AggregateMetadataConstraint()
    check, shape = constraint.check_host, constraint.shape
    known: dict[Hashable, Verdict] = {}
    verdicts = []
    for host in asked.snapshot.hosts or ():
        look = shape(asked, host)
        verdict = known.get(look)
        if verdict is None:
            verdict = known[look] = check(asked, host)
        verdicts.append(verdict)
    return verdicts


class NovaFlavor(SimpleNamespace):
    """As much of Nova's flavor object as the filter looks at."""

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)


def novas(hosts: Sequence[Any], request: Any) -> list[bool]:
    """Nova's own filter, host by host."""
    passes = AggregateInstanceExtraSpecsFilter().host_passes
    return [passes(host, request) for host in hosts]


def fastest_of_all(
    known: Sequence[Aggregate],
    members: Sequence[tuple[Aggregate, ...]],
    nova_hosts: Sequence[Any],
    request: Any,
) -> tuple[float, float]:
    """Seconds of ours and of Nova's, the least of the rounds; the snapshot is made before."""
    rounds = []
    for _ in range(ROUNDS):
        asked = resolved(known, members)
        start = time.perf_counter()
        verdicts = ours(asked)
        middle = time.perf_counter()
        passed = novas(nova_hosts, request)
        rounds.append((middle - start, time.perf_counter() - middle))
        assert list(map(bool, verdicts)) == passed == [True] * HOSTS
    return min(mine for mine, _ in rounds), min(theirs for _, theirs in rounds)


def fastest_of_one(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of a single call of each, the least of many short rounds in turn."""
    seconds = dict.fromkeys(runs, float('inf'))
    for _ in range(SINGLE_ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(SINGLE_CALLS):
                run()
            seconds[name] = min(seconds[name], (time.perf_counter() - start) / SINGLE_CALLS)
    return seconds


def report(name: str, seconds: float, reference: float) -> None:
    print(f'{name:34} {seconds / reference:6.2f} x  {seconds * 1000:9.4f} ms')


def main() -> None:
    known = aggregates()
    members = memberships(known)
    nova_hosts = [
        SimpleNamespace(host=f'cmp-{i}', aggregates=list(mine)) for i, mine in enumerate(members)
    ]
    request = SimpleNamespace(flavor=NovaFlavor(name='f', extra_specs=EXTRA_SPECS))
    print(f'{HOSTS:,} hosts, {len(EXTRA_SPECS)} extra specs, {SETS} sets of three aggregates')
    mine, theirs = fastest_of_all(known, members, nova_hosts, request)
    report('ours', mine, mine)
    report("Nova's filter on each host", theirs, mine)

    print('one host')
    (one,) = members[:1]
    metadata, names = [each.metadata for each in one], [each.name for each in one]
    rule = Requirements.parse(EXTRA_SPECS)
    constraint, asked = AggregateMetadataConstraint(), resolved(known, [one])
    (host,) = asked.snapshot.hosts or ()
    passes, nova_host = AggregateInstanceExtraSpecsFilter().host_passes, nova_hosts[0]
    seconds = fastest_of_one(
        {
            'ours': lambda: rule.check(metadata, names),
            'ours, as the planner asks it': lambda: constraint.check_host(asked, host),
            "Nova's filter": lambda: passes(nova_host, request),
        }
    )
    for name, each in seconds.items():
        report(name, each, seconds['ours'])


if __name__ == '__main__':
    main()
