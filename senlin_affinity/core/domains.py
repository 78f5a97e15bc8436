"""What sets of hosts take: rules about racks, zones, storage pools, and what they leave.

The way of the data: the hosts and their rows come in; each rule says in which domains a host lies,
which makes a :class:`Level` of every criterion. From the inside out the rooms of the hosts add up
to those of their domains, and a domain takes no more than its rule says. The rows go out again with
what is said about the domains of their hosts, and with what each of these takes for certain.

Criteria nest where each domain of one lies within one domain of the other, or outside of all of
them. Nested ones are counted exactly, but for domains that depend on each other (``is_joint``):
what a larger one refuses to one of them, the others may not take, either. Where some cross, each of
them, with what is nested in it, gives a bound. In both cases what is certain is what can be placed.

Units: numbers of servers; a room of None is no number that anybody knows.

Errors: ConstraintError where a rule fails, or does not answer for a domain that it was asked about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from senlin_affinity.core import blame
from senlin_affinity.core.assessment import Kinds, Row, make_row
from senlin_affinity.core.constraint import Constraint, Domain, DomainConstraint, is_of_domains
from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.verdict import Outcome, Verdict

#: A domain, by the name of its rule: two rules may have the same domains.
Key = tuple[str, Domain]


class Level(NamedTuple):
    """The domains of one criterion of a rule, and the hosts in each by their places."""

    constraint: DomainConstraint
    by: str
    hosts: Mapping[Domain, list[int]]

    def key(self, domain: Domain) -> Key:
        """What a domain is known by."""
        return self.constraint.name, domain

    @property
    def is_joint(self) -> bool:
        """Does what a domain takes depend on the others?"""
        return getattr(self.constraint, 'is_joint', True)


@dataclass(frozen=True)
class Survey:
    """The hosts' rows with what is said about their domains, and how many servers fit in all.

    ``of_host`` are the domains of each host that has some, ``limits`` what each of them takes for
    certain (None: no limit). ``crossing`` are the criteria that limit each other; where there are
    some, ``certain`` is not worked out here. ``home`` is the service host that all servers go to,
    where they go to one.
    """

    rows: Sequence[Row]
    most: int | None
    certain: int
    of_host: Mapping[int, Sequence[Key]]
    limits: Mapping[Key, int | None]
    crossing: tuple[str, ...] = ()
    home: str | None = None


def survey(
    question: Question,
    constraints: Sequence[Constraint],
    hosts: Sequence[Host],
    rows: Sequence[Row],
    *,
    is_together: bool = False,
) -> Survey | None:
    """What the rules say about sets of these hosts; None where there is nothing to say.

    :param is_together: all servers go to one service host (``home``), which may be any.
    """
    levels = _levels(question, constraints, hosts)
    if not levels and not is_together:
        return None
    chains, crossing = _chains(levels)
    rooms: Sequence[int | None] = [row.room for row in rows]
    sure: Sequence[int | None] = [row.certain for row in rows]
    home = None
    if is_together:
        by_name = _by_name(hosts)
        rooms = _only(_home(question, chains, rows, rooms, by_name), rooms, by_name)
        home = _home(question, chains, rows, sure, by_name, is_certain=True)
        sure = _only(home, sure, by_name)
    most = [_add_up(question, chain, rows, rooms) for chain in chains]
    least = [_add_up(question, chain, rows, sure, is_certain=True) for chain in chains]
    of_host: dict[int, list[Key]] = {}
    for level in levels:
        for domain, indexes in level.hosts.items():
            for index in indexes:
                of_host.setdefault(index, []).append(level.key(domain))
    said = {key: verdict for total in most for key, verdict in total.said.items()}
    return Survey(
        _told(constraints, rows, of_host, said),
        reduce(_least, (total.room for total in most)),
        least[0].room or 0,
        of_host,
        {
            key: _limit(verdict, is_certain=True)
            for total in least
            for key, verdict in total.said.items()
        },
        crossing,
        home,
    )


def _by_name(hosts: Iterable[Host]) -> Mapping[str, list[int]]:
    """The hypervisors of each service host, by their places among the hosts."""
    found: dict[str, list[int]] = {}
    for index, host in enumerate(hosts):
        found.setdefault(host.host, []).append(index)
    return found


def _only(
    home: str | None, rooms: Sequence[int | None], by_name: Mapping[str, list[int]]
) -> list[int | None]:
    """The rooms, if all servers go to one service host."""
    kept: list[int | None] = [0] * len(rooms)
    for index in by_name.get(home or '', ()):
        kept[index] = rooms[index]
    return kept


def _home(
    question: Question,
    chains: Iterable[list[Level]],
    rows: Sequence[Row],
    rooms: Sequence[int | None],
    by_name: Mapping[str, list[int]],
    *,
    is_certain: bool = False,
) -> str | None:
    """The service host that takes the most servers; of several, the first by name."""
    bounds = {name: _sum(rooms[index] for index in each) for name, each in by_name.items()}
    best, most = None, -1.0
    for name in sorted(bounds, key=lambda name: (-_or_any(bounds[name]), name)):
        if _or_any(bounds[name]) <= most:
            break
        kept = _only(name, rooms, by_name)
        room = min(
            _or_any(_add_up(question, chain, rows, kept, is_certain=is_certain).room)
            for chain in chains
        )
        if room > most:
            best, most = name, room
    return best


def _or_any(room: int | None) -> float:
    return math.inf if room is None else room


def _levels(
    question: Question, constraints: Iterable[Constraint], hosts: Sequence[Host]
) -> list[Level]:
    found: dict[tuple[str, str], Level] = {}
    for constraint in constraints:
        if not is_of_domains(constraint):
            continue
        with blame.blaming(constraint, 'has_domains'):
            if not getattr(constraint, 'has_domains', _always)(question):
                continue
        for index, host in enumerate(hosts):
            try:
                for domain in constraint.domains(question, host):
                    level = found.get((constraint.name, domain.by))
                    if level is None:
                        level = Level(constraint, domain.by, {})
                        found[constraint.name, domain.by] = level
                    level.hosts.setdefault(domain, []).append(index)  # type: ignore[attr-defined]
            except Exception as error:
                raise blame.blamed(constraint, 'domains', error, host) from error
    return list(found.values())


def _always(_question: Question) -> bool:
    return True


def _chains(levels: Sequence[Level]) -> tuple[list[list[Level]], tuple[str, ...]]:
    """Levels that nest, from the inside out; one chain for each where some do not.

    Beside them the criteria that limit each other.
    """
    within = {
        (one, two): _is_within(levels[one], levels[two])
        for one in range(len(levels))
        for two in range(len(levels))
    }
    crossing = [
        one
        for one in range(len(levels))
        if any(not (within[one, two] or within[two, one]) for two in range(len(levels)))
    ]
    # In a chain, whatever has more of the others within it comes later.
    depth = [sum(within[inner, one] for inner in range(len(levels))) for one in range(len(levels))]
    nested = sorted(
        (one for one in range(len(levels)) if one not in crossing),
        key=lambda one: (depth[one], levels[one].is_joint),
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
    room: int | None
    said: Mapping[Key, Verdict]


def _add_up(
    question: Question,
    chain: Iterable[Level],
    rows: Sequence[Row],
    rooms: Sequence[int | None],
    *,
    is_certain: bool = False,
) -> _Total:
    """What all hosts take together, by the rules of a chain of levels."""
    group_of = list(range(len(rooms)))
    amounts: dict[int, int | None] = dict(enumerate(rooms))
    said: dict[Key, Verdict] = {}
    for level in chain:
        groups: dict[Domain, list[int]] = {}
        known: dict[Domain, int | None] = {}
        for domain, indexes in level.hosts.items():
            eligible = {rows[index].is_eligible for index in indexes}
            if eligible != {False}:
                groups[domain] = list(dict.fromkeys(group_of[index] for index in indexes))
                is_sure = is_certain or True in eligible
                known[domain] = _sum(amounts[each] for each in groups[domain]) if is_sure else None
        verdicts = _ask(level.constraint, question, known)
        seen: set[int] = set()
        for domain, parts in groups.items():
            verdict = verdicts[domain]
            said[level.key(domain)] = verdict
            if not seen.isdisjoint(parts):
                continue  # it overlaps another one, which bounds the room already
            seen.update(parts)
            total, limit = _sum(amounts[each] for each in parts), _limit(verdict, is_certain)
            for each in parts:
                del amounts[each]
            amounts[parts[0]] = _least(total, limit)
            for index in level.hosts[domain]:
                group_of[index] = parts[0]
    return _Total(_sum(amounts.values()), said)


def _ask(
    constraint: DomainConstraint, question: Question, rooms: Mapping[Domain, int | None]
) -> Mapping[Domain, Verdict]:
    with blame.blaming(constraint, 'check_domains', blame.named(rooms)):
        verdicts = constraint.check_domains(question, rooms)
        for domain in rooms:
            if domain not in verdicts:
                raise ValueError(f'the answer has no Verdict for {domain.by} {domain.name}')
            blame.answered(verdicts[domain])
        return verdicts


def _limit(verdict: Verdict, is_certain: bool = False) -> int | None:
    """How many servers a domain takes at most; None: the rule sets no limit."""
    if verdict.outcome is Outcome.REJECT or (is_certain and not verdict.is_known):
        return 0
    return verdict.room


def _sum(rooms: Iterable[int | None]) -> int | None:
    total = 0
    for room in rooms:
        if room is None:
            return None
        total += room
    return total


def _least(room: int | None, limit: int | None) -> int | None:
    if room is None or limit is None:
        return limit if room is None else room
    return min(room, limit)


def _told(
    constraints: Sequence[Constraint],
    rows: Sequence[Row],
    of_host: Mapping[int, Sequence[Key]],
    said: Mapping[Key, Verdict],
) -> list[Row]:
    """The rows with what is said about the domains of their hosts; equal ones are one object."""
    names, kinds = [item.name for item in constraints], Kinds.of(constraints)
    known: dict[tuple[int, tuple[Key, ...]], Row] = {}
    told = list(rows)
    for index, keys in of_host.items():
        spoken = (*(key for key in keys if key in said),)
        old = rows[index]
        row = known.get((id(old), spoken))
        if row is None:
            verdicts = dict(old.verdicts)
            for key in spoken:
                verdicts[key[0]] = _strictest(verdicts.get(key[0]), said[key])
            ordered = {name: verdicts[name] for name in names if name in verdicts}
            row = known[id(old), spoken] = make_row(ordered, kinds)
        told[index] = row
    return told


def _strictest(one: Verdict | None, two: Verdict) -> Verdict:
    """Of what one rule says about a host and its domains, that which leaves the least."""
    if one is None:
        return two
    is_one = not one or _or_any(one.room) <= _or_any(_limit(two))
    least, other = (one, two) if is_one else (two, one)
    return replace(least, is_at_most=True) if least and other.is_at_most else least
