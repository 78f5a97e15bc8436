"""Fetch the servers of hosts, and what their moves to other hosts depend on.

They are added to a cloud that :mod:`~senlin_affinity.cloud.whole_cloud` fetched. Requests beyond
those of a snapshot:

* the servers and their allocations, as in :mod:`senlin_affinity.cloud.servers`;
* their images, one for each 50, because Nova does not show the traits that an image requires;
* for servers that scheduler hints name: one each, at most
  :data:`~senlin_affinity.cloud.members.MOST_NAMED`, and the migrations;
* those of :func:`~senlin_affinity.cloud.flavor_answers.of_requests` for the requests of the moves.

Raises: CloudError from :func:`with_servers_on`, also for a user who may not list the servers of all
projects. Without Placement's allocations or Glance's images, ``Cloud.unavailable`` has the reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import structs

from senlin_affinity.cloud import (
    connection,
    flavor_answers,
    host_use,
    images,
    members,
    servers,
)
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.paging import allowed
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member
from senlin_affinity.model.value import Texts
from senlin_affinity.nova import moves

#: The keys of ``Cloud.unavailable`` for allocations and images that could not be read.
ALLOCATIONS, IMAGES = 'allocations', 'images'


def with_servers_on(
    clients: Clients, cloud: Cloud, names: Sequence[str], settings: Settings
) -> Cloud:
    """Return the cloud with the servers of hosts; unchanged if the hosts are unknown.

    :param names: of service hosts or hypervisors, whose servers are read with what their moves
        depend on under these settings. Names without a host are left out.
    """
    if cloud.hosts is None:
        return cloud
    chosen = [each for each in cloud.hosts if {each.host, each.hypervisor_hostname} & {*names}]
    cloud = _with(clients, cloud, chosen)
    every = [each for of_host in cloud.servers_by_host.values() for each in of_host]
    requests = [moves.request_of(each, cloud, settings) for each in every]
    return flavor_answers.of_requests(clients, cloud, requests)


def with_every_server(clients: Clients, cloud: Cloud) -> Cloud:
    """Return the cloud with the servers of all hosts; unchanged if the hosts are unknown."""
    return cloud if cloud.hosts is None else _with(clients, cloud, None)


def _with(clients: Clients, cloud: Cloud, hosts: Sequence[Host] | None) -> Cloud:
    """Return the cloud with the servers of these hosts, and their allocations; None: of all hosts.

    Those of all hosts are without their allocations.
    """
    owners = connection.compute(clients.owner)
    compute = connection.clouds_compute(clients, owners)
    names = None if hosts is None else [*dict.fromkeys(each.host for each in hosts)]
    by_host: Mapping[str, tuple[Server, ...]] = servers.of_hosts(compute, names, cloud)
    unavailable = dict(cloud.unavailable)
    if hosts is not None:
        by_host, unknown = _with_allocations(clients, hosts, by_host)
        unavailable |= unknown
    by_host, unknown = _with_images(clients, by_host)
    unavailable |= unknown
    cloud = structs.replace(cloud, servers_by_host=by_host, unavailable=unavailable)
    every = [each for of_host in by_host.values() for each in of_host]
    hinted = {name for each in every for name in scheduler_hints.named(each.hints, None)}
    if not hinted:
        return cloud
    found = {each.id: _member(each) for each in every if each.id in hinted}
    named = members.by_ids(compute, sorted(hinted), found)
    read = partial(members.migrations, compute)
    located = members.moving(named, lambda: allowed(read))  # None if they may not be read
    return structs.replace(cloud, servers=located or named)


def with_servers(clients: Clients, cloud: Cloud, names: Iterable[str]) -> Cloud:
    """Return the cloud with the servers of the first few hosts, for a remedy that moves one.

    Unchanged if the servers, their allocations or their images cannot be read.

    :param names: names of service hosts; at most ``host_use.MOST`` are read.
    """
    chosen = [*dict.fromkeys(names)][: host_use.MOST]
    if not chosen:
        return cloud
    with contextlib.suppress(CloudError):
        owners = connection.compute(clients.owner)
        compute = connection.clouds_compute(clients, owners)
        found: Mapping[str, tuple[Server, ...]] = servers.of_hosts(compute, chosen, cloud)
        hosts = [each for each in cloud.hosts or () if each.host in found]
        found, unknown = _with_allocations(clients, hosts, found)
        if not unknown:
            found, unknown = _with_images(clients, found)
        return cloud if unknown else structs.replace(cloud, servers_by_host=found)
    return cloud


def _with_allocations(
    clients: Clients,
    hosts: Iterable[Host],
    by_host: Mapping[str, tuple[Server, ...]],
) -> tuple[dict[str, tuple[Server, ...]], dict[str, str]]:
    """Return the servers with their allocations, and why these could not be read, if so."""
    found = dict(by_host)
    placement = connection.placement(clients.operator)
    try:
        for host in hosts:
            if found[host.host]:
                of_host = servers.with_allocations(placement, host, found[host.host])
                found[host.host] = of_host
    except CloudError as error:
        return found, {ALLOCATIONS: str(error)}
    return found, {}


def _with_images(
    clients: Clients, by_host: Mapping[str, tuple[Server, ...]]
) -> tuple[dict[str, tuple[Server, ...]], dict[str, str]]:
    """Return the servers with all properties of their images, and why these are unknown, if so."""
    ids = {each.image for of_host in by_host.values() for each in of_host if each.image}
    found: dict[str, Image] = {}
    unknown = {}
    try:
        found = images.by_ids(clients.owner, ids)
    except CloudError as error:
        unknown[IMAGES] = str(error)
    return {
        name: tuple(_with_image(each, found.get(each.image or '')) for each in of_host)
        for name, of_host in by_host.items()
    }, unknown


def _with_image(server: Server, image: Image | None) -> Server:
    """Return the server with the properties of its image; without it, the traits are unknown."""
    if image is None:
        hidden = server.unknown if server.image is None else {*server.unknown, moves.IMAGE_TRAITS}
        return structs.replace(server, unknown=Texts(hidden))
    return servers.with_image(server, image)


def _member(server: Server) -> Member:
    return Member(
        server.id,
        server.host,
        server.user_id,
        zone=server.availability_zone,
        state=server.status,
    )
