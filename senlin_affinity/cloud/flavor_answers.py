"""Fetch what the numbers of several flavors depend on, beyond a snapshot of the cloud.

:func:`~senlin_affinity.cloud.whole_cloud.fetch` calls it for the capacity of flavors. Requests:

* for each private flavor, its projects, if the servers are not of the caller's project;
* two to Placement, the names of all traits and resource classes, if a flavor names one that no
  host has;
* one to Placement for each set of aggregates that Nova requires or forbids in its queries, but not
  for more than :data:`_MOST_SETS`;
* one to Placement for each query of flavors whose amounts lie on nested or sharing providers: their
  allocation candidates.

Raises: CloudError for a request that fails, except for those of allocation candidates: the numbers
stay "at most", and ``CloudView.unavailable`` has the reason. InvalidSpec as
:func:`~senlin_affinity.engine.flavor_capacity.select`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from senlin_affinity.cloud import connection, flavors, placement_aggregates, snapshot
from senlin_affinity.cloud.clients import Clients, OwnerClient
from senlin_affinity.cloud.snapshot import Taken
from senlin_affinity.engine import flavor_capacity
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import ANSWER, CloudSnapshot, CloudView
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.question import Question, resolve_question

#: More sets of aggregates are not read; the numbers then assume that Placement has them, too.
_MOST_SETS = 10


def complete(
    clients: Clients,
    taken: Taken,
    view: CloudView,
    question: Question,
    names: Sequence[str],
    timeout: float | None = None,
) -> CloudView:
    """Return the view with what the capacity of the named flavors depends on.

    :param taken: the snapshot of the view.
    :param question: the other conditions, and the settings.
    """
    known = view.snapshot.flavors
    if not known or view.snapshot.hosts is None:
        return view
    found = flavor_capacity.select(known, names)
    if not found:
        return view
    asked = replace(question, count=0, flavor=found[0].id, are_quotas_ignored=True)
    try:
        request, _cloud = resolve_question(asked, view)
    except InvalidSpec:
        return view  # raised again when the question is answered
    now = with_access(clients.owner, view.snapshot, request.project_id, found, timeout)
    wanted = {each.id for each in found}
    requests = [replace(request, flavor=each) for each in now.flavors or () if each.id in wanted]
    return of_requests(clients, taken, replace(view, snapshot=now), requests, timeout)


def of_questions(
    clients: Clients,
    taken: Taken,
    view: CloudView,
    questions: Sequence[Question],
    timeout: float | None = None,
) -> CloudView:
    """Return the view with what the answers to a list of questions depend on.

    A question that is not valid is left out: its mistake is raised when it is answered.
    """
    if view.snapshot.hosts is None:
        return view
    requests = [*_valid(questions, view)]
    found = {each.flavor.id: each.flavor for each in requests if each.flavor is not None}
    if requests:
        project = requests[0].project_id
        now = with_access(clients.owner, view.snapshot, project, (*found.values(),), timeout)
        view = replace(view, snapshot=now)
    return of_requests(clients, taken, view, [*_valid(questions, view)], timeout)


def _valid(questions: Iterable[Question], view: CloudView) -> Iterator[Request]:
    """Yield the requests of the questions that are valid."""
    for question in questions:
        with contextlib.suppress(InvalidSpec):
            yield resolve_question(question, view)[0]


def of_requests(
    clients: Clients,
    taken: Taken,
    view: CloudView,
    requests: Sequence[Request],
    timeout: float | None = None,
) -> CloudView:
    """Return the view with what the hosts of these requests depend on.

    :param taken: the snapshot of the view, as it was fetched.
    """
    now = view.snapshot
    if any(_names_something_new(each, now) for each in requests):
        now = snapshot.with_names(clients.operator, now, timeout)
    sets = [*dict.fromkeys(each for one in requests for each in asked_of_placement(one, now))]
    if len(sets) <= _MOST_SETS:
        taken = replace(taken, snapshot=now)
        now = placement_aggregates.compare(clients.operator, taken, sets, timeout)
    shared = _classes_of_several(now)
    vague = [
        one
        for one in requests
        if (asked := demand_of(one)) is not None and not shared.isdisjoint(asked.amounts)
    ]
    by_query = {candidate_query.query(each, now): each for each in vague}
    return with_answers(clients, taken, replace(view, snapshot=now), by_query, timeout)


def _classes_of_several(known: CloudSnapshot) -> frozenset[str]:
    """Return the resource classes that several providers of a host may supply."""
    found = {name for has in known.pools.values() for name in has}
    for host in known.hosts or ():
        has = host.resources or {}
        found.update(has if host.is_nested else (name for name in has if has[name].is_sum))
    return frozenset(found)


def with_access(
    owner: OwnerClient,
    known: CloudSnapshot,
    project: str | None,
    found: Sequence[Flavor],
    timeout: float | None,
) -> CloudSnapshot:
    """Return the snapshot with whether the project may use these flavors.

    A request for each of them for which that is not known; none without a project.
    """
    unknown = {each.id for each in found if each.is_shared is None}
    if not unknown or project is None:
        return known
    compute = connection.compute(owner, timeout)
    shared = (
        structs.replace(each, is_shared=flavors.is_shared(compute, each.id, project))
        if each.id in unknown
        else each
        for each in known.flavors or ()
    )
    return structs.replace(known, flavors=tuple(shared))


def _names_something_new(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether the flavor names a trait or a resource class that no host has."""
    asked = demand_of(request)
    if asked is None:
        return False
    traits = asked.required | asked.forbidden
    offered = {name for host in cloud.hosts or () for name in host.resources or ()}
    return not (traits <= cloud.traits_of_hosts and offered.issuperset(asked.amounts))


def with_answers(
    clients: Clients,
    taken: Taken,
    view: CloudView,
    by_query: Mapping[str | None, Request],
    timeout: float | None,
) -> CloudView:
    """Return the view with Placement's allocation candidates for these requests, by their queries.

    A request without a query (None) is left out.
    """
    now = view.snapshot
    for query, request in by_query.items():
        if query is None:
            continue
        try:
            answered = snapshot.with_candidates(
                clients.operator, replace(taken, snapshot=now), query, timeout
            )
        except CloudError as error:
            return replace(view, snapshot=now, unavailable={**view.unavailable, ANSWER: str(error)})
        explained = structs.replace(answered, rejected={})
        is_explained = candidate_query.rejection(request, explained) is not None
        rejected = now.rejected if is_explained else {**now.rejected, **answered.rejected}
        hosts = tuple(
            new
            if new is old or not old.grants
            else new.but(grants=(*old.grants, *(new.grants or ())))
            for old, new in zip(now.hosts or (), answered.hosts or (), strict=True)
        )
        now = structs.replace(
            answered, hosts=hosts, answered=now.answered | answered.answered, rejected=rejected
        )
    return replace(view, snapshot=now)
