"""A no at the cost of a few hosts: what must be seen for it, and whether it is proved by that.

Data flow: what an owner reads of a refusal comes from some questions: the one that is asked, and
the same with something of the owner's changed (:func:`changes`). Each is a :class:`Part`, for
which Placement is asked. A part is known where all hosts that Placement has for it were seen, and
where those that were seen have room for all that could be counted (:func:`is_enough`): no other
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

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.core import candidate_query, root_traits, zones
from senlin_affinity.core.aggregates.chosen import keeping
from senlin_affinity.core.constraint import HostConstraint, is_of_domains, is_of_hosts
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import new_groups
from senlin_affinity.core.planning.actions import Data, carry_out
from senlin_affinity.core.planning.evaluation import Evaluation, evaluate
from senlin_affinity.core.planning.other_flavors import smaller
from senlin_affinity.core.planning.rows import is_by_name
from senlin_affinity.core.reasons import is_for_owner
from senlin_affinity.core.server_group import AFFINITY, ANTI_AFFINITY, ServerGroup
from senlin_affinity.core.wanted_zone import wanted_zone
from senlin_affinity.policy import certificate, question
from senlin_affinity.policy.question import Look, Narrow

#: The rules of an owner's that the changes do without.
_WITHOUT = ('server_group', 'availability_zone')
#: A remedy names one of so many other zones.
_MOST_ZONES = 10
#: The zone and the aggregates of hosts.
Places = Collection[tuple[str | None, frozenset[str]]]


class Part(NamedTuple):
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


def changes(asked: Narrow, look: Look, known_zones: Collection[str] = ()) -> Iterator[Data]:
    """The question as it is, and all that an owner could change in it, as remedies have it.

    :param known_zones: those of all hosts; none where no zone is asked for.
    """
    resolved = _resolved(asked, look)
    yield {}
    group = resolved.server_group
    if group is not None and group.policy in (AFFINITY, ANTI_AFFINITY):
        yield {'server_group': new_groups.like(resolved, group)}
        yield {'server_group': new_groups.softer(group)}
    for flavor in smaller(look.snapshot.flavors or (), resolved.flavor):
        yield {'flavor': {'id': flavor.id, 'name': flavor.name}}
    wanted = wanted_zone(resolved)
    if wanted is not None:
        yield {'availability_zone': None}
        yield from ({'availability_zone': zone} for zone in sorted({*known_zones} - {wanted}))


def part(
    asked: Narrow,
    look: Look,
    data: Data,
    sets: Collection[frozenset[str]] = (),
    tree: str | None = None,
) -> Part | None:
    """What Placement is asked about the question with a change; None where it can not tell.

    :param sets: the aggregates that hosts are in together.
    :param tree: the provider of the one host that may take more servers of the group, if it is so.
    """
    resolved = carry_out(data, _resolved(asked, look))
    group, demand, wanted = resolved.server_group, resolved.demand, wanted_zone(resolved)
    is_bound = _is_bound(group)
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
    limit = most + (0 if group is None else len(group.members)) + certificate.SPARE
    return Part(text, limit, name, most < resolved.request.count, is_bound, chosen)


def is_enough(asked: Narrow, look: Look, data: Data) -> bool:
    """Is there room for all that could be counted, with a change?"""
    said = evaluate(carry_out(data, _resolved(asked, look)), asked.constraints)
    return (said.capacity or 0) >= _most(said)


def fits(asked: Narrow, look: Look) -> bool:
    """Do all servers fit on these hosts?"""
    return evaluate(_resolved(asked, look), asked.constraints).fits is True


def is_proof(asked: Narrow, look: Look, places: Places, *, is_whole: bool) -> bool:
    """Is all that an owner reads by these hosts what he reads by the whole cloud?

    :param places: those of all hosts, where a zone is asked for.
    :param is_whole: whether these are all hosts that Placement has for the question itself.
    """
    resolved = _resolved(asked, look)
    said = evaluate(resolved, asked.constraints)
    if not all(_is_answered_for(each, said) for each in asked.constraints):
        return False
    if any(row.code == 'resources.not_granted' for row in said.rows):
        return False  # Placement knows more than the figures say, perhaps of other hosts as well
    rooms = zip(said.hosts, said.table.rooms, strict=True)
    if is_whole and not all(host.grants for host, room in rooms if room):
        return False
    snapshot = look.snapshot
    if wanted_zone(resolved) is not None:
        carriers = ((each.uuid, each.availability_zone) for each in snapshot.aggregates or ())
        return snapshot.zones == zones.read(carriers, places)
    return True


def _is_answered_for(rule: Constraint, said: Evaluation) -> bool:
    """Is what the rule says of these hosts, and without it, what it says of all?"""
    if not (_is_reader(rule) or certificate.is_settled(rule, said)):
        return False
    is_owners = is_of_hosts(rule) and is_for_owner(rule.reasons)
    return not is_owners or rule.name in _WITHOUT or certificate.is_skipped(rule, said)


def is_bound(asked: Narrow, look: Look) -> bool:
    """Are the servers of the group on one host, where all others have to go as well?"""
    return _is_bound(_resolved(asked, look).server_group)


def is_zone_asked(asked: Narrow, look: Look) -> bool:
    """Is there a zone that the servers are held to?"""
    return wanted_zone(_resolved(asked, look)) is not None


def are_few_zones(known: Collection[str]) -> bool:
    """Is each of these zones one that a remedy may name?"""
    return len(known) <= _MOST_ZONES


def _resolved(asked: Narrow, look: Look) -> ResolvedRequest:
    """The question, with the rules of the group that are remembered."""
    snapshot, rules = look.snapshot, asked.rules
    groups = snapshot.server_groups or ()
    if rules:
        groups = tuple(dataclasses.replace(each, rules=rules) for each in groups)
    look = dataclasses.replace(look, snapshot=dataclasses.replace(snapshot, server_groups=groups))
    return question.ask(asked.question, look)


def _is_bound(group: ServerGroup | None) -> bool:
    return group is not None and group.policy == AFFINITY and bool(group.members)


def _most(said: Evaluation) -> int:
    """How many servers are asked for, as far as the quotas and the like leave them."""
    rooms = (each.room if each else each.room or 0 for each in said.request.values())
    count = said.resolved.request.count
    return min((count, *(room for room in rooms if room is not None)))


def _readers(asked: Narrow) -> Sequence[HostConstraint]:
    return [each for each in asked.constraints if is_of_hosts(each) and _is_reader(each)]


def _is_reader(rule: Constraint) -> bool:
    """Is it about the aggregates of a host, by which its hosts can be asked for?"""
    is_alone = is_of_hosts(rule) and not (is_of_domains(rule) or is_by_name(rule))
    return is_alone and 'aggregates' in rule.needs


def _may_admit(asked: Narrow, resolved: ResolvedRequest, aggregates: frozenset[str]) -> bool:
    """May a host in these aggregates be let in?"""
    host = Host('any', 'any', aggregates=aggregates)
    return all(each.check_host(resolved, host) for each in _readers(asked))
