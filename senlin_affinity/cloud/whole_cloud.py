"""Fetch the whole cloud, with the image and Placement's answers that a question needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from senlin_affinity.cloud import (
    flavor_answers,
    images,
    placement_aggregates,
    snapshot,
)
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.model.cloud import IMAGE, Cloud
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.question import Question, resolve_question


def fetch(
    clients: Clients, question: Question | None = None, *, servers: Collection[str] = ()
) -> Cloud:
    """Fetch what the answer to a question needs; without one, all that needs no question.

    :param servers: without a question, the ids of servers whose hosts are needed.

    Raise CloudError, and InvalidSpec for an image or project that does not exist and must.
    ``unavailable`` of the cloud gives the reason for any other part that cannot be read.
    """
    if question is None:
        return snapshot.with_names(clients.operator, snapshot.take(clients, servers=servers))
    return with_answer(clients, _of_question(clients, question), question)


def with_answer(clients: Clients, cloud: Cloud, question: Question) -> Cloud:
    """Return the whole cloud with Placement's answer for a question, and its aggregates there."""
    if cloud.hosts is None:
        return cloud
    try:
        request, resolved = resolve_question(question, cloud)
    except InvalidSpec:
        return cloud  # raised again when the question is answered
    used = () if request.flavor is None else (request.flavor,)
    asked = asked_of_placement(request, resolved)
    by_query = {candidate_query.query(request, resolved): request}
    cloud = flavor_answers.with_access(clients.owner, cloud, request.project_id, used)
    cloud = placement_aggregates.compare(clients.operator, cloud, asked)
    return flavor_answers.with_answers(clients, cloud, by_query)


def fetch_for_flavors(
    clients: Clients, flavors: Sequence[str], question: Question | None = None
) -> Cloud:
    """Fetch what the capacity of flavors depends on.

    :param flavors: their ids, names or globs.
    :param question: the other conditions, without a flavor; None: all server groups are read.
    """
    cloud = snapshot.take(clients) if question is None else _of_question(clients, question)
    return flavor_answers.of_flavors(clients, cloud, question or Question(0), flavors)


def fetch_for_list(clients: Clients, questions: Sequence[Question]) -> Cloud:
    """Fetch what the answers to a list of questions need, for one project; each name once."""
    cloud = _take(clients, questions)
    named = _distinct(each.named_image for each in questions)
    try:
        cloud = structs.replace(cloud, images=images.find_all(clients.owner, named))
    except CloudError as error:
        cloud = _without_image(cloud, error)
    return flavor_answers.of_questions(clients, cloud, questions)


def fetch_drs_hosts(clients: Clients, pattern: str) -> Cloud:
    """Fetch only the hosts with this text in their names."""
    inventory = ports(clients).inventory
    found = inventory.hosts_named_like(pattern)
    owner_sees_hosts = not clients.has_operator or inventory.shows_hosts()
    return Cloud(hosts=tuple(found), owner_sees_hosts=owner_sees_hosts)


def _of_question(clients: Clients, question: Question) -> Cloud:
    """Fetch the cloud with what the question names, before any answer of Placement."""
    cloud = _take(clients, [question])
    name = question.named_image
    if name is None:
        return cloud
    try:
        return structs.replace(cloud, images={name: images.find(clients.owner, name)})
    except AffinityError as error:
        if question.is_image_needed and isinstance(error, InvalidSpec):
            raise
        return _without_image(cloud, error)


def _take(clients: Clients, questions: Sequence[Question]) -> Cloud:
    """Fetch a snapshot with the groups and servers that questions of one project name."""
    first = questions[0] if questions else Question(0)
    return snapshot.take(
        clients,
        server_groups=_distinct(each.named_group for each in questions),
        project_id=first.project_id,
        user_id=first.user_id,
        servers=_distinct(name for each in questions for name in each.named_servers),
        is_project_of_group=True,
    )


def _without_image(cloud: Cloud, error: AffinityError) -> Cloud:
    return structs.replace(cloud, unavailable={**cloud.unavailable, IMAGE: str(error)})


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    """Return the names without None, each once, in their order."""
    return (*dict.fromkeys(each for each in names if each is not None),)
