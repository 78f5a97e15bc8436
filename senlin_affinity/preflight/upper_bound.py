"""A no at the cost of a few hosts: what must be seen for it, and whether it is proved by that.

Data flow: what an owner reads of a refusal comes from some questions: the one that is asked, and
the same with something of the owner's changed (:func:`changes`). Each is a :class:`CandidateQuery`,
for which Placement is asked. A part is known where all hosts that Placement has for it were seen,
and where those that were seen have room for all that could be counted (:func:`is_enough`): no other
host raises its number then. :func:`is_proof` is about the look at all of these hosts.

A rule that reads the aggregates of a host is asked about the sets that there are, and Placement for
hosts in at least those that it may let in. It then judges each host, as in a whole look. Any other
rule that Placement does not answer for has to have nothing to say.

Units: ``limit`` is a number of Placement's allocation requests, as in the certificate of a yes.

Errors: InvalidSpec for a question that is not right.
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

#: The rules of an owner's that the changes do without.
_WITHOUT = ('server_group', 'availability_zone')
#: Rules by aggregates of which Nova asks Placement for the members.
_IN_QUERY = ('availability_zone', 'reservations')
#: A remedy names one of so many other zones.
_MOST_ZONES = 10
#: The zone and the aggregates of hosts.
Places = Collection[tuple[str | None, frozenset[str]]]


class CandidateQuery(NamedTuple):
    """What Placement is asked for one question, and for how much of its answer.

    ``name`` is the query that the rules know the grants by. ``is_open``: more servers than the
    quotas leave are asked for, so that some of the hosts may be enough. ``is_of_tree``: of one host
    alone. ``aggregates``: of hosts in one of these, as Nova has them, if there are any.
    """

    text: str
    limit: int
    name: str
    is_open: bool
    is_of_tree: bool
    aggregates: frozenset[str]


def changes(asked: Narrow, view: CloudView, known_zones: Collection[str] = ()) -> Iterator[Data]:
    """The question as it is, and all that an owner could change in it, as remedies have it.

    :param known_zones: those of all hosts; none where no zone is asked for.
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
    """What Placement is asked about the question with a change; None where it can not tell.

    :param sets: the aggregates that hosts are in together.
    :param tree: the provider of the one host that may take more servers of the group, if it is so.
    """
    resolved = carry_out(data, _resolved(asked, view))
    group, demand, wanted = resolved.server_group, resolved.demand, wanted_zone(resolved)
    is_bound = _is_bound(resolved)
    if is_bound and tree is None:
        return None
    if demand is None or demand.may_be_pinned or root_traits.is_tpm_secret_open(resolved):
        return None  # Nova may ask for something else
    known = resolved.snapshot.aggregates
    if known is None and candidate_query.are_aggregates_asked(resolved):
        return None
    if not data and wanted is not None and not resolved.snapshot.zones.carried_by.get(wanted):
        return None  # nothing holds Nova to it
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
    """Is there room for all that could be counted, with a change?"""
    said = evaluate(carry_out(data, _resolved(asked, view)), asked.constraints)
    return (said.capacity or 0) >= _most(said)


def fits(asked: Narrow, view: CloudView) -> bool:
    """Do all servers fit on these hosts?"""
    return evaluate(_resolved(asked, view), asked.constraints).fits is True


def is_proof(asked: Narrow, view: CloudView, places: Places, *, is_whole: bool) -> bool:
    """Is all that an owner reads by these hosts what he reads by the whole cloud?

    :param places: those of all hosts, where a zone is asked for.
    :param is_whole: whether these are all hosts that Placement has for the question itself.
    """
    resolved = _resolved(asked, view)
    said = evaluate(resolved, asked.constraints)
    if not all(_is_answered_for(each, said) for each in asked.constraints):
        return False
    if any(row.code == 'resources.not_granted' for row in said.matrix.host_rows):
        return False  # Placement knows more than the figures say, perhaps of other hosts as well
    granted = [
        row for host, row in zip(said.hosts, said.matrix.host_rows, strict=True) if host.grants
    ]
    if any(not row.verdicts.get(name, True) for row in granted for name in _IN_QUERY):
        return False  # Nova's aggregates reject a host that Placement grants
    rooms = zip(said.hosts, said.matrix.upper, strict=True)
    if is_whole and not all(host.grants for host, room in rooms if room):
        return False
    snapshot = view.snapshot
    if wanted_zone(resolved) is not None:
        carriers = ((each.uuid, each.availability_zone) for each in snapshot.aggregates or ())
        return snapshot.zones == zones.read(carriers, places)
    return True


def proved(asked: Narrow, view: CloudView) -> CloudView:
    """Return a look that is a proof, as one whose aggregates were compared with Placement's.

    Placement's answers tell it, since Nova's aggregates reject none of their hosts.
    """
    compared = frozenset(asked_of_placement(_resolved(asked, view)))
    snapshot = dataclasses.replace(view.snapshot, compared_aggregates=compared)
    return dataclasses.replace(view, snapshot=snapshot)


def _is_answered_for(rule: Constraint, said: Evaluation) -> bool:
    """Is what the rule says of these hosts, and without it, what it says of all?"""
    if not (_is_reader(rule) or lower_bound.is_settled(rule, said)):
        return False
    owner_sees_hosts = is_of_hosts(rule) and is_for_owner(rule.reasons)
    return not owner_sees_hosts or rule.name in _WITHOUT or lower_bound.is_skipped(rule, said)


def is_bound(asked: Narrow, view: CloudView) -> bool:
    """Check whether the servers of the group are on one host, to which all others must go."""
    return _is_bound(_resolved(asked, view))


def is_hinted(asked: Narrow, view: CloudView) -> bool:
    """Check whether a scheduler hint has a filter that runs: a few hosts prove nothing then."""
    return bool(enforced(_resolved(asked, view)))


def is_zone_asked(asked: Narrow, view: CloudView) -> bool:
    """Is there a zone that the servers are held to?"""
    return wanted_zone(_resolved(asked, view)) is not None


def are_few_zones(known: Collection[str]) -> bool:
    """Is each of these zones one that a remedy may name?"""
    return len(known) <= _MOST_ZONES


def _resolved(asked: Narrow, view: CloudView) -> ResolvedRequest:
    """The question, with the rules of the group that are remembered."""
    snapshot, rules = view.snapshot, asked.rules
    groups = snapshot.server_groups or ()
    if rules:
        groups = tuple(dataclasses.replace(each, rules=rules) for each in groups)
    view = dataclasses.replace(view, snapshot=dataclasses.replace(snapshot, server_groups=groups))
    return question.ask(asked.question, view)


def _is_bound(resolved: ResolvedRequest) -> bool:
    group = resolved.server_group
    return group is not None and bool(group.members) and holding(resolved) == AFFINITY


def _most(said: Evaluation) -> int:
    """How many servers are asked for, as far as the quotas and the like leave them."""
    rooms = (each.room if each else each.room or 0 for each in said.request.values())
    count = said.resolved.request.count
    return min((count, *(room for room in rooms if room is not None)))


def _readers(asked: Narrow) -> Sequence[Constraint]:
    return [each for each in asked.constraints if is_of_hosts(each) and _is_reader(each)]


def _is_reader(rule: Constraint) -> bool:
    """Is it about the aggregates of a host, by which its hosts can be asked for?"""
    is_alone = is_of_hosts(rule) and not (is_of_domains(rule) or rule.is_host_specific)
    return is_alone and 'aggregates' in rule.needs


def _may_admit(asked: Narrow, resolved: ResolvedRequest, aggregates: frozenset[str]) -> bool:
    """May a host in these aggregates be let in?"""
    host = Host('any', 'any', aggregates=aggregates)
    return all(each.check_host(resolved, host) for each in _readers(asked))
