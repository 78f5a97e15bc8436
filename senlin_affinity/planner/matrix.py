"""Evaluate every constraint for every host, and hold the verdicts and the numbers that follow.

A constraint is evaluated for each class of hosts, and for each host that ``specific_hosts`` names;
one that uses resources for all hosts. Hosts with equal verdicts share a
:class:`~senlin_affinity.planner.row.Row`.

Units: numbers of servers. In ``expected`` and ``lower``, an unlimited number is 0.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, count, repeat
from operator import attrgetter
from typing import NamedTuple, TypeVar, cast

from senlin_affinity.model.bounds import finite, limited
from senlin_affinity.model.constraint import Constraint, Domain, overrides
from senlin_affinity.model.host import Host
from senlin_affinity.model.host_classes import HostClasses
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.planner import plugin_errors
from senlin_affinity.planner.row import Row, row_of

_Each = TypeVar('_Each')
_NAME = attrgetter('host')


class Numbered(NamedTuple):
    """The number of each item, and the index of the first item with each number."""

    numbers: list[int]
    firsts: list[int]


def numbered(items: Iterable[Hashable]) -> Numbered:
    """Assign numbers to distinct items as they appear; ``'aba'`` gives ``([0, 1, 0], [0, 1])``."""
    number_of: defaultdict[Hashable, int] = defaultdict(count().__next__)
    numbers = [*map(number_of.__getitem__, items)]
    firsts: list[int] = []
    for number in range(len(number_of)):
        firsts.append(numbers.index(number, firsts[-1] + 1 if firsts else 0))
    return Numbered(numbers, firsts)


def patched(old: Sequence[_Each], indexes: Sequence[int], new: Sequence[_Each]) -> list[_Each]:
    """Return the old items with new ones at ascending indexes; an index beyond the end appends.

    ``patched('abc', [1, 7], 'xy')`` is ``['a', 'x', 'c', 'y']``.
    """
    inside = bisect_left(indexes, len(old))
    merged = [*old, *new[inside:]]
    for index, each in zip(indexes[:inside], new, strict=False):
        merged[index] = each
    return merged


@dataclass(frozen=True)
class VerdictMatrix:
    """The verdicts about hosts, and the numbers of servers that they take, by index.

    Example::

        rows      [open, rejected]              the verdicts, without the numbers
        row_of    [0, 0, 1]                     the row of each host
        columns   {'resources': [4 fit, 9 fit, exhausted]}     of constraints that use resources
        upper     [4, 9, 0]                     servers; infinite: unknown, or without a limit
        expected  [4, 9, 0]                     those that fit if no caveat applies
        lower     [4, 9, 0]                     those that are guaranteed
        free      [4, 9, 0]                     the upper bounds of the columns; without any, 0
    """

    rows: Sequence[Row]
    row_of: Sequence[int]
    columns: Mapping[str, Sequence[Verdict]]
    lower: Sequence[int]
    expected: Sequence[int]
    upper: Sequence[float]
    free: Sequence[int]

    @cached_property
    def host_rows(self) -> Sequence[Row]:
        """The row of each host."""
        return [*map(self.rows.__getitem__, self.row_of)]

    @cached_property
    def used_rows(self) -> Sequence[Row]:
        """Each row that a host has, once."""
        return [self.rows[number] for number in {*self.row_of}]

    @cached_property
    def is_at_most(self) -> bool:
        """Whether a caveat applies to any host."""
        return any(row.is_at_most for row in self.used_rows)

    @property
    def room(self) -> tuple[int | None, ...]:
        """The upper bound of each host; None: unknown or unlimited."""
        if math.inf in self.upper:
            return tuple(map(finite, self.upper))
        return cast('tuple[int, ...]', tuple(self.upper))

    def verdicts(self, index: int) -> Mapping[str, Verdict]:
        """Return all verdicts about the host at this index, by the name of the constraint."""
        return verdicts(self.rows[self.row_of[index]], self.columns, index)

    def patched(self, indexes: Sequence[int], other: VerdictMatrix) -> VerdictMatrix:
        """Return the matrix with the hosts of ``other`` at these indexes, as :func:`patched`."""
        row_of = [number + len(self.rows) for number in other.row_of]
        return VerdictMatrix(
            [*self.rows, *other.rows],
            patched(self.row_of, indexes, row_of),
            {
                name: patched(self.columns[name], indexes, each)
                for name, each in other.columns.items()
            },
            patched(self.lower, indexes, other.lower),
            patched(self.expected, indexes, other.expected),
            patched(self.upper, indexes, other.upper),
            patched(self.free, indexes, other.free),
        )

    def with_rows(self, rows: Mapping[int, Row]) -> VerdictMatrix:
        """Return the matrix with other rows, by host index; columns and numbers follow from them.

        A new row has a verdict of each constraint. ``free`` stays.
        """
        indexes = sorted(rows)
        numbers, firsts = numbered(id(rows[index]) for index in indexes)
        others = [rows[indexes[first]] for first in firsts]
        columns = {name: [rows[index].verdicts[name] for index in indexes] for name in self.columns}
        free = [self.free[index] for index in indexes]
        return self.patched(indexes, _matrix(others, numbers, columns, free))


def verdicts(
    row: Row, columns: Mapping[str, Sequence[Verdict]], index: int
) -> Mapping[str, Verdict]:
    """Return the row's verdicts, with those of ``columns`` at this index."""
    return {**row.verdicts, **{name: column[index] for name, column in columns.items()}}


def evaluate_hosts(
    resolved: ResolvedRequest,
    constraints: Sequence[Constraint],
    hosts: Sequence[Host],
    classes: HostClasses | None = None,
) -> VerdictMatrix:
    """Return the verdicts about these hosts.

    :param constraints: those that check hosts, in the order in which they reject.
    """
    classes = HostClasses.of(hosts) if classes is None else classes
    plain = [_Evaluation(resolved, each) for each in constraints if not each.uses_resources]
    columns = {
        each.name: _Evaluation(resolved, each).of_all(hosts)
        for each in constraints
        if each.uses_resources
    }
    combinations, combination_of = _combinations(plain, hosts, classes)
    reasons = {each.name: each.reasons for each in constraints}
    marks = [_marks(column, reasons[name]) for name, column in columns.items()]
    row_numbers, firsts = numbered(zip(combination_of, *marks, strict=True))
    by_name = {each.name: each for each in constraints}
    rows = []
    for first in firsts:
        of_host = {**combinations[combination_of[first]]}
        of_host |= {name: column[first] for name, column in columns.items()}
        rows.append(row_of({name: of_host[name] for name in by_name}, by_name, columns))
    least = _least([math.inf] * len(hosts), columns.values(), 2) if columns else [0] * len(hosts)
    return _matrix(rows, row_numbers, columns, _whole(least))


def _combinations(
    evaluations: Sequence[_Evaluation], hosts: Sequence[Host], classes: HostClasses
) -> tuple[list[Mapping[str, Verdict]], list[int]]:
    """Return the combinations of verdicts by constraint, and the index of that of each host."""
    names = [each.name for each in evaluations]
    of_class = [each.of_classes(classes) for each in evaluations]
    every = repeat(None, len(classes.examples))
    numbers, firsts = numbered(zip(every, *(map(id, each) for each in of_class), strict=True))
    combinations: list[Mapping[str, Verdict]] = [
        {name: each[first] for name, each in zip(names, of_class, strict=True)} for first in firsts
    ]
    combination_of = [*map(numbers.__getitem__, classes.numbers)]
    index_of: dict[Hashable, int] = {}
    for index in _specific(evaluations, hosts):
        before = combination_of[index]
        own = {each.name: each.of_host(hosts[index]) for each in evaluations if each.is_specific}
        key = (before, *map(id, own.values()))
        combination_of[index] = index_of.setdefault(key, len(combinations))
        if index_of[key] == len(combinations):
            combinations.append({**combinations[before], **own})
    return combinations, combination_of


def _specific(evaluations: Iterable[_Evaluation], hosts: Sequence[Host]) -> Iterable[int]:
    """Return the ascending indexes of the hosts in any ``specific``; all if one is None."""
    names: set[str] = set()
    for each in evaluations:
        if each.specific is None:
            return range(len(hosts))
        names.update(each.specific)
    return [*compress(count(), map(names.__contains__, map(_NAME, hosts)))] if names else ()


class _Evaluation:
    """One constraint, evaluated for one request."""

    def __init__(self, resolved: ResolvedRequest, constraint: Constraint) -> None:
        self.name = constraint.name
        self._resolved, self._constraint = resolved, constraint
        self._known: dict[Hashable, Verdict] = {}
        self.specific = specific_hosts(resolved, constraint)

    @property
    def is_specific(self) -> bool:
        """Whether ``specific`` is None or names a host."""
        return self.specific is None or bool(self.specific)

    def of_classes(self, classes: HostClasses) -> list[Verdict]:
        """Return the verdict about the example host of each class.

        If ``specific`` names hosts, the example has no name and no number of servers; if it is
        None, the verdict is a SKIP with code ''.
        """
        examples = classes.examples
        if not examples or self.specific is None:
            return [Verdict.skipped('')] * len(examples)
        with plugin_errors.attributing(self._constraint, 'host_fields'):
            fields = {*self._constraint.host_fields(self._resolved)}
        numbers, firsts = [0] * len(examples), [0]
        if fields:
            numbers, firsts = numbered(map(attrgetter(*fields), classes.by_key))
        hosts = [examples[first] for first in firsts]
        if self.specific:
            hosts = [host.but(host='', servers=None, grants=host.grants) for host in hosts]
        found = self.of_all(hosts)
        return [*map(found.__getitem__, numbers)]

    def of_all(self, hosts: Sequence[Host]) -> Sequence[Verdict]:
        """Return the verdict about each host.

        Raise ConstraintError if ``check_hosts`` returns fewer or more.
        """
        if not overrides(self._constraint, 'check_hosts'):
            return [*map(self.of_host, hosts)]
        with plugin_errors.attributing(self._constraint, 'check_hosts'):
            found = self._constraint.check_hosts(self._resolved, hosts)
            if len(found) != len(hosts):
                raise ValueError(f'the answer has {len(found)} verdicts for {len(hosts)} hosts')
            for each in dict(zip(map(id, found), found, strict=True)).values():
                plugin_errors.check_verdict(self._constraint, each)
            return found

    def of_host(self, host: Host) -> Verdict:
        """Return the verdict about one host; an equal earlier one is the same object.

        Raise ConstraintError if ``check_host`` fails, or returns an invalid verdict.
        """
        item = self._constraint
        try:
            found = plugin_errors.check_verdict(item, item.check_host(self._resolved, host))
        except Exception as error:
            where = f'host {host.host}'
            raise plugin_errors.attributed(item, 'check_host', error, where) from error
        facts = repr(found.facts) if found.facts else ''
        key = found.outcome, found.code, found.bounds, facts
        return self._known.setdefault(key, found)


def specific_hosts(resolved: ResolvedRequest, constraint: Constraint) -> frozenset[str] | None:
    """Return the service hosts that a constraint tells apart (None: any).

    Empty for a constraint that is not host-specific.
    """
    if not constraint.is_host_specific:
        return frozenset()
    with plugin_errors.attributing(constraint, 'specific_hosts'):
        names = constraint.specific_hosts(resolved)
        return None if names is None else frozenset(names)


def _map(function: Callable[[Verdict], _Each], column: Sequence[Verdict]) -> Iterator[_Each]:
    """Yield the result of the function for each verdict, with one call for each object."""
    keys = [*map(id, column)]
    unique = dict(zip(keys, column, strict=True))
    return map({key: function(each) for key, each in unique.items()}.__getitem__, keys)


def _marks(column: Sequence[Verdict], reasons: Mapping[str, Reason]) -> Iterator[int]:
    """Yield a number for each verdict, the same for those that may share a row."""
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    return _map(lambda verdict: numbers[_mark(verdict, reasons)], column)


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


def _matrix(
    rows: Sequence[Row],
    row_numbers: Sequence[int],
    columns: Mapping[str, Sequence[Verdict]],
    free: Sequence[int],
) -> VerdictMatrix:
    """Return the matrix with the bounds that follow from the rows and the columns.

    They are the least of the row's and the columns'.

    :param row_numbers: the index of the row of each host.
    """

    def numbers(which: int) -> list[float]:
        of_row = [limited(row.bounds[which]) for row in rows]
        return _least([*map(of_row.__getitem__, row_numbers)], columns.values(), which)

    upper = numbers(2)
    is_known = all(row.is_known for row in rows)
    expected = _whole(upper if is_known else numbers(1))
    lower = _whole(numbers(0)) if any(row.is_at_most for row in rows) else expected
    return VerdictMatrix(rows, row_numbers, columns, lower, expected, upper, free)


def _least(numbers: list[float], columns: Iterable[Sequence[Verdict]], which: int) -> list[float]:
    """Return the least of the number and of one bound of the verdicts, for each host.

    :param which: the index of the bound.
    """
    for column in columns:
        others = _map(lambda verdict: limited(verdict.bounds[which]), column)
        numbers = [*map(min, numbers, others)]
    return numbers


def _whole(numbers: Sequence[float]) -> list[int]:
    """Return the numbers with 0 in place of infinity."""
    if math.inf in numbers:
        numbers = [0 if number == math.inf else number for number in numbers]
    return cast('list[int]', numbers)


def with_domains(
    constraints: Sequence[Constraint],
    matrix: VerdictMatrix,
    domains_of: Mapping[int, Sequence[tuple[str, Domain]]],
    verdict_of: Mapping[tuple[str, Domain], Verdict],
) -> VerdictMatrix:
    """Return the matrix in which the verdicts about domains tighten those about their hosts.

    :param domains_of: the constraint and domain of each domain of a host, by host index.
    :param verdict_of: the verdict about each of these domains, or some of them.
    """
    by_name = {each.name: each for each in constraints}
    row_by_view: dict[Hashable, Row] = {}
    rows = {}
    for index, domains in domains_of.items():
        keys = (*(key for key in domains if key in verdict_of),)
        counted = (id(column[index]) for column in matrix.columns.values())
        view = (matrix.row_of[index], *counted, keys)
        if view not in row_by_view:
            of_host = dict(matrix.verdicts(index))
            for key in keys:
                of_host[key[0]] = _strictest(of_host.get(key[0]), verdict_of[key])
            ordered = {name: of_host[name] for name in by_name if name in of_host}
            row_by_view[view] = row_of(ordered, by_name)
        rows[index] = row_by_view[view]
    return matrix.with_rows(rows) if rows else matrix


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
