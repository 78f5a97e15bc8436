"""Decide about a request from all of its allocation candidates, without the rest of the cloud.

Nova uses no host that Placement does not offer. So a complete answer to Nova's own query
(:func:`query`) decides the request, if no other host could change the result (:func:`fits`).

The query covers every set of aggregates that the constraints on aggregates accept. Any other
constraint must be enforced by Placement, or skip the request. In a spread over racks, the rack of a
host that Placement does not offer counts if that host lacks nothing but capacity. So the view has a
host that was not read for each set of aggregates; a rejection must not depend on such hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from msgspec import structs

from senlin_affinity.constraints.availability_zone import any_zone_change
from senlin_affinity.constraints.server_group import new_group_change, soft_policy_change
from senlin_affinity.constraints.spread import SpreadConstraint
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.engine.host_verdicts import capacity_constraints
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.request import Request
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import alternatives as nova_alternatives
from senlin_affinity.nova import candidate_query, root_traits, topology
from senlin_affinity.nova.aggregate_bounds import keeping
from senlin_affinity.nova.aggregate_sync import asked_of_placement
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.sample import (
    AggregateSets,
    is_settled,
    is_zone_in_query,
    must_join_members,
    reads_aggregates,
    verdicts_in,
)
from senlin_affinity.preflight.scale_request import ScaleRequest
from senlin_affinity.scenario.constraint import Constraint, is_of_domains, is_of_hosts
from senlin_affinity.scenario.scenario import Scenario

#: Constraints whose aggregates are a part of Nova's query.
_IN_QUERY = ('availability_zone', 'reservations')
#: The parameters that single providers answer.
_PLAIN = frozenset({'resources', 'required', 'root_required', 'member_of'})
_MOST_FLAVORS = 2
#: The number of domains whose candidates are fetched one by one.
_MOST_DOMAINS = 8


class DomainQuery(NamedTuple):
    """A query for candidates in a domain of a spread, and in a zone (None: the default one)."""

    text: str
    limit: int
    zone: str | None


class CandidateQuery(NamedTuple):
    """A query for all allocation candidates.

    ``text`` is sent. ``novas_query`` is the part that Nova sends; the ``grants`` of a host refer to
    it. Hosts must be in one of ``aggregates`` (empty: any), and have the provider ``root`` (None:
    any). ``are_zones_needed``: the policy names the zone of each host. ``is_zone_open``: the query
    does not restrict that zone. ``domains`` are queries for some candidates of a spread.
    """

    text: str
    novas_query: str
    aggregates: frozenset[str]
    root: str | None
    are_zones_needed: bool
    is_zone_open: bool
    domains: tuple[DomainQuery, ...] = ()


def query(
    request: ScaleRequest,
    view: CloudView,
    sets: AggregateSets = (),
    root: str | None = None,
) -> CandidateQuery | None:
    """Return the query for all candidates; None if their hosts would not decide the request.

    :param sets: the sets of aggregates that hosts are in.
    :param root: the UUID of the root provider of the host of all members of an affinity group; with
        such members, None is returned without it.
    """
    asked, scenario = request.resolve(view)
    demand, cloud = demand_of(asked), scenario.cloud
    if demand is None or demand.may_be_pinned or root_traits.is_tpm_secret_open(asked, cloud):
        return None
    if enforced(asked) or (must_join_members(asked) and root is None):
        return None  # the hosts of other servers are not fetched
    if not is_zone_in_query(asked, cloud):
        return None
    if cloud.aggregates is None and candidate_query.are_aggregates_asked(asked):
        return None
    novas_query = candidate_query.query(asked, cloud)
    if novas_query is None or not parse_qs(novas_query).keys() <= _PLAIN:
        return None  # hosts may use several providers
    readers = [
        each
        for each in request.constraints
        if each.name not in _IN_QUERY and _is_of_place(each, asked, scenario)
    ]
    places = {*sets, frozenset()}
    chosen = keeping({each: all(verdicts_in(each, readers, asked, cloud)) for each in places})
    if chosen is None:
        return None  # no host is in accepted aggregates
    text = novas_query
    if chosen:
        text += f'&member_of={quote("in:" + ",".join(sorted(chosen)))}'
    text += '' if root is None else f'&in_tree={root}'
    is_pinned = request.question.is_pinned
    is_zone_open = is_pinned and wanted_zone(asked) is None
    domains = (*_domains(asked, cloud, text),) if asked.spread and root is None else ()
    return CandidateQuery(text, novas_query, chosen, root, is_pinned, is_zone_open, domains)


def is_read(host: Host) -> bool:
    """Check whether more than the name, zone and aggregates of a host is known."""
    return bool(host.hypervisor_hostname)


def _is_spread(item: Constraint, request: Request, scenario: Scenario) -> bool:
    """Check whether the constraint is a spread, and the request has a hard one (over racks)."""
    return isinstance(item, SpreadConstraint) and item.has_domains(request, scenario)


def _is_of_place(item: Constraint, request: Request, scenario: Scenario) -> bool:
    """Check whether the constraint treats hosts with equal aggregates alike."""
    return item.name in _IN_QUERY or _is_spread(item, request, scenario) or reads_aggregates(item)


def _domains(request: Request, cloud: CloudSnapshot, text: str) -> Iterator[DomainQuery]:
    """Yield at most eight queries, one for each domain and zone, the least occupied domains first.

    ``limit`` is one more than the domain's new servers in an even distribution.
    """
    (spread,) = request.spread
    places: dict[tuple[str, str | None], set[str]] = {}
    for host in cloud.hosts or ():
        name = topology.domain_of(request, cloud, spread.by, host)
        if name is not None:
            places.setdefault((name, host.availability_zone), set()).update(host.aggregates)
    held = topology.servers(request, cloud, spread.by, {})
    more: Counter[str] = Counter()
    names = sorted({name for name, _zone in places}, key=lambda name: (held[name], name))
    if not names:
        return
    for _server in range(request.count):
        more[min(names, key=lambda name: held[name] + more[name])] += 1
    by_uuid, carried = cloud.aggregates_by_uuid, cloud.zones.carried_by
    chosen = [each for name in names for each in places if each[0] == name][:_MOST_DOMAINS]
    for name, zone in chosen:
        uuids = {each for each in places[name, zone] if spread.by in by_uuid[each].metadata}
        required = [uuids, *([carried[zone]] if zone in carried and zone is not None else ())]
        parts = (f'&member_of={quote("in:" + ",".join(sorted(each)))}' for each in required)
        yield DomainQuery(text + ''.join(parts), more[name] + 1, zone)


def fits(request: ScaleRequest, view: CloudView) -> bool | None:
    """Check whether the request fits; None if hosts outside the view could change that.

    :param view: all hosts that Placement offers for the request, or some of them if the policy
        chooses hosts.
    """
    asked, scenario = request.resolve(view)
    evaluation = evaluate(asked, scenario, request.constraints)
    is_pinned = request.question.is_pinned
    for each in request.constraints:
        is_host_known = is_pinned and is_of_hosts(each) and not is_of_domains(each)
        is_host_known |= _is_spread(each, asked, scenario)
        if not (is_host_known or reads_aggregates(each) or is_settled(each, evaluation)):
            return None
    rows = [*zip(evaluation.hosts, evaluation.table.host_rows, strict=True)]
    of_read = [row for host, row in rows if is_read(host)]
    if not all(row.verdicts.get(name, True) for row in of_read for name in _IN_QUERY):
        return None  # Nova does not have the host in an aggregate in which Placement has it
    of_place = {each.name for each in request.constraints if _is_of_place(each, asked, scenario)}
    of_place |= capacity_constraints(request.constraints)
    of_others = (row.verdicts.items() for host, row in rows if not is_read(host))
    if not all(verdict or name in of_place for each in of_others for name, verdict in each):
        return None  # it may reject this host, and accept others with the same aggregates
    if evaluation.fits or len(of_read) == len(rows):
        return evaluation.fits
    return False if _is_same_without_unread(request, view, evaluation) else None


def _is_same_without_unread(request: ScaleRequest, view: CloudView, evaluation: Evaluation) -> bool:
    """Check whether the bounds are known, and stay if the hosts that were not read are disabled."""
    hosts = (
        host if is_read(host) else host.but(enabled=False, grants=()) for host in evaluation.hosts
    )
    without = replace(view, snapshot=structs.replace(view.snapshot, hosts=(*hosts,)))
    then = evaluate(*request.resolve(without), request.constraints)
    return evaluation.total.bounds.is_known and evaluation.total.bounds == then.total.bounds


def restricting(request: ScaleRequest, view: CloudView) -> frozenset[str]:
    """Return the requirements of the owner that limit the candidates of the view.

    ``availability_zone``, ``member_of``, ``server_group`` (affinity with members) and ``spread``.
    Empty for another coverage than CANDIDATES.
    """
    if view.coverage is not Coverage.CANDIDATES:
        return frozenset()
    asked, _scenario = request.resolve(view)
    names = {
        'availability_zone': asked.availability_zone is not None,
        'member_of': bool(asked.member_of),
        'server_group': must_join_members(asked),
        'spread': bool(asked.spread),
    }
    return frozenset(name for name, is_restricting in names.items() if is_restricting)


def compared(request: ScaleRequest, view: CloudView) -> CloudView:
    """Mark the queried aggregates as equal in Nova and Placement; the view passed :func:`fits`."""
    asked, scenario = request.resolve(view)
    sets = frozenset(asked_of_placement(asked, scenario.cloud))
    return replace(view, snapshot=structs.replace(view.snapshot, compared_aggregates=sets))


def alternatives(request: ScaleRequest, view: CloudView) -> Iterator[Change]:
    """Yield changes by the owner with which Placement may offer other hosts.

    A new group and a soft policy for an affinity group with members, if the quota allows another
    group; no zone if one is requested; and up to two smaller flavors.
    """
    asked, scenario = request.resolve(view)
    group, cloud = asked.server_group, scenario.cloud
    may_create = group is not None and nova_alternatives.may_create_group(asked, cloud, group)
    if group is not None and may_create and must_join_members(asked):
        yield new_group_change(asked, cloud, group)
        yield soft_policy_change(asked, cloud, group)
    if wanted_zone(asked) is not None and asked.availability_zone is not None:
        yield any_zone_change()
    smaller = nova_alternatives.smaller_flavors(view.snapshot.flavors or (), asked.flavor)
    yield from map(nova_alternatives.flavor_change, smaller[:_MOST_FLAVORS])
