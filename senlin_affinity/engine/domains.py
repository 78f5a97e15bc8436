"""Count the servers that domains (racks, zones, storage pools) take.

From the inside out, the numbers of the hosts add up to those of their domains, and a domain takes
no more than its constraint allows. Nested criteria (:func:`_is_within`) are counted exactly, except
for domains that depend on each other (``couples_domains``). If criteria cross, each of them, with
those that nest with it, gives an upper bound. The expected number can be placed one by one.

Units: numbers of servers; an unknown or unlimited one is infinite, and None outside of this module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from senlin_affinity.engine.table import HostVerdicts, Table, with_domains
from senlin_affinity.model.bounds import Bounds, finite, limited
from senlin_affinity.model.numbers import listed
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.scenario.constraint import (
    Constraint,
    Domain,
    attributed,
    attributing,
    check_verdict,
    is_of_domains,
)
from senlin_affinity.scenario.scenario import Scenario

#: The name of a constraint, and one of its domains.
Key = tuple[str, Domain]
_LOWER, _EXPECTED, _UPPER = range(3)
_MOST_NAMED = 3


class Criterion(NamedTuple):
    """The domains of a constraint by one criterion, with the indexes of their hosts."""

    constraint: Constraint
    by: str
    hosts: dict[Domain, list[int]]

    def key(self, domain: Domain) -> Key:
        """Return the key of a domain."""
        return self.constraint.name, domain


#: Criteria that nest, from the inside out.
Chain = list[Criterion]


@dataclass(frozen=True)
class DomainCapacity:
    """The hosts with the verdicts about their domains, and the servers that fit in all.

    ``of_host`` are the domains by host index, ``limits`` the number of servers that each is
    expected to take (None: no limit). ``caveats`` has a verdict with a caveat about a domain for
    each constraint that has one. ``crossing`` are the criteria that limit each other,
    ``affinity_host`` is the service host that all servers share; with either, the lower bound is 0.
    """

    table: Table
    bounds: Bounds
    of_host: Mapping[int, Sequence[Key]]
    limits: Mapping[Key, int | None]
    caveats: Mapping[str, Verdict]
    crossing: tuple[str, ...] = ()
    affinity_host: str | None = None


def domain_capacity(
    request: Request,
    scenario: Scenario,
    constraints: Sequence[Constraint],
    table: Table,
    *,
    is_together: bool = False,
) -> DomainCapacity | None:
    """Return the capacity of these hosts and their domains.

    None if no host has a domain, unless ``is_together``: all servers share one service host.
    """
    hosts = scenario.hosts
    criteria = _criteria(request, scenario, constraints)
    if not criteria and not is_together:
        return None
    chains, crossing = _chains(criteria)
    rows = [*map(table.rows.__getitem__, table.row_of.tolist())]  # of each host
    upper: Sequence[float] = [*map(limited, table.room())]
    expected: Sequence[float] = table.expected.tolist()
    affinity_host = None
    if is_together:
        by_name: dict[str, list[int]] = defaultdict(list)
        for index, host in enumerate(hosts):
            by_name[host.host].append(index)
        upper = _only_on(
            _best_host(request, scenario, chains, rows, upper, by_name, _UPPER), upper, by_name
        )
        affinity_host = _best_host(request, scenario, chains, rows, expected, by_name, _EXPECTED)
        expected = _only_on(affinity_host, expected, by_name)
    uppers = [_add_up(request, scenario, chain, rows, upper, _UPPER) for chain in chains]
    totals = [_add_up(request, scenario, chain, rows, expected, _EXPECTED) for chain in chains]
    limits = {key: verdict for total in totals for key, verdict in total.verdicts.items()}
    caveats = {name: each for (name, _domain), each in limits.items() if each.bounds.is_at_most}
    lower = 0 if crossing or affinity_host else totals[0].number
    if lower and (caveats or table.is_at_most):
        lower = _add_up(request, scenario, chains[0], rows, table.lower.tolist(), _LOWER).number
    of_host: dict[int, list[Key]] = defaultdict(list)
    for criterion in criteria:
        for domain, indexes in criterion.hosts.items():
            for index in indexes:
                of_host[index].append(criterion.key(domain))
    verdicts = {key: verdict for total in uppers for key, verdict in total.verdicts.items()}
    number = finite(min(total.number for total in uppers))
    return DomainCapacity(
        with_domains(constraints, table, of_host, verdicts),
        Bounds(int(lower), int(totals[0].number), number),
        of_host,
        {key: finite(_bound(verdict, _EXPECTED)) for key, verdict in limits.items()},
        caveats,
        crossing,
        affinity_host,
    )


def _only_on(
    host: str | None, numbers: Sequence[float], by_name: Mapping[str, list[int]]
) -> list[float]:
    """Return the numbers, with 0 for all hosts but this service host (None: for all)."""
    kept: list[float] = [0] * len(numbers)
    for index in by_name.get(host or '', ()):
        kept[index] = numbers[index]
    return kept


def _best_host(
    request: Request,
    scenario: Scenario,
    chains: Iterable[Chain],
    rows: Sequence[HostVerdicts],
    numbers: Sequence[float],
    by_name: Mapping[str, list[int]],
    which: int,
) -> str | None:
    """Return the service host that takes the most servers, even 0; None without hosts.

    Of equal ones, that with more ``numbers`` in sum, then the first by name.

    :param by_name: the host indexes by service host.
    :param which: as in :func:`_add_up`.
    """
    sums = {name: sum(numbers[index] for index in each) for name, each in by_name.items()}
    best, most = None, -1.0
    for name in sorted(sums, key=lambda name: (-sums[name], name)):
        if sums[name] <= most:
            break
        kept = _only_on(name, numbers, by_name)
        totals = [_add_up(request, scenario, chain, rows, kept, which) for chain in chains]
        number = min(total.number for total in totals)
        if number > most:
            best, most = name, number
    return best


def _criteria(
    request: Request, scenario: Scenario, constraints: Iterable[Constraint]
) -> list[Criterion]:
    """Return one criterion for each constraint with domains and ``Domain.by``.

    In the order of the constraints, then of the first host with such a domain.
    """
    found: dict[tuple[str, str], Criterion] = {}
    for constraint in constraints:
        if not is_of_domains(constraint):
            continue
        with attributing(constraint, 'has_domains'):
            if not constraint.has_domains(request, scenario):
                continue
        for index, host in enumerate(scenario.hosts):
            try:
                for domain in constraint.domains(request, scenario, host):
                    criterion = Criterion(constraint, domain.by, {})
                    criterion = found.setdefault((constraint.name, domain.by), criterion)
                    criterion.hosts.setdefault(domain, []).append(index)
            except Exception as error:
                where = f'host {host.host}'
                raise attributed(constraint, 'domains', error, where) from error
    return list(found.values())


def _chains(criteria: Sequence[Criterion]) -> tuple[list[Chain], tuple[str, ...]]:
    """Return the criteria in chains, and the ``by`` of each criterion that limits another, once.

    Criteria that all nest form one chain (perhaps empty), from the inside out; an inner one that
    ``couples_domains``, and its outer ones, limit each other. Otherwise, those that cross another
    do, and each of them has a chain of itself and those that cross none.
    """
    every = range(len(criteria))
    within = {(a, b): _is_within(criteria[a], criteria[b]) for a in every for b in every}
    crossing = [
        one for one in every if any(not (within[one, two] or within[two, one]) for two in every)
    ]

    depth = [sum(within[inner, one] for inner in every) for one in every]
    nested = sorted(
        set(every).difference(crossing),
        key=lambda one: (depth[one], criteria[one].constraint.couples_domains, one),
    )
    if not crossing:
        bound = [
            criteria[each].by
            for place, one in enumerate(nested)
            for outer in nested[place + 1 :]
            if criteria[one].constraint.couples_domains and within[one, outer]
            for each in (one, outer)
        ]
        return [[criteria[one] for one in nested]], tuple(dict.fromkeys(bound))
    chains = [
        [criteria[inner] for inner in nested if within[inner, one]]
        + [criteria[one]]
        + [criteria[outer] for outer in nested if not within[outer, one]]
        for one in crossing
    ]
    return chains, tuple(dict.fromkeys(criteria[one].by for one in crossing))


def _is_within(inner: Criterion, outer: Criterion) -> bool:
    """Check whether the hosts of each inner domain share one outer domain, or all have none.

    False if a host is in two.
    """
    where: dict[int, Domain] = {}
    for domain, indexes in outer.hosts.items():
        for index in indexes:
            if where.setdefault(index, domain) != domain:
                return False
    return all(
        len({where.get(index) for index in indexes}) == 1 for indexes in inner.hosts.values()
    )


class _Total(NamedTuple):
    """The number of servers of all hosts, and the verdict about each domain."""

    number: float
    verdicts: Mapping[Key, Verdict]


def _add_up(
    request: Request,
    scenario: Scenario,
    chain: Chain,
    rows: Sequence[HostVerdicts],
    numbers: Sequence[float],
    which: int,
) -> _Total:
    """Return the number of servers that all hosts take, limited by their domains, and the verdicts.

    Only domains with a host that is or may be eligible have a verdict. Of overlapping domains of
    one criterion, the first limits the number.

    :param which: the index of the bound that limits a domain.
    """
    group_of = list(range(len(numbers)))
    amounts = dict(enumerate(numbers))
    found: dict[Key, Verdict] = {}
    for criterion in chain:
        groups: dict[Domain, list[int]] = {}
        rooms: dict[Domain, int | None] = {}
        for domain, indexes in criterion.hosts.items():
            eligible = {rows[index].is_eligible for index in indexes}
            if eligible != {False}:
                groups[domain] = list(dict.fromkeys(group_of[index] for index in indexes))
                is_known = which != _UPPER or True in eligible
                total = sum(amounts[each] for each in groups[domain])
                rooms[domain] = finite(total) if is_known else None
        verdicts = _check(criterion.constraint, request, scenario, rooms)
        counted: set[int] = set()
        for domain, parts in groups.items():
            verdict = found[criterion.key(domain)] = verdicts[domain]
            if not counted.isdisjoint(parts):
                continue
            counted.update(parts)
            total = sum(amounts.pop(each) for each in parts)
            amounts[parts[0]] = min(total, _bound(verdict, which))
            for index in criterion.hosts[domain]:
                group_of[index] = parts[0]
    return _Total(sum(amounts.values()), found)


def _bound(verdict: Verdict, which: int) -> float:
    """Return one bound of a verdict, infinite for None; 0 for a REJECT."""
    return limited(verdict.bounds[which]) if verdict else 0


def _check(
    constraint: Constraint,
    request: Request,
    scenario: Scenario,
    rooms: Mapping[Domain, int | None],
) -> Mapping[Domain, Verdict]:
    """Return the result of ``check_domains``; raise ConstraintError if it lacks a domain."""
    with attributing(constraint, 'check_domains', _names(rooms)):
        verdicts = constraint.check_domains(request, scenario, rooms)
        for domain in rooms:
            if domain not in verdicts:
                raise ValueError(f'the answer has no Verdict for {domain.by} {domain.name}')
            check_verdict(constraint, verdicts[domain])
        return verdicts


def _names(domains: Collection[Domain]) -> str:
    """Return "rack r1, r2, r3 and 2 more" for domains of one criterion; '' for none."""
    by = ''.join({f'{domain.by} ' for domain in domains})
    return f'{by}{listed([domain.name for domain in domains], _MOST_NAMED)}'
