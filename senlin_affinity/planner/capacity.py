"""Derive the capacity from the numbers of the hosts and their domains, and from the request."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import and_

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds, finite, limited
from senlin_affinity.model.flavor import DISK_GB
from senlin_affinity.model.host import Host
from senlin_affinity.model.reason import Reason, caveat
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import holding, is_only_checked_late
from senlin_affinity.nova.placement_answer import may_take_of_pools, placement_answer
from senlin_affinity.planner.domains import DomainCapacity
from senlin_affinity.planner.matrix import VerdictMatrix
from senlin_affinity.planner.row import Row

#: The caveat for a number that Placement's answers do not determine.
CHOICE = 'resources of several providers (Placement chooses)'


@dataclass(frozen=True)
class Capacity:
    """The number of servers that fit, and why Nova may place fewer.

    ``of_hosts`` are the bounds without the constraints on the request as a whole, such as quotas.
    """

    bounds: Bounds
    caveats: tuple[str, ...] = ()
    of_hosts: Bounds = UNLIMITED


def is_open_affinity(resolved: ResolvedRequest) -> bool:
    """Check :func:`has_unknown_host`; False if the host of a member is unknown."""
    group = resolved.server_group
    return has_unknown_host(resolved) and not (group and group.has_lost_members)


def has_unknown_host(resolved: ResolvedRequest) -> bool:
    """Check whether affinity is enforced, and no member or planned server is on a known host.

    False if the request names its host.
    """
    is_named = bool(resolved.request.forced_host)
    return not is_named and resolved.memo(holding) == AFFINITY and not resolved.members_on


def total_capacity(
    resolved: ResolvedRequest,
    hosts: Sequence[Host] | None,
    matrix: VerdictMatrix,
    domains: DomainCapacity | None,
    request: Mapping[str, Verdict],
    unmodelled: Sequence[str],
    reasons: Mapping[str, Reason],
    most_caveats: int | None = None,
) -> Capacity:
    """Return the combined bounds of the hosts (or domains) and of the request, with caveats.

    An upper bound of 0 has no caveats; an unlimited expected number is 0. ``lower`` is the expected
    number without caveats, 0 with ``unmodelled``, unknown quotas or a private flavor, or else the
    number that fits if every caveat applies. Caveats are ordered: ``unmodelled``, hosts, unknown
    parts or crossing domains, quotas, flavor.

    :param hosts: None: unknown, so nothing is expected to fit.
    :param most_caveats: the maximum number of caveats about hosts; None: all.
    """
    of_request = [verdict.bounds for verdict in request.values()]
    of_hosts = _of_hosts(hosts, matrix, domains)
    bounds = reduce(and_, of_request, of_hosts)
    matrix = matrix if domains is None else domains.matrix
    upper, expected = bounds.upper, bounds.expected or 0
    if upper == 0:
        return Capacity(NONE, of_hosts=of_hosts)
    caveats = dict.fromkeys(unmodelled)
    is_withheld = resolved.flavor is not None and resolved.flavor.is_shared is False
    is_uncertain = unmodelled or resolved.has_hidden_quotas or is_withheld
    lower = 0 if is_uncertain else _lower(resolved, matrix, domains)
    is_less = lower < limited(upper)
    if is_open_affinity(resolved):
        if is_less:
            caveats['affinity without members (Nova chooses the host)'] = None
    elif matrix.is_at_most and is_less:
        caveats |= _caveats_of_hosts(resolved, hosts or (), matrix, reasons, most_caveats)
    elif domains is not None and is_less:
        caveats |= {_of_constraint(*each, reasons): None for each in domains.caveats.items()}
    if upper is not None and expected < upper:
        if domains is not None and domains.crossing:
            caveats[f'domains that limit each other ({", ".join(domains.crossing)})'] = None
        else:
            caveats['parts of the snapshot that are not known'] = None
    for name, verdict in request.items():
        certain = verdict.bounds.lower
        if verdict.bounds.is_at_most and certain is not None and certain < limited(upper):
            found = verdict.caveats or (_of_constraint(name, verdict, reasons),)
            caveats |= dict.fromkeys(found)
            expected = min(expected, certain)
    if resolved.has_hidden_quotas:
        caveats["the project's quotas, which are not known"] = None
    if is_withheld:
        caveats['a private flavor that is not shared with the project'] = None
    texts = tuple(caveats) if expected or upper is not None else ()
    bounds = Bounds(min(expected, lower) if texts else expected, expected, upper)
    return Capacity(bounds, texts, of_hosts)


def _of_hosts(
    hosts: Sequence[Host] | None, matrix: VerdictMatrix, domains: DomainCapacity | None
) -> Bounds:
    """Return the bounds of all hosts together."""
    if hosts is None:
        return Bounds.unknown()
    if domains is not None:
        return domains.bounds
    return Bounds(sum(matrix.lower), sum(matrix.expected), finite(sum(matrix.upper)))


def _lower(resolved: ResolvedRequest, matrix: VerdictMatrix, domains: DomainCapacity | None) -> int:
    """Return the number of servers that fit even if every caveat about hosts applies.

    If Nova may choose any host for an affinity group, that of the worst host that no constraint
    rejects (:func:`_alone`; 0 without one, or if a host has a domain), at most 1 if only the late
    check enforces affinity.
    """
    is_any = is_open_affinity(resolved)
    if domains is not None and domains.of_host:
        if is_any:
            return 0
        lower, expected, _upper = domains.bounds
        return (lower if matrix.is_at_most or domains.caveats else expected) or 0
    if is_any:
        places = (index for index, row in enumerate(matrix.host_rows) if row.rejected_by is None)
        lower = min((_alone(matrix, index) for index in places), default=0)
        # The scheduler does not send the other servers to the host of the first one.
        return min(lower, 1) if is_only_checked_late(resolved) else lower
    return sum(matrix.lower)


def _alone(matrix: VerdictMatrix, index: int) -> int:
    """Return the number that the host at this index guarantees to a group without members.

    0 if a constraint gives no number; otherwise the smallest of the expected number and the lower
    bounds of verdicts with a caveat, except that of ``server_group``.
    """
    row = matrix.host_rows[index]
    others = (
        verdict.bounds.lower or 0
        for name, verdict in matrix.verdicts(index).items()
        if name != 'server_group' and verdict.bounds.is_at_most
    )
    return 0 if row.unbounded else min([matrix.expected[index], *others])


def _caveats_of_hosts(
    resolved: ResolvedRequest,
    hosts: Sequence[Host],
    matrix: VerdictMatrix,
    reasons: Mapping[str, Reason],
    most: int | None,
) -> dict[str, None]:
    """Return the first ``most`` caveats about hosts (None: all), as the keys of a dict.

    Only hosts with a finite upper bound that exceeds the lower one count; if these have no caveat,
    all with a finite one.
    """
    found: dict[str, None] = {}
    for is_any in (False, True):
        every = zip(hosts, matrix.host_rows, matrix.upper, matrix.lower, strict=True)
        capped = (
            (host, row)
            for host, row, upper, lower in every
            if row.is_at_most and upper < math.inf and (is_any or upper != lower)
        )
        found = found or dict.fromkeys(islice(_caveats(resolved, capped, reasons), most))
    return found


def _caveats(
    resolved: ResolvedRequest, hosts: Iterable[tuple[Host, Row]], reasons: Mapping[str, Reason]
) -> Iterator[str]:
    """Yield the first cause of each host's caveat, such as 'vSphere clusters'; a text may repeat.

    Without another cause, "constraint NAME (WHY)" for each.
    """
    demand = demand_of(resolved)
    asked = {} if demand is None else demand.amounts
    answer = resolved.memo(placement_answer)
    for host, row in hosts:
        if row.unbounded:
            yield from (
                f'constraint {name}, which returns no number of servers' for name in row.unbounded
            )
            if not any(verdict.bounds.is_at_most for verdict in row.verdicts.values()):
                continue
        grant = host.grant(answer.query)
        is_exact = grant is not None and grant.room == grant.certain and not host.is_vsphere
        resources = () if is_exact else (host.resources or {}).items()
        is_choice = not is_exact or may_take_of_pools(resolved, host)
        if grant is not None and is_choice and not host.is_vsphere:
            disk = (host.resources or {}).get(DISK_GB)
            is_shared = disk is not None and disk.is_sum and DISK_GB in asked
            yield 'shared resources' if is_shared else CHOICE
        elif grant is None and host.grants is not None and answer.query and not answer.is_complete:
            yield "Placement's answer, which may be truncated"
        elif host.is_nested and not is_exact:
            yield 'hosts with nested resource providers'
        elif any(has.is_sum for _name, has in resources):
            yield 'shared resources'
        elif host.is_vsphere:
            yield 'vSphere clusters'
        elif any(
            has.is_max_unit_unknown(name, asked[name]) for name, has in resources if name in asked
        ):
            yield 'resource classes whose unit limits Placement does not show'
        elif any(has.pool for _name, has in resources):
            yield 'shared resources'
        elif resolved.server_group is not None and resolved.server_group.has_lost_members:
            yield 'members whose host is not known'
        elif resolved.server_group is not None and resolved.snapshot.soft_deleted:
            yield 'soft-deleted servers, which may be members of the group'
        else:
            for name, verdict in row.verdicts.items():
                if verdict.bounds.is_at_most:
                    yield _of_constraint(name, verdict, reasons)


def _of_constraint(name: str, verdict: Verdict, reasons: Mapping[str, Reason]) -> str:
    """Return "constraint NAME (WHY)"."""
    why = caveat(verdict, reasons)
    return f'constraint {name}{why and f" ({why})"}'
