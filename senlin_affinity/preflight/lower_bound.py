"""Accept a request from a sample of allocation candidates, at constant cost. Never reject one.

:func:`query` derives Placement's query from the owner's group, flavor, image and quotas;
:func:`is_enough` checks whether the hosts of the answer take all servers. Nothing but their
allocation candidates is known of these hosts, so a sample is enough only if

* each constraint is enforced by Placement (``enforced_by_placement``), reads nothing about hosts,
  or skips the request. The constraints on aggregates are evaluated for the sets of aggregates that
  hosts are in, and the query is restricted to aggregates that all of them accept;
* the servers fit wherever the members of the group are: their hosts are unknown, and the members
  are assumed to fill the hosts with the most free capacity;
* the servers fit without the ``SPARE`` hosts with the most free capacity. Placement does not know
  that a compute service is down, that a member migrates, or that hypervisors share a service host.
  If this affects more hosts than the spare ones, Nova may reject an accepted request.

Units: ``limit`` is a number of allocation requests; most hosts have one.

Raises: InvalidSpec for an invalid question.
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

#: The number of hosts in a sample that no server needs.
SPARE = 10
#: A sample of more hosts is not cheaper than the whole cloud.
_MOST = 1000
#: The parts of a snapshot that are complete beside a sample.
_SEEN = frozenset({'flavors', 'server_groups', 'quotas'})
_INSTANCES = ('quota.instances', 'quota.user_instances')


@dataclass(frozen=True)
class Query:
    """A query for a sample of allocation candidates, with the question for the returned hosts.

    ``asked`` lacks the constraints on aggregates, because the query enforces them. ``name`` is the
    query without the aggregates that were added for them; the ``grants`` of a host refer to it.
    ``zone`` is the zone of the returned hosts.
    """

    text: str
    limit: int
    name: str
    asked: Narrow
    zone: str | None = None

    def host(self, identity: str, room: int) -> Host:
        """Return a host that takes this many servers, named by the id of its root provider."""
        grants = (CandidateCapacity(self.name, room, room),)
        return Host(identity, identity, availability_zone=self.zone, grants=grants)


def are_aggregates_needed(asked: Narrow, view: CloudView) -> bool:
    """Check whether a requested zone or a constraint needs the aggregates of the cloud."""
    resolved = _resolved(asked, view, None)
    return wanted_zone(resolved) is not None or bool(_readers(asked, view, resolved))


def query(asked: Narrow, view: CloudView, sets: Collection[frozenset[str]] = ()) -> Query | None:
    """Return the query for a sample; None if no sample of at most 1000 hosts can be enough.

    :param sets: the sets of aggregates that hosts are in.
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
    """Return how many servers the quota of instances leaves, if nothing else rejects the request.

    None: that quota does not reject the request as a whole, or another verdict does. A tenant
    cannot change such a quota, so no remedy has to be searched.
    """
    now = evaluate(_resolved(asked, view, None), asked.constraints)
    refusals = [verdict for verdict in now.request.values() if not verdict]
    if [verdict.code in _INSTANCES for verdict in refusals] != [True]:
        return None
    return refusals[0].room


def of(asked: Narrow, count: int) -> Narrow:
    """Return the same question about another number of servers."""
    return dataclasses.replace(asked, question=dataclasses.replace(asked.question, count=count))


def _number(resolved: ResolvedRequest) -> int:
    """Return a sufficient number of hosts: one for each new server, and one for each member."""
    group = resolved.server_group
    return resolved.request.count + (0 if group is None else len(group.members))


def _best(query: Query) -> list[Host]:
    """Return the best possible answer to the query: each host takes ``limit`` servers."""
    return [query.host(str(number), query.limit) for number in range(query.limit)]


def _readers(asked: Narrow, view: CloudView, resolved: ResolvedRequest) -> list[Constraint]:
    """Return the constraints that read the aggregates of a host and may reject it."""
    name = candidate_query.query(resolved) or ''
    host = Query('', 1, name, asked, wanted_zone(resolved)).host('any', 1)
    now = evaluate(_resolved(asked, view, [host]), asked.constraints)
    return [
        each
        for each in asked.constraints
        if 'aggregates' in each.needs
        and is_of_hosts(each)
        and not (is_of_domains(each) or each.is_host_specific or is_settled(each, now))
    ]


def _chosen(
    asked: Narrow,
    view: CloudView,
    readers: Sequence[Constraint],
    sets: Collection[frozenset[str]],
) -> MemberOf | None:
    """Return a ``member_of`` that matches only hosts that all of these constraints accept.

    None: there is no such expression, or the aggregates are unknown.
    """
    if view.snapshot.aggregates is None:
        return None
    resolved = question.ask(asked.question, view)

    def admits(aggregates: frozenset[str]) -> bool:
        host = Host('any', 'any', aggregates=aggregates)
        verdicts = (each.check_host(resolved, host) for each in readers if is_of_hosts(each))
        return all(each and each.bounds.is_exact for each in verdicts)

    return leaving({*sets, frozenset()}, admits)


def is_enough(asked: Narrow, view: CloudView, hosts: Sequence[Host]) -> bool:
    """Check whether all servers fit on these hosts without the spare ones, as far as needed.

    True only if no constraint could reject a host for a reason that the sample does not contain.
    """
    needed = sorted(hosts, key=_room, reverse=True)[SPARE:]
    resolved = _resolved(asked, view, needed)
    now = evaluate(resolved, asked.constraints)
    return now.fits is True and all(is_settled(each, now) for each in asked.constraints)


def _text(asked: Narrow, view: CloudView) -> str | None:
    """Return Nova's query, restricted to the zone; None if it does not restrict the hosts enough.

    It does not if the servers must join the members of an affinity group on their unknown host, or
    if no aggregate carries the requested zone.
    """
    resolved = question.ask(asked.question, view)
    wanted, group = wanted_zone(resolved), resolved.server_group
    if group is not None and group.policy == AFFINITY and group.members:
        return None  # the host of the members is unknown
    if wanted is not None and not resolved.snapshot.zones.carried_by.get(wanted):
        return None
    return candidate_query.query(resolved)


def _resolved(asked: Narrow, view: CloudView, hosts: Sequence[Host] | None) -> ResolvedRequest:
    """Resolve the question for these hosts, whose aggregates are unknown.

    :param hosts: sorted by free capacity, the most first; None or empty: the hosts are unknown.
    """
    known = view.snapshot.server_groups or ()
    snapshot = dataclasses.replace(
        view.snapshot,
        hosts=tuple(hosts or ()) or None,
        aggregates=None,
        server_groups=tuple(_standing(each, asked, hosts or ()) for each in known),
    )
    return question.ask(asked.question, dataclasses.replace(view, snapshot=snapshot))


def _standing(group: ServerGroup, asked: Narrow, hosts: Iterable[Host]) -> ServerGroup:
    """Return the group with the rules of the binding and the least favourable member locations.

    The members fill the slots of the first hosts; members without a slot have no host. A group
    without ``max_server_per_host`` keeps its members as they are.
    """
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


def is_settled(constraint: Constraint, now: Evaluation) -> bool:
    """Check whether the sample contains all that the constraint reads for this request."""
    if constraint.enforced_by_placement:
        return True
    if is_of_domains(constraint) and constraint.has_domains(now.resolved):
        return False
    if not is_of_hosts(constraint) and _SEEN.issuperset(constraint.needs):
        return True
    return is_skipped(constraint, now)


def is_skipped(constraint: Constraint, now: Evaluation) -> bool:
    """Check whether every verdict of the constraint is SKIP with known bounds."""
    its_verdicts = _verdicts(constraint.name, now)
    return all(each.outcome is Outcome.SKIP and each.bounds.is_known for each in its_verdicts)


def _verdicts(name: str, now: Evaluation) -> Iterator[Verdict]:
    """Yield the verdicts of the constraint with this name about the hosts and the request."""
    every = chain((row.verdicts for row in now.matrix.used_rows), (now.request,))
    return (verdicts[name] for verdicts in every if name in verdicts)
