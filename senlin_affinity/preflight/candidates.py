"""Decide about a request from all of its allocation candidates, without the rest of the cloud.

Nova uses no host that Placement does not offer. So the answer to Nova's own query, if it is
complete, determines the number of servers that fit: :func:`query` returns that query, and
:func:`fits` checks that no other host could change what the fetched hosts show.

Of a constraint that reads the aggregates of a host, the query covers every set of aggregates that
the constraint may accept, and each returned host is checked afterwards. Any other constraint must
be enforced by Placement, or skip the request.

:func:`alternatives` are changes with which Placement may offer other hosts. Each of them takes a
sample of its own (:mod:`senlin_affinity.preflight.sample`).

Raises: InvalidSpec for an invalid question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs, quote

from senlin_affinity.constraints.availability_zone import any_zone_change
from senlin_affinity.constraints.server_group import new_group_change, soft_policy_change
from senlin_affinity.model.constraint import is_of_domains, is_of_hosts
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.nova import alternatives as nova_alternatives
from senlin_affinity.nova import candidate_query, root_traits
from senlin_affinity.nova.aggregate_bounds import keeping
from senlin_affinity.nova.aggregate_sync import asked_of_placement
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.sample import (
    AggregateSets,
    is_bound,
    is_settled,
    is_zone_in_query,
    reads_aggregates,
    verdicts_in,
)
from senlin_affinity.preflight.scale_request import ScaleRequest

#: Constraints whose aggregates are a part of Nova's query, so that Placement evaluates them.
_IN_QUERY = ('availability_zone', 'reservations')
#: The parameters of a query that single providers answer.
_PLAIN = frozenset({'resources', 'required', 'root_required', 'member_of'})
#: The number of smaller flavors that are tried.
_MOST_FLAVORS = 2


class CandidateQuery(NamedTuple):
    """A query for all allocation candidates.

    ``text`` is sent. ``novas_query`` is the part that Nova sends; the ``grants`` of a host refer to
    it. ``aggregates``: the query is
    restricted to hosts in any of these, unless it is empty. ``root``: it is restricted to the host
    with this root provider. ``are_zones_needed``: the zone of each host is needed, because the
    policy names it. ``is_zone_open``: the query does not restrict that zone.
    """

    text: str
    novas_query: str
    aggregates: frozenset[str]
    root: str | None
    are_zones_needed: bool
    is_zone_open: bool


def query(
    request: ScaleRequest,
    view: CloudView,
    sets: AggregateSets = (),
    root: str | None = None,
) -> CandidateQuery | None:
    """Return the query for all candidates; None if their hosts would not decide the request.

    :param sets: the sets of aggregates that hosts are in.
    :param root: the root provider of the host that all members of an affinity group run on.
    """
    resolved = request.resolve(view)
    demand = resolved.demand
    if demand is None or demand.may_be_pinned or root_traits.is_tpm_secret_open(resolved):
        return None
    if enforced(resolved) or (is_bound(resolved) and root is None):
        return None  # the hosts of other servers are not fetched
    if not is_zone_in_query(resolved):
        return None
    if resolved.snapshot.aggregates is None and candidate_query.are_aggregates_asked(resolved):
        return None
    novas_query = candidate_query.query(resolved)
    if novas_query is None or not parse_qs(novas_query).keys() <= _PLAIN:
        return None  # hosts may use several providers
    readers = [
        each
        for each in request.constraints
        if each.name not in _IN_QUERY and reads_aggregates(each, resolved)
    ]
    chosen = keeping({*sets, frozenset()}, lambda each: all(verdicts_in(each, readers, resolved)))
    if chosen is None:
        return None  # no host is in accepted aggregates
    text = novas_query
    if chosen:
        text += f'&member_of={quote("in:" + ",".join(sorted(chosen)))}'
    text += '' if root is None else f'&in_tree={root}'
    is_pinned = request.question.is_pinned
    is_zone_open = is_pinned and wanted_zone(resolved) is None
    return CandidateQuery(text, novas_query, chosen, root, is_pinned, is_zone_open)


def fits(request: ScaleRequest, view: CloudView) -> bool | None:
    """Check whether the request fits; return None if hosts outside the view could change that.

    :param view: all hosts that Placement offers for the request; if the policy chooses hosts, also
        some of them. They have all of their fields then.
    """
    resolved = request.resolve(view)
    now = evaluate(resolved, request.constraints)
    is_pinned = request.question.is_pinned
    for each in request.constraints:
        is_host_known = is_pinned and is_of_hosts(each) and not is_of_domains(each)
        if not (is_host_known or reads_aggregates(each, resolved) or is_settled(each, now)):
            return None
    rows = now.matrix.host_rows
    if not all(row.verdicts.get(name, True) for row in rows for name in _IN_QUERY):
        return None  # Nova does not have the host in an aggregate in which Placement has it
    return now.fits


def restricting(request: ScaleRequest, view: CloudView) -> frozenset[str]:
    """Return the owner's constraints because of which a view of candidates lacks hosts."""
    if view.coverage is not Coverage.CANDIDATES:
        return frozenset()
    resolved = request.resolve(view)
    names = {
        'availability_zone': resolved.request.availability_zone is not None,
        'member_of': bool(resolved.member_of),
        'server_group': is_bound(resolved),
    }
    return frozenset(name for name, is_restricting in names.items() if is_restricting)


def compared(request: ScaleRequest, view: CloudView) -> CloudView:
    """Return a view that passed :func:`fits`, with its aggregates marked as compared.

    The aggregates of Nova and Placement agree, because Nova's reject no host that Placement
    returned.
    """
    sets = frozenset(asked_of_placement(request.resolve(view)))
    return replace(view, snapshot=replace(view.snapshot, compared_aggregates=sets))


def alternatives(request: ScaleRequest, view: CloudView) -> Iterator[Change]:
    """Yield changes by the owner with which Placement may offer other hosts."""
    resolved = request.resolve(view)
    group = resolved.server_group
    may_create = group is not None and nova_alternatives.may_create_group(resolved, group)
    if group is not None and may_create and is_bound(resolved):
        yield from (new_group_change(resolved, group), soft_policy_change(resolved, group))
    if wanted_zone(resolved) is not None and resolved.request.availability_zone is not None:
        yield any_zone_change()
    known = view.snapshot.flavors or ()
    smaller = nova_alternatives.smaller_flavors(known, resolved.flavor)
    yield from map(nova_alternatives.flavor_change, smaller[:_MOST_FLAVORS])
