"""Decide about a request from all of its allocation candidates, without the rest of the cloud.

Nova uses no host that Placement does not offer. So a complete answer to Nova's own query
(:func:`query`) decides the request, if no other host could change the result.

The query covers every set of aggregates that the constraints on aggregates accept. Any other
constraint must be enforced by Placement, or skip the request.

Of at most ``MOST_READ`` candidates, the hypervisors are read, and :func:`fits` decides. Of more,
only what Placement answers is known, and :func:`are_too_few` can only reject.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from msgspec import structs

from senlin_affinity.constraints.availability_zone import any_zone_change
from senlin_affinity.constraints.server_group import new_group_change, soft_policy_change
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.model.snapshot import CloudView, Coverage
from senlin_affinity.nova import alternatives as nova_alternatives
from senlin_affinity.nova import candidate_query, flavor_features
from senlin_affinity.nova.candidate_query import covering
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.sample import (
    AggregateSets,
    is_settled,
    is_zone_in_query,
    must_join_members,
    reads_aggregates,
    verdicts_in,
)
from senlin_affinity.preflight.scale_request import ScaleRequest

#: Constraints whose aggregates are a part of Nova's query.
_IN_QUERY = ('availability_zone', 'reservations')
#: The parameters that single providers answer.
_PLAIN = frozenset({'resources', 'required', 'root_required', 'member_of'})
_MOST_FLAVORS = 2
#: The number of candidates whose hypervisors are read one by one.
MOST_READ = 10


class CandidateQuery(NamedTuple):
    """A query for all allocation candidates.

    ``text`` is sent. ``novas_query`` is the part that Nova sends; the ``grants`` of a host refer to
    it. Hosts must be in one of ``aggregates`` (empty: any), and have the provider ``root`` (None:
    any).
    """

    text: str
    novas_query: str
    aggregates: frozenset[str]
    root: str | None


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
    if demand is None or demand.may_be_pinned or flavor_features.is_tpm_secret_open(asked, cloud):
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
        if each.name not in _IN_QUERY and reads_aggregates(each)
    ]
    places = {*sets, frozenset()}
    chosen = covering({each: all(verdicts_in(each, readers, asked, cloud)) for each in places})
    if chosen is None:
        return None  # no host is in accepted aggregates
    text = novas_query
    if chosen:
        text += f'&member_of={quote("in:" + ",".join(sorted(chosen)))}'
    text += '' if root is None else f'&in_tree={root}'
    return CandidateQuery(text, novas_query, chosen, root)


def fits(request: ScaleRequest, view: CloudView) -> bool | None:
    """Check whether the request fits; None if hosts outside the view could change that.

    :param view: all hosts that Placement offers for the request.
    """
    evaluation = evaluate(*request.resolve(view), request.constraints)
    # Nova may not have the host in an aggregate in which Placement has it.
    is_decided = _is_settled(request, evaluation) and _accept_all(_IN_QUERY, evaluation)
    return evaluation.fits if is_decided else None


def are_too_few(request: ScaleRequest, view: CloudView) -> bool:
    """Check whether not all servers fit, whatever is unknown of the candidates.

    :param view: all hosts that Placement offers, as if all of them were enabled and up, without
        members of the group; the aggregates are unknown.
    """
    evaluation = evaluate(*request.resolve(view), request.constraints)
    readers = [each.name for each in request.constraints if reads_aggregates(each)]
    is_decided = _is_settled(request, evaluation) and _accept_all(readers, evaluation)
    return is_decided and evaluation.fits is False


def _is_settled(request: ScaleRequest, evaluation: Evaluation) -> bool:
    """Check whether no host outside the view could change the verdict of a constraint."""
    return all(
        reads_aggregates(each) or is_settled(each, evaluation) for each in request.constraints
    )


def _accept_all(names: Iterable[str], evaluation: Evaluation) -> bool:
    """Check whether none of these constraints rejects a host."""
    rows = evaluation.table.used_rows
    return all(row.verdicts.get(name, True) for row in rows for name in names)


def restricting(request: ScaleRequest, view: CloudView) -> frozenset[str]:
    """Return the requirements of the owner that limit the candidates of the view.

    ``availability_zone`` and ``server_group`` (affinity with members). Empty for another coverage
    than CANDIDATES.
    """
    if view.coverage is not Coverage.CANDIDATES:
        return frozenset()
    asked, _scenario = request.resolve(view)
    names = {
        'availability_zone': asked.availability_zone is not None,
        'server_group': must_join_members(asked),
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
