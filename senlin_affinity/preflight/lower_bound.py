"""A yes at the cost of a few hosts: enough room among some of those that Placement has.

Data flow: what the owner sees of what is his (group, flavor, image, quotas) says what Placement is
asked (:func:`query`). What it grants on the hosts of its answer, of which nothing else is known, is
enough or not (:func:`is_enough`); where it is not, the whole cloud is looked at. Rules that read
aggregates are asked about those that there are, and Placement for hosts in the ones they let in.

It never refuses. A yes holds as far as Placement answers for the rules (``enforced_by_placement``)
and as no other rule has anything to say; the hosts of the group's members are not known, and taken
to be those where they are most in the way. Placement does not know everything: that a compute
service is down, that a member moves, that hypervisors share a service host. So some of the hosts
are to spare, the roomiest, and a cloud that has so few is looked at as a whole. Where more than
these are not what they seem, Nova refuses what was let through.

Units: ``limit`` is a number of Placement's allocation requests, most of which are a host each.

Errors: InvalidSpec for a question that is not right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat, zip_longest
from urllib.parse import quote

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.candidate_capacity import CandidateCapacity
from senlin_affinity.model.constraint import is_of_domains, is_of_hosts
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.server_group import AFFINITY, ServerGroup
from senlin_affinity.model.verdict import Outcome, Verdict
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.aggregate_bounds import leaving
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.planner.evaluation import Evaluation, evaluate
from senlin_affinity.preflight import question
from senlin_affinity.preflight.question import CloudView, Narrow

#: So many hosts are to spare.
SPARE = 10
#: Of more, it is no longer a few.
_MOST = 1000
#: A rule that reads nothing else of the cloud has read all of it here.
_SEEN = frozenset({'flavors', 'server_groups', 'quotas'})
_INSTANCES = ('quota.instances', 'quota.user_instances')


@dataclass(frozen=True)
class Query:
    """What Placement is asked, for how much of its answer, and what is left to ask its hosts.

    ``name`` is the query that the rules know the grants by: without what the aggregates add;
    ``zone`` is that of the hosts.
    """

    text: str
    limit: int
    name: str
    asked: Narrow
    zone: str | None = None

    def host(self, identity: str, room: int) -> Host:
        """A host that takes so many servers for certain, known by its root provider."""
        grants = (CandidateCapacity(self.name, room, room),)
        return Host(identity, identity, availability_zone=self.zone, grants=grants)


def are_aggregates_needed(asked: Narrow, view: CloudView) -> bool:
    """Does a zone or a rule need the aggregates, which must then be in the look?"""
    resolved = _resolved(asked, view, None)
    return wanted_zone(resolved) is not None or bool(_readers(asked, view, resolved))


def query(asked: Narrow, view: CloudView, sets: Collection[frozenset[str]] = ()) -> Query | None:
    """What Placement is asked; None where no few hosts would do, however much room they have.

    :param sets: the aggregates that hosts are in together.
    """
    resolved = _resolved(asked, view, None)
    number, readers = _number(resolved), _readers(asked, view, resolved)
    text, name = _text(asked, view), candidate_query.query(resolved)
    chosen = _chosen(asked, view, readers, sets) if readers else MemberOf()
    if text is None or name is None or chosen is None or number > _MOST:
        return None
    text += ''.join(f'&member_of={quote(value)}' for value in chosen.to_query())
    others = tuple(each for each in asked.constraints if each not in readers)
    left = dataclasses.replace(asked, constraints=others)
    found = Query(text, number + SPARE, name, left, wanted_zone(resolved))
    return found if is_enough(left, view, _best(found)) else None


def left_by_quota(asked: Narrow, view: CloudView) -> int | None:
    """How many servers the quota of instances leaves, where it alone refuses what is asked.

    None: it does not, or something else may refuse more. Nothing that an owner could change helps.
    """
    said = evaluate(_resolved(asked, view, None), asked.constraints)
    refusals = [verdict for verdict in said.request.values() if not verdict]
    if [verdict.code in _INSTANCES for verdict in refusals] != [True]:
        return None
    return refusals[0].room


def of(asked: Narrow, count: int) -> Narrow:
    """The same about so many servers."""
    return dataclasses.replace(asked, question=dataclasses.replace(asked.question, count=count))


def _number(resolved: ResolvedRequest) -> int:
    """How many hosts are enough, whatever room they have."""
    group = resolved.server_group
    return resolved.request.count + (0 if group is None else len(group.members))


def _best(query: Query) -> list[Host]:
    """As many hosts as are asked for, with all the room that one could need."""
    return [query.host(str(number), query.limit) for number in range(query.limit)]


def _readers(asked: Narrow, view: CloudView, resolved: ResolvedRequest) -> list[Constraint]:
    """The rules about the aggregates of a host that have something to say."""
    name = candidate_query.query(resolved) or ''
    host = Query('', 1, name, asked, wanted_zone(resolved)).host('any', 1)
    said = evaluate(_resolved(asked, view, [host]), asked.constraints)
    return [
        each
        for each in asked.constraints
        if 'aggregates' in each.needs
        and is_of_hosts(each)
        and not (is_of_domains(each) or each.is_host_specific or is_settled(each, said))
    ]


def _chosen(
    asked: Narrow,
    view: CloudView,
    readers: Sequence[Constraint],
    sets: Collection[frozenset[str]],
) -> MemberOf | None:
    """The aggregates of hosts that all of these rules let in, for certain."""
    if view.snapshot.aggregates is None:
        return None
    resolved = question.ask(asked.question, view)

    def admits(aggregates: frozenset[str]) -> bool:
        host = Host('any', 'any', aggregates=aggregates)
        verdicts = (each.check_host(resolved, host) for each in readers if is_of_hosts(each))
        return all(each and each.bounds.is_exact for each in verdicts)

    return leaving({*sets, frozenset()}, admits)


def is_enough(asked: Narrow, view: CloudView, hosts: Sequence[Host]) -> bool:
    """Is there room for all servers on these hosts, wherever the members of the group are?"""
    needed = sorted(hosts, key=_room, reverse=True)[SPARE:]
    resolved = _resolved(asked, view, needed)
    said = evaluate(resolved, asked.constraints)
    return said.fits is True and all(is_settled(each, said) for each in asked.constraints)


def _text(asked: Narrow, view: CloudView) -> str | None:
    """With the aggregates of the zone; None where nothing holds Nova to one host or to a zone."""
    resolved = question.ask(asked.question, view)
    wanted, group = wanted_zone(resolved), resolved.server_group
    if group is not None and group.policy == AFFINITY and group.members:
        return None  # they are on one host, and it is not known on which
    if wanted is not None and not resolved.snapshot.zones.carried_by.get(wanted):
        return None
    return candidate_query.query(resolved)


def _resolved(asked: Narrow, view: CloudView, hosts: Sequence[Host] | None) -> ResolvedRequest:
    """The question of these hosts, the roomiest first; of their aggregates nothing is known."""
    known = view.snapshot.server_groups or ()
    snapshot = dataclasses.replace(
        view.snapshot,
        hosts=tuple(hosts or ()) or None,  # of none, nothing is known: neither is its zone
        aggregates=None,
        server_groups=tuple(_standing(each, asked, hosts or ()) for each in known),
    )
    return question.ask(asked.question, dataclasses.replace(view, snapshot=snapshot))


def _standing(group: ServerGroup, asked: Narrow, hosts: Iterable[Host]) -> ServerGroup:
    """The group with the rules that are remembered, its members where they are most in the way."""
    group = dataclasses.replace(group, rules=asked.rules or group.rules)
    most = group.max_server_per_host
    if most is None:
        return group
    places = chain.from_iterable(repeat(host.host, most) for host in hosts)
    members = zip_longest(group.members, islice(places, len(group.members)))
    placed = (dataclasses.replace(member, host=place) for member, place in members)
    return dataclasses.replace(group, members=tuple(placed))


def _room(host: Host) -> int:
    return sum(grant.certain for grant in host.grants or ())


def is_settled(constraint: Constraint, said: Evaluation) -> bool:
    """Has the rule nothing to say that Placement, or what is known, does not answer for?"""
    if constraint.enforced_by_placement:
        return True
    if is_of_domains(constraint) and constraint.has_domains(said.resolved):
        return False
    if not is_of_hosts(constraint) and _SEEN.issuperset(constraint.needs):
        return True
    return is_skipped(constraint, said)


def is_skipped(constraint: Constraint, said: Evaluation) -> bool:
    """Has the rule nothing to say?"""
    said_of_it = _verdicts(constraint.name, said)
    return all(each.outcome is Outcome.SKIP and each.bounds.is_known for each in said_of_it)


def _verdicts(name: str, said: Evaluation) -> Iterator[Verdict]:
    """All that a rule says of the hosts, and of the request."""
    every = chain((row.verdicts for row in said.matrix.used_rows), (said.request,))
    return (verdicts[name] for verdicts in every if name in verdicts)
