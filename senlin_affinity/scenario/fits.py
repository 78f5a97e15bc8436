"""Compute how an amount of one resource class fits on each host, whatever else is requested.

Example::

    fit = fit_of(scenario, asked, 'VCPU')     of four VCPU for each server
    fit.room                                  array([4, 0, 16])
    fit.failure                               array([FITS, Code.EXHAUSTED + FULL, FITS])

It is computed once for each cloud, resource class and amount: flavors and remedies share it.

Units: numbers of servers.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from senlin_affinity.model.flavor import PCPU, UNIT_CLASSES, VCPU, Demand
from senlin_affinity.model.host import is_ironic
from senlin_affinity.scenario.columns import INFINITE, Flags, Numbers
from senlin_affinity.scenario.scenario import Scenario

#: The fields of hosts on which a fit depends.
FIELDS = 'resources', 'is_partial', 'hypervisor_type'
#: ``Fit.failure`` if nothing but capacity is missing (it is added to the code), and without any.
FULL, FITS = 1 << 10, 1 << 20


class Code(enum.IntEnum):
    """The reason codes; those from ``EXHAUSTED`` on are about one resource class."""

    ROOM = 0
    UNKNOWN = 1
    NOTHING = 2
    NOT_GRANTED = 3
    EXHAUSTED = 4
    TOO_LARGE = 5
    STEP = 6
    NOT_OFFERED = 7
    RESERVED = 8


class Fit(NamedTuple):
    """How an amount of one resource class fits on each host, whatever else is requested.

    ``room`` is the number of servers (INFINITE: it is not known). ``failure`` is FITS, an element
    of ``Code``, or one plus FULL if the host has the class but not enough of it is free: of several
    classes, the least decides, so a class that the host can never supply comes before a full one. A
    host whose resources are unknown has NOT_OFFERED, which the reader must replace.
    """

    room: Numbers
    failure: Numbers
    is_any_hidden: bool
    is_at_most: Flags


def fit_of(scenario: Scenario, asked: Demand, name: str) -> Fit:
    """Return how the amount of a class fits; it is computed once if no servers were placed."""
    amount = asked.amounts[name]
    is_pinned = name == VCPU and asked.may_be_pinned

    def fit() -> Fit:
        return _fit(scenario, name, amount, may_be_pinned=is_pinned)

    if scenario.placed is not None:
        return fit()
    return scenario.columns.known(('fit', name, amount, is_pinned), fit, FIELDS)


def _fit(scenario: Scenario, name: str, amount: int, *, may_be_pinned: bool) -> Fit:
    columns = scenario.columns
    has, counted = columns.inventories(name), min(amount, INFINITE - 1)  # more than any host has
    is_hidden = ~has.is_listed & columns.flags('is_partial')
    existing = scenario.cloud.resource_classes
    if existing is not None and name not in existing:  # no host offers it
        is_hidden[:] = False
    if may_be_pinned:
        is_hidden |= _is_more_pinned(counted, scenario)
    here = scenario.free(name) // counted
    fits = has.is_listed & (has.max_unit >= counted) & (here >= 1)
    fits &= counted % has.step_size == 0
    failure = np.full(len(here), FITS)
    fails = np.flatnonzero(~is_hidden & ~fits)
    if len(fails):
        is_bare = columns.flags_by_class('hypervisor_type', is_ironic)
        is_nothing = (has.capacity[fails] == 0) & (name in UNIT_CLASSES)
        is_reserved = (has.capacity[fails] == 0) & (has.reserved[fails] >= counted)
        conditions = {
            Code.NOT_OFFERED: ~has.is_listed[fails] | (is_nothing & is_bare[fails]),
            Code.TOO_LARGE: has.max_unit[fails] < counted,
            Code.STEP: counted % has.step_size[fails] != 0,
            Code.RESERVED + FULL: is_reserved,
        }
        default = Code.EXHAUSTED + FULL
        failure[fails] = np.select([*conditions.values()], [*conditions], default)
    is_at_most = has.is_sum
    if amount > 1 and name not in UNIT_CLASSES:
        is_at_most = is_at_most | (has.is_listed & (has.max_unit >= INFINITE))
    room = np.where(is_hidden, INFINITE, np.where(fits, here, 0))
    return Fit(room, failure, bool(is_hidden.any()), is_at_most)


def _is_more_pinned(amount: int, scenario: Scenario) -> Flags:
    """Return on which hosts more servers with this many CPUs fit in PCPU than in VCPU."""
    pinned, shared = (np.maximum(0, scenario.free(name)) // amount for name in (PCPU, VCPU))
    more: Flags = scenario.columns.inventories(PCPU).is_listed & (pinned > shared)
    return more
