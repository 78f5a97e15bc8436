"""What every constraint says about every host, asked once about hosts that look alike.

Data flow: the hosts come in; one :class:`Row` for each goes out, and hosts that look alike share
theirs: all that a snapshot knows of them is equal but for their names and the figures of their
resources. A constraint for which names count (``is_by_name``) adds its own ``shape`` of each host.
Where hosts differ in these figures alone, only the constraints for which they count
(``is_by_resources``) are asked again.

Units: ``room`` is a number of servers (None: not known), of which ``certain`` are there whatever
the unknown parts of the snapshot are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

from senlin_affinity.core.constraint import Constraint, Domain, HostConstraint, is_of_hosts
from senlin_affinity.core.errors import ConstraintError
from senlin_affinity.core.grants import Grant
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.verdict import Outcome, Verdict

PASS, REJECT = Outcome.PASS, Outcome.REJECT

#: All of a host but its names and its resources, of which :func:`_listed` says what is listed.
_LOOK = """
    availability_zone enabled up aggregates traits hypervisor_type is_nested is_partial unmirrored
"""
_look = attrgetter(*_LOOK.split())


class Row(NamedTuple):
    """The verdicts about hosts that look alike, and what follows from them.

    ``is_eligible``: nothing but room is missing, if anything is (None: perhaps). ``free`` is the
    room that the resources leave, whatever else limits it. ``roomless`` are the constraints that
    read the figures of the resources and let servers in, and do not say how many.
    """

    verdicts: Mapping[str, Verdict]
    room: int | None
    certain: int
    is_at_most: bool
    by: str | None
    is_eligible: bool | None
    free: int = 0
    roomless: tuple[str, ...] = ()

    @property
    def code(self) -> str | None:
        """The code of the first REJECT."""
        return None if self.by is None else self.verdicts[self.by].code


def assess(
    resolved: ResolvedRequest, constraints: Sequence[HostConstraint], hosts: Sequence[Host]
) -> list[Row]:
    """One row for each host, in the order of the hosts."""
    judge = _Judge(resolved, constraints)
    named = [constraint for constraint in constraints if is_by_name(constraint)]
    shapes = [map(constraint.shape, repeat(resolved), hosts) for constraint in named]
    known: dict[Hashable, tuple[list[Verdict], dict[Hashable, Row]]] = {}
    #: By the identity of grants: a number that equal ones share, and of what they are.
    granted: dict[int, tuple[int, tuple[str, ...]]] = {}
    numbers: dict[tuple[Grant, ...], int] = {}
    rows = []
    try:
        for host, look in zip(hosts, zip(map(_look, hosts), *shapes, strict=True), strict=True):
            resources = host.resources
            if not resources or host.is_partial:
                look = ((look[0], _listed(host)), *look[1:])
            has: Hashable = None if resources is None else (*resources, *resources.values())
            grants = host.grants
            if grants is not None:
                if id(grants) not in granted:
                    same = numbers.setdefault(grants, len(numbers))
                    granted[id(grants)] = same, tuple([grant.query for grant in grants])
                same, queries = granted[id(grants)]
                look, has = ((look[0], queries), *look[1:]), (same, has)
            alike = known.get(look)
            if alike is None:
                alike = known[look] = judge.ask(host, look[0]), {}
                alike[1][has] = judge.row(alike[0])
            said, of_resources = alike
            row = of_resources.get(has)
            if row is None:
                row = of_resources[has] = judge.row(judge.ask_those(judge.of_resources, host, said))
            rows.append(row)
    except ConstraintError:
        raise
    except Exception:
        _find_mistake(resolved, named, hosts)
        raise
    return rows


def _find_mistake(
    resolved: ResolvedRequest, constraints: Iterable[HostConstraint], hosts: Iterable[Host]
) -> None:
    """Raise the error that names the constraint whose ``shape`` fails, and the host."""
    for constraint in constraints:
        for host in hosts:
            with blame.blaming(constraint, 'shape', f'host {host.host}'):
                hash(constraint.shape(resolved, host))


def tally(rows: Iterable[Row]) -> list[tuple[Row, int]]:
    """Each row that several hosts share, and how many they are."""
    rows = list(rows)
    shared = {id(row): row for row in rows}
    return [(shared[key], number) for key, number in Counter(map(id, rows)).items()]


class _Judge:
    """Asks the constraints, and remembers what they answered, for one question."""

    def __init__(self, resolved: ResolvedRequest, constraints: Sequence[HostConstraint]) -> None:
        self._question = resolved
        self._all = list(enumerate(constraints))
        self._names = [constraint.name for constraint in constraints]
        #: Those that are asked again where hosts differ in their resources, and in their names.
        self.of_resources = [item for item in self._all if _is_by_resources(item[1])]
        self._of_both = [
            item for item in self._all if _is_by_resources(item[1]) or is_by_name(item[1])
        ]
        self._kinds = _kinds(constraints)
        self._rows: dict[tuple[int, ...], Row] = {}
        self._said: dict[Hashable, list[Verdict]] = {}
        self._verdicts: list[dict[Hashable, Verdict]] = [{} for _ in constraints]

    def ask(self, host: Host, bare: Hashable) -> list[Verdict]:
        """What is said about a host of a new look, which is ``bare`` of what names count for."""
        known = self._said.get(bare)
        if known is not None:
            return self.ask_those(self._of_both, host, known)
        said = self._said[bare] = [self._ask(*item, host) for item in self._all]
        return said

    def ask_those(
        self, constraints: Iterable[tuple[int, HostConstraint]], host: Host, said: list[Verdict]
    ) -> list[Verdict]:
        """What is said about a host for which only some of the constraints can differ."""
        again = said.copy()
        for index, constraint in constraints:
            again[index] = self._ask(index, constraint, host)
        return again

    def row(self, said: list[Verdict]) -> Row:
        """The row; hosts of which the same was said share it."""
        key = (*map(id, said),)  # the verdicts live as long as this
        row = self._rows.get(key)
        if row is None:
            verdicts = dict(zip(self._names, said, strict=True))
            row = self._rows[key] = _row(verdicts, *self._kinds)
        return row

    def _ask(self, index: int, constraint: HostConstraint, host: Host) -> Verdict:
        known = self._verdicts[index]
        method = 'shape'
        try:
            shape = constraint.shape(self._question, host)
            verdict = known.get(shape)
            if verdict is None:
                method = 'check_host'
                verdict = constraint.check_host(self._question, host)
                known[shape] = blame.answered(verdict)
        except Exception as error:
            raise blame.blamed(constraint, method, error, f'host {host.host}') from error
        return verdict


def _listed(host: Host) -> Hashable:
    """Is anything known of the resources? And of which classes, where that is not all."""
    return (*host.resources,) if host.is_partial and host.resources else bool(host.resources)


def is_by_name(constraint: Constraint) -> bool:
    """Do the names of a host count for the rule, or who its members are?"""
    return getattr(constraint, 'is_by_name', True)


def _is_by_resources(constraint: Constraint) -> bool:
    return getattr(constraint, 'is_by_resources', True)


def _kinds(constraints: Sequence[Constraint]) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the constraints that are about room, and of those that read resources."""
    of_hosts = filter(is_of_hosts, constraints)
    return (
        frozenset(item.name for item in constraints if getattr(item, 'is_about_room', False)),
        frozenset(item.name for item in of_hosts if _is_by_resources(item)),
    )


def _row(
    verdicts: Mapping[str, Verdict], about_room: frozenset[str], by_resources: frozenset[str]
) -> Row:
    """What follows from all that is said about a host."""
    room: int | None = None
    free: int | None = None
    roomless: list[str] = []
    is_known, is_at_most, is_about_room, by = True, False, True, None
    for name, verdict in verdicts.items():
        outcome, each = verdict.outcome, verdict.room
        is_known = is_known and verdict.is_known
        if outcome is REJECT:
            by = by or name
            is_about_room = is_about_room and name in about_room
            continue
        is_at_most = is_at_most or verdict.is_at_most
        if each is not None:
            room = each if room is None or each < room else room
            if name in by_resources:
                free = each if free is None or each < free else free
        elif outcome is PASS and name in by_resources:
            roomless.append(name)
    is_eligible = (is_known or None) if is_about_room else False
    if by is not None:
        return Row(verdicts, 0, 0, False, by, is_eligible)
    certain = room if is_known and room is not None else 0
    is_at_most = is_at_most or bool(roomless)
    return Row(verdicts, room, certain, is_at_most, None, is_eligible, free or 0, tuple(roomless))


def add_said(
    constraints: Sequence[Constraint],
    rows: Sequence[Row],
    of_host: Mapping[int, Sequence[tuple[str, Domain]]],
    said: Mapping[tuple[str, Domain], Verdict],
) -> list[Row]:
    """The rows with what rules say about the domains of their hosts; equal ones are one object."""
    names, kinds = [item.name for item in constraints], _kinds(constraints)
    known: dict[Hashable, Row] = {}
    added = list(rows)
    for index, domains in of_host.items():
        keys = (*(key for key in domains if key in said),)
        old = rows[index]
        if (id(old), keys) not in known:
            verdicts = dict(old.verdicts)
            for key in keys:
                verdicts[key[0]] = _strictest(verdicts.get(key[0]), said[key])
            ordered = {name: verdicts[name] for name in names if name in verdicts}
            known[id(old), keys] = _row(ordered, *kinds)
        added[index] = known[id(old), keys]
    return added


def limit(verdict: Verdict) -> float:
    """How many servers a rule lets in at most."""
    if verdict.outcome is REJECT:
        return 0
    return math.inf if verdict.room is None else verdict.room


def _strictest(one: Verdict | None, two: Verdict) -> Verdict:
    """Of what one rule says about a host and its domains, that which leaves the least."""
    if one is None:
        return two
    least, other = (one, two) if limit(one) <= limit(two) else (two, one)
    return replace(least, is_at_most=True) if least and other.is_at_most else least
