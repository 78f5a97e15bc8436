"""Derive from all verdicts about a host whether it takes servers, and which constraint is first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds
from senlin_affinity.model.verdict import Outcome, Verdict
from senlin_affinity.scenario.constraint import Constraint, counts_resources

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
