"""Accept a request from a sample of allocation candidates, at constant cost. Never reject one.

A sample is enough if

* each constraint is enforced by Placement, reads nothing about hosts, or skips the request. The
  query names the aggregates that the constraints on aggregates accept;
* the servers fit if the members of the group fill the hosts with the most free capacity or, if the
  sample has all candidates, if they are where Nova shows them;
* the servers fit without the ``SPARE`` hosts that can take the most. Placement does not know which
  services are down, which members migrate or are soft-deleted, which hypervisors share a service
  host, nor which hosts Nova has in an aggregate. If this affects more hosts, Nova may reject an
  accepted request.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat, zip_longest
from typing import NamedTuple
from urllib.parse import quote

from msgspec import structs

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import MEMORY_MB
from senlin_affinity.model.host import CandidateCapacity, Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import AFFINITY, ServerGroup
from senlin_affinity.model.verdict import Outcome, Verdict
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.candidate_query import excluding
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import ZONE_QUERY, wanted_zone
from senlin_affinity.nova.group_policy import enforced_policy
from senlin_affinity.scenario.constraint import is_of_domains, is_of_hosts, overrides
from senlin_affinity.scenario.scenario import Scenario

#: The set of aggregates of each host.
AggregateSets = Collection[frozenset[str]]
#: The number of hosts that no server needs.
SPARE = 10
#: A larger sample is not cheaper than the whole cloud.
_MOST = 1000
#: The number of hosts in a small sample without a limit per host.
_MOST_SMALL = 20
#: The parts of a snapshot that are complete beside a sample.
_COMPLETE = frozenset({'flavors', 'server_groups', 'quotas'})
#: The fields of a host that follow from its aggregates and Placement's answer.
_READ = frozenset({'aggregates', 'unmirrored', 'stale_aggregates', 'grants', 'granted'})
#: A host of which nothing is known.
_ANY = Host('any', 'any')
_INSTANCES = ('quota.instances', 'quota.user_instances')


class CandidateQuery(NamedTuple):
    """A query for at most ``limit`` allocation candidates.

    ``text`` is sent. ``novas_query`` is the part that Nova sends; the ``grants`` of a host refer to
    it. Hosts are in one of ``aggregates`` (empty: in any, or the text excludes some).
    """

    text: str
    novas_query: str
    limit: int
    aggregates: frozenset[str] = frozenset()

    def host(self, identity: str, room: int, request: Request) -> Host:
        """Return a host of this name in the request's zone, with room for ``room`` servers."""
        grants = (CandidateCapacity(self.novas_query, room, room),)
        return Host(identity, identity, availability_zone=wanted_zone(request), grants=grants)


def without_hosts(request: Request, cloud: Cloud, constraints: Sequence[Constraint]) -> Evaluation:
    """Evaluate the request on a host of which only the zone is known: the requested one."""
    hosts = [_ANY.but(availability_zone=wanted_zone(request))]
    return _evaluate(request, cloud, constraints, hosts)


def readers(evaluation: Evaluation, constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return the constraints that read the aggregates of a host and may reject it.

    :param evaluation: that of :func:`without_hosts`.
    """
    return [
        each for each in constraints if reads_aggregates(each) and not is_settled(each, evaluation)
    ]


def left_by_quota(evaluation: Evaluation) -> int | None:
    """Return the number of servers that an exceeded quota of instances leaves.

    None if it is not exceeded, or if another constraint also rejects the request as a whole.

    :param evaluation: that of :func:`without_hosts`.
    """
    rejected = [verdict for verdict in evaluation.verdicts.values() if not verdict]
    is_by_quota = [verdict.code in _INSTANCES for verdict in rejected] == [True]
    return rejected[0].room if is_by_quota else None


def reads_aggregates(item: Constraint) -> bool:
    """Check whether the constraint checks single hosts, by nothing but their aggregates."""
    is_alone = overrides(item, 'check') and not (overrides(item, 'column') or is_of_domains(item))
    return is_alone and _READ.issuperset(item.reads) and 'aggregates' in item.needs


def query(
    request: Request,
    cloud: Cloud,
    others: Sequence[Constraint],
    readers: Sequence[Constraint] = (),
    sets: AggregateSets = (),
    *,
    is_large: bool = False,
    is_certain: bool = False,
) -> CandidateQuery | None:
    """Return the query for a sample; None if no sample of at most 1010 hosts can be enough.

    That is so if not even empty hosts would be enough, for example because a quota is exceeded.

    :param readers: the :func:`readers`, whose aggregates the query names; ``others`` are the other
        constraints.
    :param sets: the sets of aggregates that hosts are in.
    :param is_large: as in :func:`_host_count`.
    :param is_certain: as in :func:`is_enough`.
    """
    number = _host_count(request, is_large=is_large)
    if must_join_members(request) or not is_zone_in_query(request, cloud):
        return None  # the host of the members is unknown, or no aggregate carries the zone
    if _may_be_nodes_of_ironic(request):
        return None  # many of them may share a service host, by which Nova counts members
    text = candidate_query.query(request, cloud)
    novas_query = candidate_query.query(request, structs.replace(cloud, aggregates=None))
    chosen: MemberOf | None = MemberOf()
    if readers:
        chosen = _accepted_by_readers(request, cloud, readers, sets)
    if text is None or novas_query is None or chosen is None or number > _MOST:
        return None
    text += ''.join(f'&member_of={quote(value)}' for value in chosen.to_query())
    found = CandidateQuery(text, novas_query, number + SPARE)
    room = max(found.limit, request.count)
    best = [found.host(str(index), room, request) for index in range(found.limit)]
    return found if is_enough(request, cloud, others, best, is_certain=is_certain) else None


def is_enough(
    request: Request,
    cloud: Cloud,
    others: Sequence[Constraint],
    hosts: Sequence[Host],
    member_roots: Mapping[str, str] | None = None,
    *,
    is_certain: bool = False,
) -> bool:
    """Check whether all servers fit on these hosts without the ten that can take the most servers.

    True only if no constraint could reject a host for a reason that the sample does not contain.

    :param others: the constraints that the query does not enforce.
    :param member_roots: the host of each member, by server id; None: the least favourable hosts.
    :param is_certain: the number that fits must not be an upper bound.
    """
    held = Counter((member_roots or {}).values())
    most = None if member_roots is None else _most_per_host(request)
    needed = _without_spare(hosts, lambda host: _room(host, most, held[host.host]))
    evaluation = _evaluate(request, cloud, others, needed, member_roots)
    least = evaluation.total.bounds.lower
    if is_certain and least is not None and least < request.count:
        return False
    return evaluation.fits is True and all(is_settled(each, evaluation) for each in others)


def depends_on_members(request: Request, hosts: Iterable[Host]) -> bool:
    """Check whether the servers may fit on these hosts, if the group's members are on others."""
    most = _most_per_host(request)
    if most is None:
        return False
    return sum(_room(host, most) for host in _without_spare(hosts, _room)) >= request.count


def _most_per_host(request: Request) -> int | None:
    """Return ``max_server_per_host`` of a group that has members; None without one."""
    group = request.server_group
    return None if group is None or not group.members else group.max_server_per_host


def _without_spare(hosts: Iterable[Host], room: Callable[[Host], int]) -> list[Host]:
    """Sort hosts by the servers that they can take, the most first; leave out the first ten."""
    return sorted(hosts, key=room, reverse=True)[SPARE:]


def _room(host: Host, most: int | None = None, held: int = 0) -> int:
    """Return how many servers the host surely has capacity for, at most ``most - held``."""
    certain = sum(grant.certain for grant in host.grants or ())
    return certain if most is None else min(certain, most - held)


def is_settled(constraint: Constraint, evaluation: Evaluation) -> bool:
    """Check whether the sample contains all that the constraint reads for this request.

    True if Placement enforces it; or, if it has no domains, if it checks no hosts and reads only
    flavors, groups and quotas, or skips all hosts and the request with known bounds.
    """
    if constraint.enforced_by_placement:
        return True
    if is_of_domains(constraint) and constraint.has_domains(
        evaluation.request, evaluation.scenario
    ):
        return False
    if not is_of_hosts(constraint) and _COMPLETE.issuperset(constraint.needs):
        return True
    return all(
        verdict.outcome is Outcome.SKIP and verdict.bounds.is_known
        for verdict in _verdicts(constraint.name, evaluation)
    )


def _host_count(request: Request, *, is_large: bool) -> int:
    """Return a number of hosts for all new servers, wherever the members of the group are.

    One for each server and member if ``is_large``, or if the group allows one per host. Otherwise,
    for as many per host as it allows; without a limit, one per new server, at most 20.
    """
    count, group = request.count, request.server_group
    most = group.max_server_per_host if group is not None else None
    members = 0 if group is None else len(group.members)
    if is_large or most == 1:
        return count + members
    return min(count, _MOST_SMALL) if most is None else -(-(count + members) // most)


def _accepted_by_readers(
    request: Request, cloud: Cloud, readers: Sequence[Constraint], sets: AggregateSets
) -> MemberOf | None:
    """Return a ``member_of`` that matches only hosts that the readers accept.

    None: there is no such expression, or the aggregates are unknown.
    """
    if cloud.aggregates is None:
        return None

    def is_accepted(aggregates: frozenset[str]) -> bool:
        """Check whether all readers accept such hosts with exact bounds."""
        verdicts = verdicts_in(aggregates, readers, request, cloud)
        return all(each and each.bounds.is_exact for each in verdicts)

    return excluding({each: is_accepted(each) for each in {*sets, frozenset()}})


def verdicts_in(
    aggregates: frozenset[str],
    readers: Iterable[Constraint],
    request: Request,
    cloud: Cloud,
) -> Iterator[Verdict]:
    """Yield the verdicts of constraints on hosts, for a host in these aggregates."""
    host = _ANY.but(aggregates=aggregates)
    return (each.check_host(request, cloud, host) for each in readers)


def _may_be_nodes_of_ironic(request: Request) -> bool:
    """Check whether the flavor requests no memory, and the group has a limit per host."""
    group, demand = request.server_group, demand_of(request)
    is_limited = group is not None and group.max_server_per_host is not None
    return is_limited and demand is not None and MEMORY_MB not in demand.amounts


def must_join_members(request: Request) -> bool:
    """Check whether the group has members, and affinity is enforced."""
    group = request.server_group
    return group is not None and bool(group.members) and enforced_policy(request) == AFFINITY


def is_zone_in_query(request: Request, cloud: Cloud) -> bool:
    """Check whether an aggregate of the requested zone is queried; True without a zone."""
    wanted = wanted_zone(request)
    if wanted is None:
        return True
    return bool(request.option(ZONE_QUERY) and cloud.zones.carried_by.get(wanted))


def _evaluate(
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    hosts: Sequence[Host],
    member_roots: Mapping[str, str] | None = None,
) -> Evaluation:
    """Evaluate the request on these hosts (empty: unknown ones), with unknown aggregates.

    :param hosts: those with the most free capacity first.
    :param member_roots: as in :func:`is_enough`.
    """
    group = request.server_group
    if group is not None:
        group = _placed(group, hosts, member_roots)
        request = dataclasses.replace(request, server_group=group)
    cloud = structs.replace(cloud, hosts=tuple(hosts) or None, aggregates=None)
    return evaluate(request, Scenario.of(cloud), constraints)


def _placed(
    group: ServerGroup, hosts: Iterable[Host], member_roots: Mapping[str, str] | None
) -> ServerGroup:
    """Return the group with its members on these hosts.

    Without ``member_roots``, they fill the slots of the first hosts, and the rest have no host.
    Without ``max_server_per_host``, the members stay.
    """
    most = group.max_server_per_host
    if most is None:
        return group
    slots: Iterator[str] = chain.from_iterable(repeat(host.host, most) for host in hosts)
    if member_roots is not None:
        slots = (member_roots[member.server] for member in group.members)
    members = zip_longest(group.members, islice(slots, len(group.members)))
    placed = (structs.replace(member, host=place) for member, place in members)
    return structs.replace(group, members=tuple(placed))


def _verdicts(name: str, evaluation: Evaluation) -> Iterator[Verdict]:
    """Yield the verdicts of a constraint about the hosts and the request."""
    every = chain((row.verdicts for row in evaluation.table.used_rows), (evaluation.verdicts,))
    return (verdicts[name] for verdicts in every if name in verdicts)
