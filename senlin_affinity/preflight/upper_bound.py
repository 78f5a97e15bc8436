"""Reject a request for a tenant from all of its allocation candidates, without the whole cloud.

A tenant's report (:mod:`~senlin_affinity.preflight.disclosure`) depends on a few numbers: the
capacity of the question, and that of the question with each change that the owner could make
(:func:`changes`). For each of them, Placement gets one :class:`CandidateQuery`. A number is known
if the answer to its query was not truncated, or if the fetched hosts have free capacity for all
servers that could count (:func:`is_enough`), since no other host can raise the number then.
:func:`is_proof` checks that the fetched hosts give the report that the whole cloud would give.

A constraint that reads the aggregates of a host is evaluated for the sets of aggregates that hosts
are in, the query covers at least those sets that it may accept, and then the constraint checks each
returned host. Any other constraint must be enforced by Placement, or skip the request.

Units: ``limit`` is a number of allocation requests; most hosts have one.

Raises: InvalidSpec for an invalid question.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from senlin_affinity.model import zones
from senlin_affinity.model.constraint import Constraint, is_of_domains, is_of_hosts
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.reason import is_for_owner
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
from senlin_affinity.nova import alternatives, candidate_query, root_traits
from senlin_affinity.nova.aggregate_bounds import keeping
from senlin_affinity.nova.aggregate_sync import asked_of_placement
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.group_policy import holding
from senlin_affinity.planner.changes import carry_out
from senlin_affinity.planner.evaluation import Evaluation, evaluate
from senlin_affinity.preflight import lower_bound, question
from senlin_affinity.preflight.question import CloudView, Narrow

#: Constraints on hosts that the owner could drop, as one of the changes does.
_WITHOUT = ('server_group', 'availability_zone')
#: Constraints whose aggregates are a part of Nova's query.
_IN_QUERY = ('availability_zone', 'reservations')
#: If the cloud has more zones, this module does not try them all.
_MOST_ZONES = 10
#: The zone and the aggregates of each host.
Places = Collection[tuple[str | None, frozenset[str]]]


class CandidateQuery(NamedTuple):
    """A query for all allocation candidates of the question with one change.

    ``name`` is Nova's query, which the ``grants`` of a host refer to. ``is_open``: the request
    exceeds a quota, so a truncated answer may be enough. ``is_of_tree``: the query is restricted to
    one host. ``aggregates``: the query is restricted to hosts in any of these, unless it is empty.
    """

    text: str
    limit: int
    name: str
    is_open: bool
    is_of_tree: bool
    aggregates: frozenset[str]


def changes(asked: Narrow, view: CloudView, known_zones: Collection[str] = ()) -> Iterator[Data]:
    """Yield the empty change, and then each change of the question that its owner could make.

    :param known_zones: the zones of all hosts; empty if no zone is requested.
    """
    resolved = _resolved(asked, view)
    yield {}
    group = resolved.server_group
    if group is not None and group.policy in (AFFINITY, ANTI_AFFINITY):
        yield {'server_group': alternatives.new_group(resolved, group)}
        yield {'server_group': alternatives.soft_group(group)}
    for flavor in alternatives.smaller_flavors(view.snapshot.flavors or (), resolved.flavor):
        yield alternatives.flavor_change(flavor).data
    wanted = wanted_zone(resolved)
    if wanted is not None:
        yield {'availability_zone': None}
        yield from ({'availability_zone': zone} for zone in sorted({*known_zones} - {wanted}))


def part(
    asked: Narrow,
    view: CloudView,
    data: Data,
    sets: Collection[frozenset[str]] = (),
    tree: str | None = None,
) -> CandidateQuery | None:
    """Return the query for the question with a change; None if no query surely covers its hosts.

    :param sets: the sets of aggregates that hosts are in.
    :param tree: the root provider of the host that all members of an affinity group run on.
    """
    resolved = carry_out(data, _resolved(asked, view))
    group, demand, wanted = resolved.server_group, resolved.demand, wanted_zone(resolved)
    is_bound = _is_bound(resolved)
    if is_bound and tree is None:
        return None
    if demand is None or demand.may_be_pinned or root_traits.is_tpm_secret_open(resolved):
        return None  # Nova's query may differ
    known = resolved.snapshot.aggregates
    if known is None and candidate_query.are_aggregates_asked(resolved):
        return None
    if not data and wanted is not None and not resolved.snapshot.zones.carried_by.get(wanted):
        return None  # no aggregate carries the zone: the query does not contain it
    name = candidate_query.query(resolved)
    chosen = keeping({*sets, frozenset()}, lambda each: _may_admit(asked, resolved, each))
    if name is None or chosen is None:
        return None
    text = name
    if chosen:
        text += f'&member_of={quote("in:" + ",".join(sorted(chosen)))}'
    text += f'&in_tree={tree}' if is_bound else ''
    most = _most(evaluate(resolved, asked.constraints))
    limit = most + (0 if group is None else len(group.members)) + lower_bound.SPARE
    return CandidateQuery(text, limit, name, most < resolved.request.count, is_bound, chosen)


def is_enough(asked: Narrow, view: CloudView, data: Data) -> bool:
    """Check whether the hosts of the view take all servers that the quotas leave, with a change."""
    now = evaluate(carry_out(data, _resolved(asked, view)), asked.constraints)
    return (now.capacity or 0) >= _most(now)


def fits(asked: Narrow, view: CloudView) -> bool:
    """Check whether all servers fit on the hosts of the view."""
    return evaluate(_resolved(asked, view), asked.constraints).fits is True


def is_proof(asked: Narrow, view: CloudView, places: Places, *, is_whole: bool) -> bool:
    """Check whether the tenant's report is the same for these hosts and for the whole cloud.

    :param places: the zone and the aggregates of all hosts; read only if a zone is requested.
    :param is_whole: whether these are all hosts that Placement returns for the question itself.
    """
    resolved = _resolved(asked, view)
    now = evaluate(resolved, asked.constraints)
    if not all(_is_answered_for(each, now) for each in asked.constraints):
        return False
    if any(row.code == 'resources.not_granted' for row in now.matrix.host_rows):
        return False  # the figures disagree with Placement's answer, perhaps for other hosts too
    granted = [
        row for host, row in zip(now.hosts, now.matrix.host_rows, strict=True) if host.grants
    ]
    if any(not row.verdicts.get(name, True) for row in granted for name in _IN_QUERY):
        return False  # a host that Placement returns is not in these aggregates in Nova
    rooms = zip(now.hosts, now.matrix.upper, strict=True)
    if is_whole and not all(host.grants for host, room in rooms if room):
        return False
    snapshot = view.snapshot
    if wanted_zone(resolved) is not None:
        carriers = ((each.uuid, each.availability_zone) for each in snapshot.aggregates or ())
        return snapshot.zones == zones.read(carriers, places)
    return True


def proved(asked: Narrow, view: CloudView) -> CloudView:
    """Return a view that passed :func:`is_proof`, with its aggregates marked as compared.

    The aggregates of Nova and Placement agree, because Nova's reject no host that Placement
    returned.
    """
    compared = frozenset(asked_of_placement(_resolved(asked, view)))
    snapshot = dataclasses.replace(view.snapshot, compared_aggregates=compared)
    return dataclasses.replace(view, snapshot=snapshot)


def _is_answered_for(item: Constraint, now: Evaluation) -> bool:
    """Check whether hosts outside the view cannot change what the constraint adds to the report.

    Whether more servers fit without a constraint is known only for a constraint that a change
    drops, or that rejects nothing.
    """
    if not (_is_reader(item) or lower_bound.is_settled(item, now)):
        return False
    owner_sees_hosts = is_of_hosts(item) and is_for_owner(item.reasons)
    return not owner_sees_hosts or item.name in _WITHOUT or lower_bound.is_skipped(item, now)


def is_bound(asked: Narrow, view: CloudView) -> bool:
    """Check whether new servers must join the members of an affinity group on their host."""
    return _is_bound(_resolved(asked, view))


def is_hinted(asked: Narrow, view: CloudView) -> bool:
    """Check whether an enabled filter enforces a scheduler hint; some hosts then prove nothing."""
    return bool(enforced(_resolved(asked, view)))


def is_zone_asked(asked: Narrow, view: CloudView) -> bool:
    """Check whether Nova restricts the servers to a zone."""
    return wanted_zone(_resolved(asked, view)) is not None


def are_few_zones(known: Collection[str]) -> bool:
    """Check whether there are few enough zones to try each of them."""
    return len(known) <= _MOST_ZONES


def _resolved(asked: Narrow, view: CloudView) -> ResolvedRequest:
    """Resolve the question in the view, with the group rules that the binding stores."""
    snapshot, rules = view.snapshot, asked.rules
    groups = snapshot.server_groups or ()
    if rules:
        groups = tuple(dataclasses.replace(each, rules=rules) for each in groups)
    view = dataclasses.replace(view, snapshot=dataclasses.replace(snapshot, server_groups=groups))
    return question.ask(asked.question, view)


def _is_bound(resolved: ResolvedRequest) -> bool:
    group = resolved.server_group
    return group is not None and bool(group.members) and holding(resolved) == AFFINITY


def _most(now: Evaluation) -> int:
    """Return the requested number, capped by the verdicts about the request (the quotas)."""
    rooms = (each.room if each else each.room or 0 for each in now.request.values())
    count = now.resolved.request.count
    return min((count, *(room for room in rooms if room is not None)))


def _readers(asked: Narrow) -> Sequence[Constraint]:
    return [each for each in asked.constraints if is_of_hosts(each) and _is_reader(each)]


def _is_reader(item: Constraint) -> bool:
    """Check whether the constraint reads the aggregates of hosts, and neither domains nor names."""
    is_alone = is_of_hosts(item) and not (is_of_domains(item) or item.is_host_specific)
    return is_alone and 'aggregates' in item.needs


def _may_admit(asked: Narrow, resolved: ResolvedRequest, aggregates: frozenset[str]) -> bool:
    """Check whether no constraint on aggregates rejects a host in these aggregates."""
    host = Host('any', 'any', aggregates=aggregates)
    return all(each.check_host(resolved, host) for each in _readers(asked))
