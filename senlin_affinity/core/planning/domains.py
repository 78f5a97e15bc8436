"""What sets of hosts take: rules about racks, zones, storage pools, and what they leave.

Data flow: each rule says in which domains a host lies, which makes a :class:`Level` of every
criterion. From the inside out the rooms of the hosts add up to those of their domains, and a domain
takes no more than its rule says. The hosts' rows go out with what is said about their domains.

Criteria nest where each domain of one lies within one domain of the other, or outside of all of
them. Nested ones are counted exactly, but for domains that depend on each other (``is_joint``):
what a larger one refuses to one of them, the others may not take, either. Where some cross, each of
them, with what is nested in it, gives a bound. In both cases what is certain is what can be placed.

Units: numbers of servers. A room that nobody knows, or that is without a limit, is None outside of
this module, and infinite in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from senlin_affinity.core.constraint import Constraint, Domain, DomainConstraint, is_of_domains
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.assessment import add_said
from senlin_affinity.core.planning.rows import Row, limit
from senlin_affinity.core.planning.rows import sure as firm
from senlin_affinity.core.planning.table import Table
from senlin_affinity.core.verdict import Verdict

#: A domain, by the name of its rule: two rules may have the same domains.
Key = tuple[str, Domain]


class Level(NamedTuple):
    """The domains of one criterion of a rule, and the hosts in each by their places."""

    constraint: DomainConstraint
    by: str
    hosts: dict[Domain, list[int]]

    def key(self, domain: Domain) -> Key:
        """What a domain is known by."""
        return self.constraint.name, domain

    @property
    def is_joint(self) -> bool:
        """Does what a domain takes depend on the others?"""
        return getattr(self.constraint, 'is_joint', True)


@dataclass(frozen=True)
class Survey:
    """The hosts with what is said about their domains, and how many servers fit in all.

    ``of_host`` are the domains of each host that has some, ``limits`` what each of them takes for
    certain (None: no limit). ``crossing`` are the criteria that limit each other; where there are
    some, neither ``certain`` nor ``firm`` is worked out here; the latter is what fits whatever
    makes it "at most". ``home`` is the service host that all servers go to, where they go to one.
    """

    table: Table
    most: int | None
    certain: int
    firm: int
    of_host: Mapping[int, Sequence[Key]]
    limits: Mapping[Key, int | None]
    crossing: tuple[str, ...] = ()
    home: str | None = None


def survey(
    resolved: ResolvedRequest,
    constraints: Sequence[Constraint],
    hosts: Sequence[Host],
    told: Table,
    *,
    is_together: bool = False,
) -> Survey | None:
    """What the rules say about sets of these hosts; None where there is nothing to say.

    :param is_together: all servers go to one service host (``home``), which may be any.
    """
    levels = _levels(resolved, constraints, hosts)
    if not levels and not is_together:
        return None
    chains, crossing = _chains(levels)
    rows, rooms = told.rows, told.rooms
    sure: Sequence[float] = told.certain
    home = None
    if is_together:
        by_name = _by_name(hosts)
        rooms = _only(_home(resolved, chains, rows, rooms, by_name), rooms, by_name)
        home = _home(resolved, chains, rows, sure, by_name, _certain)
        sure = _only(home, sure, by_name)
    most = [_add_up(resolved, chain, rows, rooms) for chain in chains]
    least = [_add_up(resolved, chain, rows, sure, _certain) for chain in chains]
    of_host: dict[int, list[Key]] = defaultdict(list)
    for level in levels:
        for domain, indexes in level.hosts.items():
            for index in indexes:
                of_host[index].append(level.key(domain))
    said = {key: verdict for total in most for key, verdict in total.said.items()}
    sure_of = {key: verdict for total in least for key, verdict in total.said.items()}
    return Survey(
        add_said(constraints, told, of_host, said),
        _number(min(total.room for total in most)),
        int(least[0].room),
        0 if crossing or home else _firm(resolved, chains[0], told, least[0]),
        of_host,
        {key: _number(_certain(verdict)) for key, verdict in sure_of.items()},
        crossing,
        home,
    )


def _firm(resolved: ResolvedRequest, chain: Iterable[Level], told: Table, least: _Total) -> int:
    """What fits by rules that nest, whatever makes the room of a host, or a domain, "at most"."""
    if told.is_at_most or any(verdict.is_at_most for verdict in least.said.values()):
        least = _add_up(resolved, chain, told.rows, told.sure, firm)
    return int(least.room)


def _by_name(hosts: Iterable[Host]) -> Mapping[str, list[int]]:
    """The hypervisors of each service host, by their places among the hosts."""
    found: dict[str, list[int]] = defaultdict(list)
    for index, host in enumerate(hosts):
        found[host.host].append(index)
    return found


def _only(
    home: str | None, rooms: Sequence[float], by_name: Mapping[str, list[int]]
) -> list[float]:
    """The rooms, if all servers go to one service host."""
    kept: list[float] = [0] * len(rooms)
    for index in by_name.get(home or '', ()):
        kept[index] = rooms[index]
    return kept


def _home(
    resolved: ResolvedRequest,
    chains: Iterable[list[Level]],
    rows: Sequence[Row],
    rooms: Sequence[float],
    by_name: Mapping[str, list[int]],
    bound: Callable[[Verdict], float] = limit,
) -> str | None:
    """The service host that takes the most servers; of several, the first by name."""
    bounds = {name: sum(rooms[index] for index in each) for name, each in by_name.items()}
    best, most = None, -1.0
    for name in sorted(bounds, key=lambda name: (-bounds[name], name)):
        if bounds[name] <= most:
            break
        kept = _only(name, rooms, by_name)
        totals = [_add_up(resolved, chain, rows, kept, bound) for chain in chains]
        room = min(total.room for total in totals)
        if room > most:
            best, most = name, room
    return best


def _number(room: float) -> int | None:
    return None if math.isinf(room) else int(room)


def _levels(
    resolved: ResolvedRequest, constraints: Iterable[Constraint], hosts: Sequence[Host]
) -> list[Level]:
    found: dict[tuple[str, str], Level] = {}
    for constraint in constraints:
        if not is_of_domains(constraint):
            continue
        with blame.blaming(constraint, 'has_domains'):
            has_domains = getattr(constraint, 'has_domains', None)
            if has_domains is not None and not has_domains(resolved):
                continue
        for index, host in enumerate(hosts):
            try:
                for domain in constraint.domains(resolved, host):
                    level = Level(constraint, domain.by, {})
                    level = found.setdefault((constraint.name, domain.by), level)
                    level.hosts.setdefault(domain, []).append(index)
            except Exception as error:
                where = f'host {host.host}'
                raise blame.blamed(constraint, 'domains', error, where) from error
    return list(found.values())


def _chains(levels: Sequence[Level]) -> tuple[list[list[Level]], tuple[str, ...]]:
    """Levels that nest, from the inside out; one chain for each where some do not.

    Beside them the criteria that limit each other.
    """
    every = range(len(levels))
    within = {(one, two): _is_within(levels[one], levels[two]) for one in every for two in every}
    crossing = [
        one for one in every if any(not (within[one, two] or within[two, one]) for two in every)
    ]
    # In a chain, whatever has more of the others within it comes later.
    depth = [sum(within[inner, one] for inner in every) for one in every]
    nested = sorted(
        set(every).difference(crossing), key=lambda one: (depth[one], levels[one].is_joint, one)
    )
    if not crossing:
        bound = [
            levels[each].by
            for place, one in enumerate(nested)
            for outer in nested[place + 1 :]
            if levels[one].is_joint and within[one, outer]
            for each in (one, outer)
        ]
        return [[levels[one] for one in nested]], tuple(dict.fromkeys(bound))
    chains = [
        [levels[inner] for inner in nested if within[inner, one]]
        + [levels[one]]
        + [levels[outer] for outer in nested if not within[outer, one]]
        for one in crossing
    ]
    return chains, tuple(dict.fromkeys(levels[one].by for one in crossing))


def _is_within(inner: Level, outer: Level) -> bool:
    """Does each domain of the one lie in one domain of the other, or outside of all?"""
    where: dict[int, Domain] = {}
    for domain, indexes in outer.hosts.items():
        for index in indexes:
            if where.setdefault(index, domain) != domain:
                return False  # its own domains overlap
    return all(
        len({where.get(index) for index in indexes}) == 1 for indexes in inner.hosts.values()
    )


class _Total(NamedTuple):
    room: float
    said: Mapping[Key, Verdict]


def _add_up(
    resolved: ResolvedRequest,
    chain: Iterable[Level],
    rows: Sequence[Row],
    rooms: Sequence[float],
    bound: Callable[[Verdict], float] = limit,
) -> _Total:
    """What all hosts take together, by the rules of a chain of levels.

    :param bound: what is taken of a verdict: its limit, or what is certain of it.
    """
    group_of = list(range(len(rooms)))
    amounts = dict(enumerate(rooms))
    said: dict[Key, Verdict] = {}
    for level in chain:
        groups: dict[Domain, list[int]] = {}
        known: dict[Domain, int | None] = {}
        for domain, indexes in level.hosts.items():
            eligible = {rows[index].is_eligible for index in indexes}
            if eligible != {False}:
                groups[domain] = list(dict.fromkeys(group_of[index] for index in indexes))
                is_sure = bound is not limit or True in eligible
                total = sum(amounts[each] for each in groups[domain])
                known[domain] = _number(total) if is_sure else None
        verdicts = _ask(level.constraint, resolved, known)
        seen: set[int] = set()
        for domain, parts in groups.items():
            verdict = said[level.key(domain)] = verdicts[domain]
            if not seen.isdisjoint(parts):
                continue  # it overlaps another one, which bounds the room already
            seen.update(parts)
            total = sum(amounts.pop(each) for each in parts)
            amounts[parts[0]] = min(total, bound(verdict))
            for index in level.hosts[domain]:
                group_of[index] = parts[0]
    return _Total(sum(amounts.values()), said)


def _ask(
    constraint: DomainConstraint, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
) -> Mapping[Domain, Verdict]:
    with blame.blaming(constraint, 'check_domains', blame.named(rooms)):
        verdicts = constraint.check_domains(resolved, rooms)
        for domain in rooms:
            if domain not in verdicts:
                raise ValueError(f'the answer has no Verdict for {domain.by} {domain.name}')
            blame.answered(verdicts[domain])
        return verdicts


def _certain(verdict: Verdict) -> float:
    """How many servers a domain takes, as far as that is known."""
    return limit(verdict) if verdict.is_known else 0
