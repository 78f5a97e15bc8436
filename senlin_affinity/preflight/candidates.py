"""Decide about a request from all of its allocation candidates, without the rest of the cloud.

Nova uses no host that Placement does not offer. So a complete answer to Nova's own query
(:func:`query`) decides the request, if no other host could change the result.

The query covers every set of aggregates that the constraints on aggregates accept. Any other
constraint must be enforced by Placement, or skip the request.

Of at most ``MOST_READ`` candidates, the hypervisors are read, and :func:`fits` accepts or rejects.
Of more, only what Placement answers is known, and it only rejects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qs, quote

from msgspec import structs

from senlin_affinity.constraints.availability_zone import any_zone_change
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.server_group import new_group_change, soft_policy_change
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.model.cloud import Cloud, OtherHosts
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.request import Request
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.nova import alternatives as nova_alternatives
from senlin_affinity.nova import candidate_query, flavor_features
from senlin_affinity.nova.candidate_query import covering
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.sample import (
    AggregateSets,
    CandidateQuery,
    is_settled,
    is_zone_in_query,
    must_join_members,
    reads_aggregates,
    verdicts_in,
)
from senlin_affinity.scenario.scenario import Scenario

#: Constraints whose aggregates are a part of Nova's query.
_IN_QUERY = ('availability_zone', 'reservations')
#: The parameters that single providers answer.
_PLAIN = frozenset({'resources', 'required', 'root_required', 'member_of'})
_MOST_FLAVORS = 2
#: The most candidates that are fetched without the whole cloud.
MOST = 250
#: The most candidates whose hypervisors are read one by one.
MOST_READ = 10


def query(
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    sets: AggregateSets = (),
    root: str | None = None,
) -> CandidateQuery | None:
    """Return the query for all candidates; None if their hosts would not decide the request.

    :param sets: the sets of aggregates that hosts are in.
    :param root: the UUID of the root provider of the host of all members of an affinity group; with
        such members, None is returned without it.
    """
    demand = demand_of(request)
    if demand is None or demand.may_be_pinned:
        return None
    if flavor_features.is_tpm_secret_open(request, cloud):
        return None
    if enforced(request) or (must_join_members(request) and root is None):
        return None  # the hosts of other servers are not fetched
    if not is_zone_in_query(request, cloud):
        return None
    if cloud.aggregates is None and candidate_query.are_aggregates_asked(request):
        return None
    novas_query = candidate_query.query(request, cloud)
    if novas_query is None or not parse_qs(novas_query).keys() <= _PLAIN:
        return None  # hosts may use several providers
    readers = [
        each for each in constraints if each.name not in _IN_QUERY and reads_aggregates(each)
    ]
    places = {*sets, frozenset()}
    chosen = covering({each: all(verdicts_in(each, readers, request, cloud)) for each in places})
    if chosen is None:
        return None  # no host is in accepted aggregates
    text = novas_query
    if chosen:
        text += f'&member_of={quote("in:" + ",".join(sorted(chosen)))}'
    text += '' if root is None else f'&in_tree={root}'
    return CandidateQuery(text, novas_query, MOST + 1, chosen)


def fits(
    request: Request, cloud: Cloud, constraints: Sequence[Constraint], *, are_read: bool
) -> bool | None:
    """Check whether the request fits; None if hosts that were not fetched could change that.

    :param cloud: has all hosts that Placement offers for the request.
    :param are_read: False: the hosts count as enabled and up, without members of the group, and
        their aggregates are unknown. Then the result is False or None.
    """
    evaluation = evaluate(request, Scenario.of(cloud), constraints)
    is_settled_by = (reads_aggregates(each) or is_settled(each, evaluation) for each in constraints)
    # Nova may not have the host in an aggregate in which Placement has it.
    names = _IN_QUERY if are_read else [each.name for each in constraints if reads_aggregates(each)]
    rows = evaluation.table.used_rows
    is_decided = all(is_settled_by) and all(
        row.verdicts.get(name, True) for row in rows for name in names
    )
    return evaluation.fits if is_decided and (are_read or evaluation.fits is False) else None


def restricting(request: Request, cloud: Cloud) -> frozenset[str]:
    """Return the requirements of the owner that limit the candidates of the cloud.

    ``availability_zone`` and ``server_group`` (affinity with members). Empty unless the cloud has
    all candidates, and no other host.
    """
    names = {
        'availability_zone': request.availability_zone is not None,
        'server_group': must_join_members(request),
    }
    is_of_candidates = cloud.rest is OtherHosts.NOT_OFFERED
    return frozenset(name for name, is_set in names.items() if is_set and is_of_candidates)


def compared(request: Request, cloud: Cloud) -> Cloud:
    """Mark the queried aggregates as equal in Nova and Placement; the cloud passed :func:`fits`."""
    return structs.replace(cloud, compared_aggregates=frozenset(asked_of_placement(request, cloud)))


def alternatives(request: Request, cloud: Cloud) -> Iterator[Change]:
    """Yield changes by the owner with which Placement may offer other hosts.

    A new group and a soft policy for an affinity group with members, if the quota allows another
    group; no zone if one is requested; and up to two smaller flavors.
    """
    group = request.server_group
    may_create = group is not None and nova_alternatives.may_create_group(request, cloud, group)
    if group is not None and may_create and must_join_members(request):
        yield new_group_change(request, cloud, group)
        yield soft_policy_change(request, cloud, group)
    if wanted_zone(request) is not None and request.availability_zone is not None:
        yield any_zone_change()
    smaller = nova_alternatives.smaller_flavors(cloud.flavors or (), request.flavor)
    yield from map(nova_alternatives.flavor_change, smaller[:_MOST_FLAVORS])
