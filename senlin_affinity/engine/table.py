"""Evaluate every constraint for all hosts, and hold the verdicts and the numbers that follow.

The verdicts about a host decide whether it takes servers, and which constraint rejects it first.
Hosts with equal verdicts share a :class:`HostVerdicts`.

Units: numbers of servers. In ``upper``, ``INFINITE`` is unknown or without a limit; in
``expected`` and ``lower``, an unlimited number is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds, limited
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import Outcome, Reason, Verdict
from senlin_affinity.scenario.column import Column, in_order, limit, number
from senlin_affinity.scenario.columns import INFINITE, Flags, Numbers
from senlin_affinity.scenario.constraint import Constraint, attributing, counts_resources, overrides
from senlin_affinity.scenario.scenario import Scenario

PASS, REJECT = Outcome.PASS, Outcome.REJECT


class HostVerdicts(NamedTuple):
    """The verdicts that several hosts share, but for the numbers of the counted constraints.

    ``bounds`` are those of the others; ``is_known`` (no verdict is unknown, even of a rejected
    host) and ``is_at_most`` refer to all. ``rejected_by`` is the first constraint that rejects.
    ``is_eligible``: the host lacks nothing but capacity (None: perhaps). ``unbounded`` are the
    constraints that use resources, pass, and give no number.
    """

    verdicts: Mapping[str, Verdict]
    bounds: Bounds
    is_known: bool
    is_at_most: bool
    rejected_by: str | None
    is_eligible: bool | None
    unbounded: tuple[str, ...] = ()

    @property
    def code(self) -> str | None:
        """The code of the first REJECT; None without one."""
        return None if self.rejected_by is None else self.verdicts[self.rejected_by].code


def is_state(
    name: str, verdict: Verdict, reasons: Mapping[str, Reason], about_capacity: Collection[str]
) -> bool:
    """Check whether the constraint of this name rejects a host because of its state only.

    :param about_capacity: the constraints that reject only full hosts.
    """
    declared = reasons[verdict.code].is_state
    return name in about_capacity if declared is None else declared


def nearest(
    rows: Iterable[HostVerdicts], reasons: Mapping[str, Reason], about_capacity: Collection[str]
) -> list[HostVerdicts]:
    """Return the rejected rows of the hosts that are the closest to being suitable.

    If some are rejected because of their state only, these; of them, those with the fewest REJECTs.
    """
    rejected = [
        ({name: each for name, each in row.verdicts.items() if not each}, row)
        for row in rows
        if row.code is not None
    ]
    suitable = [
        (found, row)
        for found, row in rejected
        if all(is_state(name, each, reasons, about_capacity) for name, each in found.items())
    ]
    near = suitable or rejected
    fewest = min((len(found) for found, _row in near), default=0)
    return [row for found, row in near if len(found) == fewest]


def capacity_constraints(constraints: Collection[Constraint]) -> frozenset[str]:
    """Return the names of the constraints that reject only full hosts (``is_capacity_rule``)."""
    return frozenset(item.name for item in constraints if item.is_capacity_rule)


def row_of(
    verdicts: Mapping[str, Verdict],
    constraints: Mapping[str, Constraint],
    counted: Collection[str] = (),
) -> HostVerdicts:
    """Return the row with these verdicts.

    With a REJECT, the bounds are 0, without caveat. Otherwise, they are the tightest of the
    constraints that are not counted, with 0 guaranteed (a caveat) if any is ``unbounded``.

    :param verdicts: in the order in which they reject.
    :param counted: the constraints whose number is not part of the row.
    """
    bounds = UNLIMITED
    unbounded: list[str] = []
    is_known, is_at_most, is_eligible, rejected_by = True, False, True, None
    for name, verdict in verdicts.items():
        constraint = constraints[name]
        if verdict.bounds is UNLIMITED and not counts_resources(constraint):
            continue  # it changes nothing
        is_known = is_known and verdict.bounds.is_known
        if verdict.outcome is REJECT:
            rejected_by = rejected_by or name
            is_eligible = is_eligible and constraint.is_capacity_rule
            continue
        is_at_most = is_at_most or verdict.bounds.is_at_most
        if name not in counted:
            bounds &= verdict.bounds
        is_unbounded = verdict.bounds.upper is None and verdict.outcome is PASS
        if is_unbounded and counts_resources(constraint):
            unbounded.append(name)
    eligible = (is_known or None) if is_eligible else False
    if rejected_by is not None:
        return HostVerdicts(verdicts, NONE, is_known, False, rejected_by, eligible)
    if unbounded:
        bounds, is_at_most = bounds._replace(lower=0), True
    return HostVerdicts(verdicts, bounds, is_known, is_at_most, None, eligible, tuple(unbounded))


#: A combination of verdicts is one number, as long as it is below this.
_MOST_COMBINATIONS = 1 << 62


class Bound(NamedTuple):
    """The bounds of each host."""

    lower: Numbers
    expected: Numbers
    upper: Numbers


@dataclass(frozen=True)
class Table:
    """The verdicts about hosts, and the numbers of servers that they take, by index.

    Example::

        rows      [open, rejected]     the verdicts; those of counted columns are examples
        row_of    [0, 0, 1]            the row of each host
        counted   {'resources': ...}   the columns with a number, and facts, for each host
        upper     [4, 9, 0]            servers; INFINITE: unknown, or without a limit
        expected  [4, 9, 0]            those that fit if no caveat applies
        lower     [4, 9, 0]            those that are guaranteed
        free      [4, 9, 0]            the upper bounds of the counted columns; without any, 0

    ``exact`` are the hosts whose row has the exact verdicts, also of counted columns.
    """

    rows: Sequence[HostVerdicts]
    row_of: Numbers
    counted: Mapping[str, Column]
    lower: Numbers
    expected: Numbers
    upper: Numbers
    free: Numbers
    exact: frozenset[int] = field(default_factory=frozenset)

    @cached_property
    def used_rows(self) -> Sequence[HostVerdicts]:
        """Each row that a host has, once."""
        numbers = np.flatnonzero(np.bincount(self.row_of, minlength=len(self.rows)))
        return [self.rows[number] for number in numbers.tolist()]

    @cached_property
    def is_at_most(self) -> bool:
        """Whether a caveat applies to any host."""
        return any(row.is_at_most for row in self.used_rows)

    def where(self, rows: Iterable[bool]) -> Flags:
        """Return a flag for each host, from one for each row."""
        return np.fromiter(rows, bool, len(self.rows))[self.row_of]

    def room(self) -> tuple[int | None, ...]:
        """Return the upper bound of each host; None: unknown or unlimited."""
        numbers = self.upper.tolist()
        if INFINITE in numbers:
            return tuple(map(limit, numbers))
        return tuple(numbers)

    def verdicts(self, index: int) -> Mapping[str, Verdict]:
        """Return all verdicts about the host at this index, by the name of the constraint."""
        found: Mapping[str, Verdict] = self.rows[int(self.row_of[index])].verdicts
        if index in self.exact:
            return found
        return {**found, **{name: each.verdict(index) for name, each in self.counted.items()}}

    def with_rows(self, rows: Mapping[int, HostVerdicts]) -> Table:
        """Return the table with other rows, by host index; the numbers follow from these.

        A new row has the exact verdict of each constraint. ``free`` stays.
        """
        every, number_of = [*self.rows], dict[int, int]()
        numbers = self.row_of.copy()
        bounds = Bound(self.lower.copy(), self.expected.copy(), self.upper.copy())
        for index, row in rows.items():
            at = number_of.setdefault(id(row), len(every))
            if at == len(every):
                every.append(row)
            numbers[index] = at
            for array, each in zip(bounds, row.bounds, strict=True):
                array[index] = number(each)
        whole = Bound(_whole(bounds.lower), _whole(bounds.expected), bounds.upper)
        return replace(
            self, rows=every, row_of=numbers, exact=self.exact.union(rows), **whole._asdict()
        )


def evaluate_hosts(
    request: Request,
    constraints: Sequence[Constraint],
    scenario: Scenario,
    known: Mapping[str, Column] | None = None,
) -> Table:
    """Return the verdicts about the hosts of the scenario.

    :param constraints: those that check hosts, in the order in which they reject.
    :param known: columns by the name of the constraint, which are not computed.
    """
    size = len(scenario.hosts)
    by_name = {each.name: each for each in constraints}
    known = known or {}
    columns = {
        each.name: known.get(each.name) or column_of(each, request, scenario)
        for each in constraints
    }
    counted = {name: each for name, each in columns.items() if each.is_counted}
    several = {name: each for name, each in columns.items() if len(each.verdicts) > 1}
    # The columns of classes are kept, so that their combination is also that of later tables.
    kept = [each for each in several if not overrides(by_name[each], 'column')]
    marks = [
        _kept_marks(scenario, [_marks(several.pop(each), by_name[each].reasons) for each in kept])
    ]
    marks += (_marks(column, by_name[name].reasons) for name, column in several.items())
    numbers, firsts = _combined(marks, size)
    verdicts = zip(*(each.verdicts_at(firsts) for each in columns.values()), strict=True)
    rows = [row_of(dict(zip(columns, each, strict=True)), by_name, counted) for each in verdicts]
    rows = rows or [row_of({}, by_name, counted)] * len(firsts)
    free = np.full(size, INFINITE)
    for column in counted.values():
        free = np.minimum(free, column.upper)
    free = _whole(free)
    return Table(rows, numbers, counted, *_bounds(rows, numbers, columns.values(), size), free)


def column_of(constraint: Constraint, request: Request, scenario: Scenario) -> Column:
    """Return the column of a constraint; raise ConstraintError if that fails."""
    with attributing(constraint, 'column'):
        column = constraint.column(request, scenario)
        if len(column.verdict_of) != len(scenario.hosts):
            found, hosts = len(column.verdict_of), len(scenario.hosts)
            raise ValueError(f'the answer has {found} verdicts for {hosts} hosts')
        return column


def _marks(column: Column, reasons: Mapping[str, Reason]) -> Numbers:
    """Return a number for each host, the same for those that may share a row."""
    if column.facts is not None or not column.is_counted:
        return column.verdict_of
    number_of: dict[Hashable, int] = {}
    marks = [number_of.setdefault(_mark(each, reasons), len(number_of)) for each in column.verdicts]
    return np.array(marks, np.int64)[column.verdict_of]


def _kept_marks(scenario: Scenario, marks: Sequence[Numbers]) -> Numbers:
    """Return the combination of these marks, which is computed once."""

    def combine() -> tuple[Sequence[Numbers], Numbers]:
        numbers, _firsts = _combined(marks, len(scenario.hosts))
        return marks, numbers  # no other array has the id of one of these marks while it is kept

    return scenario.columns.known(('combined', *map(id, marks)), combine)[1]


def _mark(verdict: Verdict, reasons: Mapping[str, Reason]) -> Hashable:
    """Return a key that is equal for verdicts that may share a row.

    It ignores numbers, and facts but ``Reason.detail`` unless the number is unknown.
    """
    reason, bounds, detail = reasons[verdict.code], verdict.bounds, None
    if not bounds.is_known:
        detail = repr(verdict.facts)
    elif reason.detail:
        detail = str(verdict.facts[reason.detail])
    is_open = bounds.upper is None
    return verdict.code, verdict.outcome, bounds.is_known, bounds.is_at_most, is_open, detail


def _combined(marks: Sequence[Numbers], size: int) -> tuple[Numbers, Numbers]:
    """Return the number of the combination of each host, and the first host of each combination.

    Combinations count from 0, in the order in which they appear.
    """
    combined, most = np.zeros(size, np.int64), 1
    for each in marks if size else ():
        kinds = int(each.max()) + 1
        if most * kinds >= _MOST_COMBINATIONS:
            combined, _firsts = in_order(combined)
            most = int(combined.max()) + 1
        combined = combined * kinds + each
        most *= kinds
    return in_order(combined)


def _bounds(
    rows: Sequence[HostVerdicts], numbers: Numbers, columns: Iterable[Column], size: int
) -> Bound:
    """Return the least bounds of the columns; 0 for a host that a constraint rejects.

    In columns, INFINITE is an unlimited number in all three bounds.
    """
    least: Bound | None = None
    for column in columns:
        # A REJECT decides by its row.
        limits = (each.bounds != UNLIMITED for each in column.verdicts if each)
        if column.is_counted or any(limits):
            own = Bound(column.lower, column.expected, column.upper)
            pairs = zip(least or own, own, strict=True)
            least = own if least is None else Bound(*(np.minimum(a, b) for a, b in pairs))
    if least is None:
        least = Bound(*[np.full(size, INFINITE)] * len(Bound._fields))
    is_open = np.array([row.rejected_by is None for row in rows], bool)[numbers]
    lower, expected, upper = _once(lambda each: np.where(is_open, each, 0), least)
    lower, expected = _once(_whole, (lower, expected))
    if any(row.unbounded for row in rows):
        lower = np.where(np.array([bool(row.unbounded) for row in rows])[numbers], 0, lower)
    return Bound(lower, expected, upper)


def _once(change: Callable[[Numbers], Numbers], arrays: Iterable[Numbers]) -> list[Numbers]:
    """Return the changed arrays; an array that occurs several times is changed once."""
    found: dict[int, Numbers] = {}
    every = [*arrays]  # an id belongs to one of them as long as all exist
    for each in every:
        if id(each) not in found:
            found[id(each)] = change(each)
    return [found[id(each)] for each in every]


def _whole(numbers: Numbers) -> Numbers:
    """Return the numbers with 0 in place of INFINITE; the same array if there is none."""
    if not (numbers >= INFINITE).any():
        return numbers
    return np.where(numbers >= INFINITE, 0, numbers)


def with_domains(
    constraints: Sequence[Constraint],
    table: Table,
    domains_of: Mapping[int, Sequence[tuple[str, Any]]],
    verdict_of: Mapping[Any, Verdict],
) -> Table:
    """Return the table in which the verdicts about domains tighten those about their hosts.

    :param domains_of: the constraint and domain of each domain of a host, by host index.
    :param verdict_of: the verdict about each of these domains, or some of them.
    """
    by_name = {each.name: each for each in constraints}
    row_by_view: dict[Hashable, HostVerdicts] = {}
    rows = {}
    for index, domains in domains_of.items():
        keys = (*(key for key in domains if key in verdict_of),)
        of_host = {name: each.verdict(index) for name, each in table.counted.items()}
        counted = ((each.code, each.bounds, repr(each.facts)) for each in of_host.values())
        at = int(table.row_of[index])
        view = (at, *counted, keys)
        if view not in row_by_view:
            of_host = {**table.rows[at].verdicts, **of_host}
            for key in keys:
                of_host[key[0]] = _strictest(of_host.get(key[0]), verdict_of[key])
            ordered = {name: of_host[name] for name in by_name if name in of_host}
            row_by_view[view] = row_of(ordered, by_name)
        rows[index] = row_by_view[view]
    return table.with_rows(rows) if rows else table


def _strictest(of_host: Verdict | None, of_domain: Verdict) -> Verdict:
    """Return the verdict with the lower upper bound; ``of_host`` if equal.

    Unless it is a REJECT, it gets the lower of both lower bounds if the other has a caveat. If
    ``of_host`` is None, return ``of_domain``.
    """
    if of_host is None:
        return of_domain
    is_less = limited(of_host.bounds.upper) <= limited(of_domain.bounds.upper)
    least, other = (of_host, of_domain) if is_less else (of_domain, of_host)
    if not least or not other.bounds.is_at_most:
        return least
    lower = (least.bounds & other.bounds).lower
    return replace(least, bounds=least.bounds._replace(lower=lower))
