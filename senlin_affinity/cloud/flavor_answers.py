"""Fetch what the numbers of several flavors depend on, beyond a snapshot of the cloud.

:mod:`~senlin_affinity.cloud.whole_cloud` calls it for the capacity of flavors and for lists.
Requests:

* for each private flavor, its projects, if the servers are not of the caller's project;
* two to Placement, the names of all traits and resource classes, if a flavor names one that no
  host has;
* one to Placement for each set of aggregates that Nova requires or forbids in its queries, but not
  for more than :data:`_MOST_SETS`;
* one to Placement for each query of flavors whose amounts lie on nested or sharing providers: their
  allocation candidates.

Raises: CloudError for a request that fails, except for those of allocation candidates: the numbers
stay "at most", and ``Cloud.unavailable`` has the reason. InvalidSpec as
:func:`~senlin_affinity.engine.flavor_capacity.select`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from senlin_affinity.cloud import connection, flavors, placement_aggregates, snapshot
from senlin_affinity.cloud.clients import Clients, OwnerClient
from senlin_affinity.engine import flavor_capacity
from senlin_affinity.model.cloud import ANSWER, Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import Request
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.question import Question, resolve_question

#: More sets of aggregates are not read; the numbers then assume that Placement has them, too.
_MOST_SETS = 10


def of_flavors(clients: Clients, cloud: Cloud, question: Question, names: Sequence[str]) -> Cloud:
    """Return the cloud with what the capacity of the named flavors depends on.

    :param question: the other conditions, and the settings.
    """
    if not cloud.flavors or cloud.hosts is None:
        return cloud
    found = flavor_capacity.select(cloud.flavors, names)
    if not found:
        return cloud
    asked = replace(question, count=0, flavor=found[0].id, are_quotas_ignored=True)
    try:
        request, _cloud = resolve_question(asked, cloud)
    except InvalidSpec:
        return cloud  # raised again when the question is answered
    cloud = with_access(clients.owner, cloud, request.project_id, found)
    wanted = {each.id for each in found}
    requests = [replace(request, flavor=each) for each in cloud.flavors or () if each.id in wanted]
    return of_requests(clients, cloud, requests)


def of_questions(clients: Clients, cloud: Cloud, questions: Sequence[Question]) -> Cloud:
    """Return the cloud with what the answers to a list of questions depend on.

    A question that is not valid is left out: its mistake is raised when it is answered.
    """
    requests = [*_valid(questions, cloud)]
    if cloud.hosts is None or not requests:
        return cloud
    found = {each.flavor.id: each.flavor for each in requests if each.flavor is not None}
    cloud = with_access(clients.owner, cloud, requests[0].project_id, (*found.values(),))
    return of_requests(clients, cloud, [*_valid(questions, cloud)])


def _valid(questions: Iterable[Question], cloud: Cloud) -> Iterator[Request]:
    """Yield the requests of the questions that are valid."""
    for question in questions:
        with contextlib.suppress(InvalidSpec):
            yield resolve_question(question, cloud)[0]


def of_requests(clients: Clients, cloud: Cloud, requests: Sequence[Request]) -> Cloud:
    """Return the cloud with what the hosts of these requests depend on."""
    if any(_names_something_new(each, cloud) for each in requests):
        cloud = snapshot.with_names(clients.operator, cloud)
    sets = [*dict.fromkeys(each for one in requests for each in asked_of_placement(one, cloud))]
    if len(sets) <= _MOST_SETS:
        cloud = placement_aggregates.compare(clients.operator, cloud, sets)
    shared = _classes_of_several(cloud)
    vague = [
        one
        for one in requests
        if (asked := demand_of(one)) is not None and not shared.isdisjoint(asked.amounts)
    ]
    by_query = {candidate_query.query(each, cloud): each for each in vague}
    return with_answers(clients, cloud, by_query)


def _classes_of_several(known: Cloud) -> frozenset[str]:
    """Return the resource classes that several providers of a host may supply."""
    found = {name for has in known.pools.values() for name in has}
    for host in known.hosts or ():
        has = host.resources or {}
        found.update(has if host.is_nested else (name for name in has if has[name].is_sum))
    return frozenset(found)


def with_access(
    owner: OwnerClient,
    known: Cloud,
    project: str | None,
    found: Sequence[Flavor],
) -> Cloud:
    """Return the cloud with whether the project may use these flavors.

    A request for each of them for which that is not known; none without a project.
    """
    unknown = {each.id for each in found if each.is_shared is None}
    if not unknown or project is None:
        return known
    compute = connection.compute(owner)
    shared = (
        structs.replace(each, is_shared=flavors.is_shared(compute, each.id, project))
        if each.id in unknown
        else each
        for each in known.flavors or ()
    )
    return structs.replace(known, flavors=tuple(shared))


def _names_something_new(request: Request, cloud: Cloud) -> bool:
    """Check whether the flavor names a trait or a resource class that no host has."""
    asked = demand_of(request)
    if asked is None:
        return False
    traits = asked.required | asked.forbidden
    offered = {name for host in cloud.hosts or () for name in host.resources or ()}
    return not (traits <= cloud.traits_of_hosts and offered.issuperset(asked.amounts))


def with_answers(clients: Clients, cloud: Cloud, by_query: Mapping[str | None, Request]) -> Cloud:
    """Return the cloud with Placement's allocation candidates for these requests, by their queries.

    A request without a query (None) is left out. A 400 that the request and the names in Placement
    explain is no reason of its own.
    """
    for query, request in by_query.items():
        if query is None:
            continue
        try:
            answered = snapshot.with_candidates(clients.operator, cloud, query)
        except CloudError as error:
            return structs.replace(cloud, unavailable={**cloud.unavailable, ANSWER: str(error)})
        explained = structs.replace(answered, rejected={})
        if candidate_query.rejection(request, explained) is not None:
            answered = structs.replace(answered, rejected=cloud.rejected)
        cloud = answered
    return cloud
