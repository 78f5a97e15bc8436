"""What follows from the verdicts about a host: whether it takes servers, and what is against it.

Units: ``limit`` is a number of servers, infinite where there is none, or where it is not known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from senlin_affinity.core.constraint import Constraint, is_of_hosts
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Outcome, Verdict

PASS, REJECT = Outcome.PASS, Outcome.REJECT


class Row(NamedTuple):
    """The verdicts about a host, or about several of which the same is said.

    Those may differ in the numbers of the rules by figures alone: ``verdicts`` has these of one of
    the hosts, and ``limit`` is what all other rules leave; 0 where one refuses. ``sure`` is what
    they leave whatever makes it "at most". ``is_eligible``: nothing but room is missing, if
    anything is (None: perhaps). ``roomless`` are the constraints that read the figures of the
    resources and let servers in, and do not say how many.
    """

    verdicts: Mapping[str, Verdict]
    limit: float
    is_known: bool
    is_at_most: bool
    by: str | None
    is_eligible: bool | None
    roomless: tuple[str, ...] = ()
    sure: float = 0

    @property
    def code(self) -> str | None:
        """The code of the first REJECT."""
        return None if self.by is None else self.verdicts[self.by].code


class Kinds(NamedTuple):
    """The names of the constraints that are about room, of those that read resources, and of those
    whose rooms are counted host by host.
    """

    about_room: frozenset[str]
    by_resources: frozenset[str]
    by_figures: frozenset[str] = frozenset()

    @classmethod
    def of(cls, constraints: Sequence[Constraint]) -> Kinds:
        """Those of some constraints."""
        of_hosts = filter(is_of_hosts, constraints)
        return cls(
            frozenset(item.name for item in constraints if getattr(item, 'is_about_room', False)),
            frozenset(item.name for item in of_hosts if is_by_resources(item)),
        )


def is_by_resources(constraint: Constraint) -> bool:
    """Do the figures of a host's resources count for the rule?"""
    return getattr(constraint, 'is_by_resources', True)


def is_by_name(constraint: Constraint) -> bool:
    """Do the names of a host count for the rule, or who its members are?"""
    return getattr(constraint, 'is_by_name', True)


def row_of(verdicts: Mapping[str, Verdict], kinds: Kinds) -> Row:
    """What follows from all that is said about a host."""
    limit = certain = math.inf
    roomless: list[str] = []
    is_known, is_at_most, is_about_room, by = True, False, True, None
    for name, verdict in verdicts.items():
        outcome = verdict.outcome
        is_known = is_known and verdict.is_known
        if outcome is REJECT:
            by = by or name
            is_about_room = is_about_room and name in kinds.about_room
            continue
        is_at_most = is_at_most or verdict.is_at_most
        if name not in kinds.by_figures:
            certain = min(certain, sure(verdict))
        if verdict.room is not None:
            if name not in kinds.by_figures:
                limit = min(limit, verdict.room)
        elif outcome is PASS and name in kinds.by_resources:
            roomless.append(name)
    is_eligible = (is_known or None) if is_about_room else False
    if by is not None:
        return Row(verdicts, 0, is_known, False, by, is_eligible)
    is_at_most, certain = is_at_most or bool(roomless), 0 if roomless else certain
    return Row(verdicts, limit, is_known, is_at_most, None, is_eligible, tuple(roomless), certain)


def look_of(verdict: Verdict, reasons: Mapping[str, Reason]) -> tuple[Any, ...]:
    """All that rows tell of a verdict but its numbers."""
    code, facts = verdict.code, verdict.facts
    reason = reasons.get(code)
    told: Any = None
    if not verdict.is_known:
        told = repr(facts)
    elif reason is not None and reason.detail:
        told = str(facts.get(reason.detail))
    is_open = verdict.room is None
    return (code, verdict.outcome, verdict.is_known, verdict.is_at_most, is_open, told)


def tally(rows: Collection[Row]) -> list[tuple[Row, int]]:
    """Each row that several hosts share, and how many they are."""
    shared = dict(zip(map(id, rows), rows, strict=True))
    return [(shared[key], number) for key, number in Counter(map(id, rows)).items()]


def limit(verdict: Verdict) -> float:
    """How many servers a rule lets in at most."""
    if verdict.outcome is REJECT:
        return 0
    return math.inf if verdict.room is None else verdict.room


def sure(verdict: Verdict) -> float:
    """How many servers a rule lets in whatever is not known of it, or makes it "at most"."""
    if not verdict.is_known:
        return 0
    return (verdict.least or 0) if verdict.is_at_most else limit(verdict)
