"""Compute the capacity again with the filters and options that nova.conf may enable.

They are those that constraints declare (``Constraint.assumptions``), and that nothing specifies.
Each is enabled alone; the answer names those that decide, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from senlin_affinity.engine import capacity
from senlin_affinity.engine.capacity import TotalCapacity
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.model.bounds import limited
from senlin_affinity.model.option import Option
from senlin_affinity.model.server_group import SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from senlin_affinity.model.verdict import Assumption, Caveat
from senlin_affinity.scenario.constraint import Switch

ASSUMED = Assumption('nova.unspecified', 'no {names} ({without} fit without, {number} with {them})')


class Assignment(NamedTuple):
    """The capacity with its lower bound, the host of each server, and what both depend on.

    ``chosen`` are the host indexes of the servers; if as many fit either way, those of hosts that
    nothing unspecified rejects. ``restricted`` is the evaluation with everything that is
    unspecified, if that lowers a bound.
    """

    total: TotalCapacity
    chosen: Sequence[int]
    assumptions: tuple[Assumption, ...] = ()
    restricted: Evaluation | None = None


def with_unspecified(now: Evaluation) -> Assignment:
    """Return the capacity, and the hosts of the servers.

    If enabling the unspecified filters and options lowers any bound, the capacity gets the lower of
    both lower bounds, the caveat "what nova.conf may enable (...)" and the assumption ASSUMED.
    """
    total, switches = now.total, _switches(now)
    enabled = _with(now, switches)
    other = enabled.total
    if not _is_less(other, total):
        return Assignment(total, now.chosen())
    deciding, is_one_enough = _deciding(now, switches, other)
    *most, last = (each if isinstance(each, str) else each.dest for each in deciding)
    names = f'{", ".join(most)} and {last}' if most else last
    are, they_are, them = ('are', 'they are', 'them') if most else ('is', 'it is', 'it')
    if most and is_one_enough:
        any_of = 'any' if len(most) > 1 else 'either'
        they_are, them = f'{any_of} of them is', f'{any_of} of them'
    fit = 'fits' if total.bounds.upper == 1 else 'fit'
    without, number = _number(total), _number(other)
    words = f'{without} {fit} if {names} {are} not enabled, {number} if {they_are}'
    lower = (total.bounds & other.bounds).lower
    caveats = (*total.caveats, Caveat(ASSUMED.code, f'what nova.conf may enable ({words})'))
    bounded = replace(total, bounds=total.bounds._replace(lower=lower), caveats=caveats)
    best = enabled if _is_as_good(enabled, now) else now
    assumed = ASSUMED.of(names=names, without=without, number=number, them=them)
    return Assignment(bounded, best.chosen(), (assumed,), enabled)


def with_all(now: Evaluation) -> Evaluation:
    """Return the evaluation with all unspecified filters and options enabled."""
    return _with(now, _switches(now))


def names_deciding(now: Evaluation, enabled: Evaluation, index: int) -> list[str]:
    """Return the unspecified filters and options that may reject the host at an index.

    They are those of the constraints that guarantee no server there in ``enabled``, the evaluation
    :func:`with_all`.
    """
    verdicts = enabled.table.verdicts(index)
    names = {name for name, each in verdicts.items() if each.bounds.lower == 0}
    cloud, switches = now.scenario.cloud, _switches(now)
    declared = dict.fromkeys(
        found
        for each in now.constraints
        if each.name in names
        for found in capacity.of_constraint(now.request, cloud, each)
        if found in switches
    )
    return [each if isinstance(each, str) else each.dest for each in declared]


def is_decisive(now: Evaluation) -> bool:
    """Check whether enabling all unspecified switches lowers any bound."""
    return _is_less(with_all(now).total, now.total)


def _is_as_good(enabled: Evaluation, now: Evaluation) -> bool:
    """Check whether as many of the requested servers fit with the switches enabled.

    False with domains, a spread or a soft policy.
    """
    request, group = now.request, now.request.server_group
    is_soft = group is not None and group.policy in (SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
    if now.domains is not None or request.spread or is_soft:
        return False
    one, two = (limited(each.total.bounds.expected) for each in (enabled, now))
    return one >= min(request.count, two)


def _deciding(
    now: Evaluation, switches: Sequence[Switch], enabled: TotalCapacity
) -> tuple[Sequence[Switch], bool]:
    """Return the switches that decide the number, and whether each of them alone does.

    Without one that decides alone, a set that does; it is as small as leaving out one after the
    other makes it.

    :param enabled: the capacity with all of them.
    """
    wanted = now.total.bounds & enabled.bounds

    def decide(some: Sequence[Switch]) -> bool:
        return now.total.bounds & _with(now, some).total.bounds == wanted

    if len(switches) == 1:
        return switches, True
    if alone := [each for each in switches if decide([each])]:
        return alone, True
    together = [*switches]
    for each in switches:
        fewer = [other for other in together if other != each]
        if decide(fewer):
            together = fewer
    return together, False


def _switches(now: Evaluation) -> list[Switch]:
    """Return the declared options that are not explicit, and filters that do not run, once each.

    No filter if filters are specified or hosts pinned. [] if no server is expected to fit, with an
    upper bound of 0 or None.
    """
    request, settings, bounds = now.request, now.request.settings, now.total.bounds
    if not (bounds.upper or bounds.expected):
        return []
    # Nova runs no filter for a host that is chosen for a server.
    may_run = settings.are_filters_unspecified and not request.is_pinned
    switches: list[Switch] = []
    for each in now.declared:
        if isinstance(each, str):
            is_open = may_run and not request.is_enforced(each)
        elif isinstance(each, Option):
            is_open = not settings.is_explicit(each)
        else:
            continue
        if is_open:
            switches.append(each)
    return [*dict.fromkeys(switches)]


def _with(now: Evaluation, switches: Sequence[Switch]) -> Evaluation:
    """Evaluate the request with these switches enabled; for none, return ``now``."""
    if not switches:
        return now
    settings = now.request.settings
    filters = tuple(each for each in switches if isinstance(each, str))
    options = {each.key: True for each in switches if isinstance(each, Option)}
    settings = replace(
        settings,
        enabled_filters=(*settings.enabled_filters, *filters),
        options={**settings.options, **options},
    )
    request = replace(now.request, settings=settings)
    return evaluate(request, now.scenario, now.constraints, is_brief=True)


def _is_less(one: TotalCapacity, two: TotalCapacity) -> bool:
    """Check whether any bound of the first is less than that of the second."""
    return one.bounds & two.bounds != two.bounds


def _number(total: TotalCapacity) -> str:
    """Return "3", "at most 3" if fewer are guaranteed, or "2 or more" if unlimited."""
    lower, expected, upper = total.bounds
    if upper is None:
        return f'{expected} or more'
    return f'{"at most " * ((lower or 0) < upper)}{upper}'
