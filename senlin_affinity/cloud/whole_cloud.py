"""Fetch what a question needs of the cloud: the snapshot, the image and Placement's answer."""

from __future__ import annotations

from dataclasses import replace

from senlin_affinity.cloud import (
    drained,
    flavor_answers,
    images,
    placement_aggregates,
    snapshot,
)
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.model.snapshot import IMAGE, CloudSnapshot, CloudView
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.queried_aggregates import asked_of_placement
from senlin_affinity.preflight.question import FetchScope, Question, resolve_question


def fetch(clients: Clients, needed: FetchScope, timeout: float | None = None) -> CloudView:
    """Fetch what is needed; for a DRS search, only the hosts that match.

    Raise CloudError, and InvalidSpec for an image or project that does not exist and must.
    ``unavailable`` of the view gives the reason for any other part that cannot be read.
    """
    if needed.drs_pattern is not None:
        inventory = ports(clients, timeout).inventory
        found = inventory.hosts_named_like(needed.drs_pattern)
        owner_sees_hosts = not clients.has_operator or inventory.shows_hosts()
        return CloudView(CloudSnapshot(hosts=tuple(found)), owner_sees_hosts=owner_sees_hosts)
    taken = snapshot.take(
        clients,
        server_groups=needed.server_groups,
        project_id=needed.project_id,
        user_id=needed.user_id,
        servers=needed.servers,
        is_project_of_group=needed.server_groups is not None,
        timeout=timeout,
    )
    if needed.server_groups is None and needed.flavors is None:  # plans for any flavor follow
        named = snapshot.with_names(clients.operator, taken.snapshot, timeout)
        taken = replace(taken, snapshot=named)
    unknown = dict(taken.unavailable)
    if needed.server_groups == ():  # the reason would only be that none was requested
        unknown.pop('server_groups', None)
    view = CloudView(taken.snapshot, unknown, owner_sees_hosts=taken.owner_sees_hosts)
    if needed.servers_on is not None:
        return drained.complete(clients, taken, view, needed, timeout)
    image = needed.image
    if image is not None:
        try:
            view = replace(view, images={image: images.find(clients.owner, image, timeout)})
        except AffinityError as error:
            if needed.is_image_needed and isinstance(error, InvalidSpec):
                raise
            view = replace(view, unavailable={**unknown, IMAGE: str(error)})
    if needed.questions:
        return flavor_answers.of_questions(
            clients, taken, _with_images(clients, view, needed, timeout), needed.questions, timeout
        )
    if needed.flavors is not None:
        question = needed.question or Question(0)
        return flavor_answers.complete(clients, taken, view, question, needed.flavors, timeout)
    if needed.question is None or view.snapshot.hosts is None:
        return view
    try:
        request, cloud = resolve_question(needed.question, view)
    except InvalidSpec:
        return view  # raised again when the question is answered
    used = () if request.flavor is None else (request.flavor,)
    shared = flavor_answers.with_access(
        clients.owner, taken.snapshot, request.project_id, used, timeout
    )
    taken = replace(taken, snapshot=shared)
    asked = asked_of_placement(request, cloud)
    checked = placement_aggregates.compare(clients.operator, taken, asked, timeout)
    by_query = {candidate_query.query(request, cloud): request}
    return flavor_answers.with_answers(
        clients, taken, replace(view, snapshot=checked), by_query, timeout
    )


def _with_images(
    clients: Clients, view: CloudView, needed: FetchScope, timeout: float | None
) -> CloudView:
    """Add the images of a list; the reason if Glance cannot be read."""
    try:
        return replace(view, images=images.find_all(clients.owner, needed.images, timeout))
    except CloudError as error:
        return replace(view, unavailable={**view.unavailable, IMAGE: str(error)})
