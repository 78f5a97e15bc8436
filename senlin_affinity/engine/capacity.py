"""Derive the capacity from the numbers of the hosts and their domains, and from the request.

Also find what it depends on: caveats ("at most"), and the assumptions of a decision, which are
unspecified inputs that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import and_

import numpy as np

from senlin_affinity.engine.domains import DomainCapacity
from senlin_affinity.engine.table import HostVerdicts, Table
from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds, limited
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import DISK_GB, UNIT_CLASSES
from senlin_affinity.model.host import Host, is_vsphere
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.model.verdict import (
    UNMODELLED,
    Assumption,
    Caveat,
    OpenAssumption,
    Reason,
    Verdict,
    caveat,
)
from senlin_affinity.nova.candidate_query import may_take_of_pools, placement_answer
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import enforced_policy, is_only_checked_late
from senlin_affinity.nova.queried_aggregates import is_assumed
from senlin_affinity.nova.quotas import has_hidden_quotas
from senlin_affinity.scenario.column import in_order
from senlin_affinity.scenario.columns import INFINITE, Numbers
from senlin_affinity.scenario.constraint import Constraint, Switch, attributing
from senlin_affinity.scenario.scenario import Scenario

#: What hosts and the request may hide. The texts are those of a plan; the codes are stable.
NO_MEMBERS = Caveat('server_group.no_members', 'affinity without members (Nova chooses the host)')
UNKNOWN_PARTS = Caveat('snapshot.unknown', 'parts of the snapshot that are not known')
NO_QUOTAS = Caveat('quota.unknown', "the project's quotas, which are not known")
PRIVATE = Caveat('flavor.access', 'a private flavor that is not shared with the project')
CHOICE = Caveat('resources.several_providers', 'resources of several providers (Placement chooses)')
SHARED = Caveat('resources.shared', 'shared resources')
TRUNCATED = Caveat('resources.truncated', "Placement's answer, which may be truncated")
NESTED = Caveat('resources.nested', 'hosts with nested resource providers')
VSPHERE = Caveat('resources.vsphere', 'vSphere clusters')
UNIT_LIMITS = Caveat(
    'resources.unit_limits', 'resource classes whose unit limits Placement does not show'
)
LOST_MEMBERS = Caveat('server_group.lost_members', 'members whose host is not known')
SOFT_DELETED = Caveat(
    'server_group.soft_deleted', 'soft-deleted servers, which may be members of the group'
)


@dataclass(frozen=True)
class TotalCapacity:
    """The number of servers that fit, and why Nova may place fewer.

    ``of_hosts`` are the bounds without the constraints on the request as a whole, such as quotas.
    """

    bounds: Bounds
    caveats: tuple[Caveat, ...] = ()
    of_hosts: Bounds = UNLIMITED


def is_open_affinity(request: Request, scenario: Scenario) -> bool:
    """Check :func:`has_unknown_host`; False if the host of a member is unknown."""
    group = request.server_group
    return has_unknown_host(request, scenario) and not (group and group.has_lost_members)


def has_unknown_host(request: Request, scenario: Scenario) -> bool:
    """Check whether affinity is enforced, and no member or planned server is on a known host.

    False if the request names its host.
    """
    if request.forced_host or request.memo(enforced_policy) != AFFINITY:
        return False
    return not scenario.members_on(request)


def total_capacity(
    request: Request,
    scenario: Scenario,
    table: Table,
    domains: DomainCapacity | None,
    verdicts: Mapping[str, Verdict],
    unmodelled: Sequence[Caveat],
    reasons: Mapping[str, Reason],
    most_caveats: int | None = None,
) -> TotalCapacity:
    """Return the combined bounds of the hosts (or domains) and of the request, with caveats.

    An upper bound of 0 has no caveats; an unlimited expected number is 0. ``lower`` is the expected
    number without caveats, 0 with ``unmodelled``, unknown quotas or a private flavor, or else the
    number that fits if every caveat applies. Caveats are ordered: ``unmodelled``, hosts, unknown
    parts or crossing domains, quotas, flavor.

    :param most_caveats: the maximum number of caveats about hosts; None: all.
    """
    of_request = [verdict.bounds for verdict in verdicts.values()]
    of_hosts = _of_hosts(request, scenario.cloud, table, domains)
    bounds = reduce(and_, of_request, of_hosts)
    table = table if domains is None else domains.table
    upper, expected = bounds.upper, bounds.expected or 0
    if upper == 0:
        return TotalCapacity(NONE, of_hosts=of_hosts)
    caveats = dict.fromkeys(unmodelled)
    is_withheld = request.flavor is not None and request.flavor.is_shared is False
    is_uncertain = unmodelled or has_hidden_quotas(request, scenario.cloud) or is_withheld
    lower = 0 if is_uncertain else _lower(request, scenario, table, domains)
    is_less = lower < limited(upper)
    if is_open_affinity(request, scenario):
        if is_less:
            caveats[NO_MEMBERS] = None
    elif table.is_at_most and is_less:
        caveats |= _caveats_of_hosts(request, scenario, table, reasons, most_caveats)
    elif domains is not None and is_less:
        caveats |= {_of_constraint(*each, reasons): None for each in domains.caveats.items()}
    if upper is not None and expected < upper:
        if domains is not None and domains.crossing:
            names = ', '.join(domains.crossing)
            text = f'domains that limit each other ({names})'
            caveats[Caveat('domains.crossing', text)] = None
        else:
            caveats[UNKNOWN_PARTS] = None
    for name, verdict in verdicts.items():
        certain = verdict.bounds.lower
        if verdict.bounds.is_at_most and certain is not None and certain < limited(upper):
            own = [Caveat(UNMODELLED, text) for text in verdict.caveats]
            caveats |= dict.fromkeys(own or [_of_constraint(name, verdict, reasons)])
            expected = min(expected, certain)
    if has_hidden_quotas(request, scenario.cloud):
        caveats[NO_QUOTAS] = None
    if is_withheld:
        caveats[PRIVATE] = None
    found = tuple(caveats) if expected or upper is not None else ()
    bounds = Bounds(min(expected, lower) if found else expected, expected, upper)
    return TotalCapacity(bounds, found, of_hosts)


def _of_hosts(
    request: Request, cloud: Cloud, table: Table, domains: DomainCapacity | None
) -> Bounds:
    """Return the bounds of all hosts together."""
    if cloud.hosts is None:
        return Bounds.unknown()
    if domains is not None:
        return domains.bounds
    upper = None if (table.upper >= INFINITE).any() else int(table.upper.sum())
    return Bounds(int(table.lower.sum()), int(table.expected.sum()), upper)


def _lower(
    request: Request, scenario: Scenario, table: Table, domains: DomainCapacity | None
) -> int:
    """Return the number of servers that fit even if every caveat about hosts applies.

    If Nova may choose any host for an affinity group, that of the worst host that no constraint
    rejects (:func:`_alone`; 0 without one, or if a host has a domain), at most 1 if only the late
    check enforces affinity.
    """
    is_any = is_open_affinity(request, scenario)
    if domains is not None and domains.of_host:
        if is_any:
            return 0
        lower, expected, _upper = domains.bounds
        return (lower if table.is_at_most or domains.caveats else expected) or 0
    if is_any:
        places = np.flatnonzero(table.where(row.rejected_by is None for row in table.rows))
        lower = min((_alone(table, index) for index in places.tolist()), default=0)
        # The scheduler does not send the other servers to the host of the first one.
        return min(lower, 1) if is_only_checked_late(request) else lower
    return int(table.lower.sum())


def _alone(table: Table, index: int) -> int:
    """Return the number that the host at this index guarantees to a group without members.

    0 if a constraint gives no number; otherwise the smallest of the expected number and the lower
    bounds of verdicts with a caveat, except that of ``server_group``.
    """
    row = table.rows[table.row_of[index]]
    others = (
        verdict.bounds.lower or 0
        for name, verdict in table.verdicts(index).items()
        if name != 'server_group' and verdict.bounds.is_at_most
    )
    return 0 if row.unbounded else min([int(table.expected[index]), *others])


def _caveats_of_hosts(
    request: Request,
    scenario: Scenario,
    table: Table,
    reasons: Mapping[str, Reason],
    most: int | None,
) -> dict[Caveat, None]:
    """Return the first ``most`` caveats about hosts (None: all), as the keys of a dict.

    Only hosts with a finite upper bound that exceeds the lower one count; if these have no caveat,
    all with a finite one.
    """
    found: dict[Caveat, None] = {}
    capped_rows = table.where(row.is_at_most for row in table.rows)
    is_capped = capped_rows & (table.upper < INFINITE)
    look = _look(request, scenario, table)
    for is_any in (False, True):
        places = np.flatnonzero(is_capped if is_any else is_capped & (table.upper != table.lower))
        examples = places[in_order(look[places])[1]].tolist()
        capped = ((scenario.hosts[at], table.rows[table.row_of[at]]) for at in examples)
        found = found or dict.fromkeys(
            islice(_caveats(request, scenario.cloud, capped, reasons), most)
        )
    return found


def _look(request: Request, scenario: Scenario, table: Table) -> Numbers:
    """Return a number for each host, the same for hosts with the same caveats."""
    columns, demand = scenario.columns, demand_of(request)
    grants = columns.grants(request.memo(placement_answer, scenario.cloud).query)
    flags = [
        grants.is_asked,
        grants.is_listed,
        grants.room == grants.certain,
        columns.flags('is_nested'),
        columns.flags_by_class('hypervisor_type', is_vsphere),
    ]
    for name, amount in ({} if demand is None else demand.amounts).items():
        has = columns.inventories(name)
        flags += has.is_sum, has.is_pooled
        if amount > 1 and name not in UNIT_CLASSES:
            flags.append(has.max_unit >= INFINITE)
    look = table.row_of
    for flag in flags:
        if flag.any() and not flag.all():
            look = in_order(look * 2 + flag)[0]
    return look


def _caveats(
    request: Request,
    cloud: Cloud,
    hosts: Iterable[tuple[Host, HostVerdicts]],
    reasons: Mapping[str, Reason],
) -> Iterator[Caveat]:
    """Yield the first cause of each host's caveat, such as VSPHERE; one may repeat.

    Without another cause, "constraint NAME (WHY)" for each.
    """
    demand = demand_of(request)
    asked = {} if demand is None else demand.amounts
    answer = request.memo(placement_answer, cloud)
    for host, row in hosts:
        if row.unbounded:
            yield from (
                Caveat(name, f'constraint {name}, which returns no number of servers')
                for name in row.unbounded
            )
            if not any(verdict.bounds.is_at_most for verdict in row.verdicts.values()):
                continue
        grant = host.grant(answer.query)
        is_exact = grant is not None and grant.room == grant.certain and not host.is_vsphere
        has = host.resources or {}
        resources = [] if is_exact else [(name, has[name]) for name in asked if name in has]
        is_choice = not is_exact or may_take_of_pools(request, cloud, host)
        if grant is not None and is_choice and not host.is_vsphere:
            disk = has.get(DISK_GB)
            is_shared = disk is not None and disk.is_sum and DISK_GB in asked
            yield SHARED if is_shared else CHOICE
        elif grant is None and host.grants is not None and answer.query and not answer.is_complete:
            yield TRUNCATED
        elif host.is_nested and not is_exact:
            yield NESTED
        elif any(each.is_sum for _name, each in resources):
            yield SHARED
        elif host.is_vsphere:
            yield VSPHERE
        elif any(each.is_max_unit_unknown(name, asked[name]) for name, each in resources):
            yield UNIT_LIMITS
        elif any(each.pool for _name, each in resources):
            yield SHARED
        elif request.server_group is not None and request.server_group.has_lost_members:
            yield LOST_MEMBERS
        elif request.server_group is not None and cloud.soft_deleted:
            yield SOFT_DELETED
        else:
            for name, verdict in row.verdicts.items():
                if verdict.bounds.is_at_most:
                    yield _of_constraint(name, verdict, reasons)


def _of_constraint(name: str, verdict: Verdict, reasons: Mapping[str, Reason]) -> Caveat:
    """Return the caveat with the text "constraint NAME (WHY)"; its code is the name."""
    why = caveat(verdict, reasons)
    return Caveat(name, f'constraint {name}{why and f" ({why})"}')


_ANSWERS = 'an Assumption, a filter, or an Option that is False by default'
DEFAULT = Assumption('nova.filters', "Nova's default filters")
SHARED_FLAVOR = Assumption('flavor.access', 'a private flavor that is shared with the project')
NO_IMAGE = Assumption('image.unknown', 'an image without properties')
SAME_AGGREGATES = OpenAssumption(
    'aggregates.same_in_placement', 'aggregates with the same hosts in Placement as in Nova'
)


def find(
    request: Request, cloud: Cloud, declared: Iterable[Assumption | Switch]
) -> tuple[Assumption, ...]:
    """Return the assumptions about the request, then those that are ``declared``, each once.

    DEFAULT for unspecified filters, NO_IMAGE for unknown image properties, SHARED for ``is_shared``
    None, SAME_AGGREGATES if Placement was not asked about an aggregate that matters.
    """
    of_request = (
        (DEFAULT, request.settings.are_filters_unspecified),
        (NO_IMAGE, request.image_properties is None),
        (SHARED_FLAVOR, request.flavor is not None and request.flavor.is_shared is None),
        (SAME_AGGREGATES, is_assumed(request, cloud)),
    )
    found = [assumption for assumption, is_made in of_request if is_made]
    found += (item for item in declared if isinstance(item, Assumption))
    return tuple(dict.fromkeys(found))


def mattering(assumptions: Iterable[Assumption], total: TotalCapacity) -> tuple[Assumption, ...]:
    """Return the assumptions; if no server is expected to fit, only each OpenAssumption."""
    expected = total.bounds.expected
    return tuple(one for one in assumptions if expected or isinstance(one, OpenAssumption))


def of_constraint(
    request: Request, cloud: Cloud, constraint: Constraint
) -> Sequence[Assumption | Switch]:
    """Return the assumptions, filters and options that a constraint declares; they may repeat."""
    with attributing(constraint, 'assumptions'):
        found = (*constraint.assumptions(request, cloud),)
        for item in found:
            is_switch = isinstance(item, Option) and item.default is False
            if not (is_switch or isinstance(item, Assumption | str)):
                raise ValueError(f'each answer must be {_ANSWERS}, not {item!r}')
        return found


def declared(
    request: Request, cloud: Cloud, constraints: Iterable[Constraint]
) -> Iterator[Assumption | Switch]:
    """Yield the answers of :func:`of_constraint`."""
    return (found for each in constraints for found in of_constraint(request, cloud, each))
