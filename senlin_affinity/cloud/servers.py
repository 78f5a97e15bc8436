"""Fetch the servers of hosts, of all projects, as an administrator.

``GET /servers/detail?all_tenants=1``, in pages: with ``host=`` for up to :data:`MOST_NAMED` hosts,
otherwise every server. No request is sent per server. Placement's allocations are read by provider:
two requests for each drained host (its provider, the allocations), and for nested providers one
more, and one for each other provider of the tree.

Example::

    of_hosts(compute, ['cmp-7'])         {'cmp-7': (Server(...), ...)}

Units: memory in MiB, disk in GiB.

Raises: CloudError, also for a user who may not list the servers of all projects.

Source: see :mod:`senlin_affinity.model.server`; the embedded flavor from microversion 2.47,
``pinned_availability_zone`` from 2.96, the standard image properties from 2.98, ``scheduler_hints``
from 2.100. A list of servers does not show their groups, which
list their members instead.

Nova requests the amounts of the flavor when a server moves, whatever Placement has allocated for it
now, and those of its ports. So an allocation replaces an unknown flavor, and adds the resource
classes of ports; any other difference is only named (``Server.allocated``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from senlin_affinity.cloud.host_use import tree_of
from senlin_affinity.cloud.paging import by_marker, list_of, reading
from senlin_affinity.cloud.providers import TREES, uses_of
from senlin_affinity.cloud.rest import Microversion, OperatorRest
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, VCPU, Flavor, Group
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from senlin_affinity.model.server import Server
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.demand import demand

#: The microversion from which a server shows every field.
NEWEST: Microversion = (2, 100)
ZONE, PINNED_ZONE = 'OS-EXT-AZ:availability_zone', 'pinned_availability_zone'
HINTS, GROUP = 'scheduler_hints', 'group'
_EMBEDDED = frozenset(('original_name', 'extra_specs'))


def embedded_flavor(embedded: Mapping[str, Any]) -> Flavor | None:
    """Return the embedded flavor, its name as id; None below 2.47 or without ``extra_specs``."""
    if not embedded.keys() >= _EMBEDDED:
        return None
    name = str(embedded['original_name'])
    keys = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
    vcpus, ram, disk, ephemeral, swap = (int(embedded[key] or 0) for key in keys)
    specs = {str(key): str(value) for key, value in embedded['extra_specs'].items()}
    return Flavor(name, name, vcpus, ram, disk, ephemeral, swap, specs)


def hints_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scheduler hints with ``group``: ``{'group': 'g', 'different_host': ['a', 'b']}``.

    Nova returns every hint as a list, also one that was no list.
    """
    known = (body.get(HINTS) or {}).items()
    return {key: each[0] if len(each) == 1 else each for key, each in known}


def is_volume_booted(body: Mapping[str, Any]) -> bool:
    """Check whether the root disk is a volume."""
    return body.get('image') == ''


#: For more hosts, every server of the cloud is listed.
MOST_NAMED = 10
_SERVERS, _ALLOCATIONS = 'list the servers of all projects', "read the servers' allocations"
_HOST, _NODE = 'OS-EXT-SRV-ATTR:host', 'OS-EXT-SRV-ATTR:hypervisor_hostname'
_TASK, _VOLUMES = 'OS-EXT-STS:task_state', 'os-extended-volumes:volumes_attached'
#: Only ports request these resource classes.
_OF_PORTS = ('NET_BW_', 'NET_PACKET_RATE_')
_RESOURCES = 'resources:'


def of_hosts(
    compute: OperatorRest, names: Collection[str] | None, cloud: Cloud
) -> dict[str, tuple[Server, ...]]:
    """Fetch the servers of these service hosts, sorted by name; None: of all hosts.

    A host without servers has (). Servers without a host are left out.

    :param cloud: its groups have the servers as members; its flavors replace those that this Nova
        names only; its hosts are all hosts.
    """
    reader = _Reader(cloud)
    hosts = {each.host for each in cloud.hosts or ()} if names is None else {*names}
    named = None if names is None or len(hosts) > MOST_NAMED else sorted(hosts)
    queries = [{}] if named is None else [{'host': name} for name in named]
    found: dict[str, dict[str, Server]] = {name: {} for name in hosts}
    microversion = compute.pick(NEWEST)
    for query in queries:
        every = {'all_tenants': '1', **query}
        listed = by_marker(compute, '/servers/detail', 'servers', _SERVERS, microversion, **every)
        with reading(_SERVERS):
            for body in listed:
                host = _host(body)
                if host in found:
                    server = reader.server(body, host)
                    found[host][server.id] = server
    return {
        name: tuple(sorted(servers.values(), key=lambda each: (each.name, each.id)))
        for name, servers in sorted(found.items())
    }


def with_allocations(
    placement: OperatorRest, host: Host, servers: Iterable[Server]
) -> tuple[Server, ...]:
    """Return the servers of one hypervisor with ``allocated``, and with the flavor that it implies.

    Servers of another hypervisor stay as they are.
    """
    amounts = _amounts(placement, host)
    return tuple(
        _compared(each, amounts[each.id]) if each.id in amounts else each for each in servers
    )


def server_of(body: Mapping[str, Any]) -> Server:
    """Convert the JSON of one server, which shows its groups from 2.71."""
    found = _Reader(Cloud()).server(body, body.get(_HOST) or None)
    groups = body.get('server_groups')
    return replace(found, server_group=groups[0] if groups else found.server_group)


def with_image(server: Server, image: Image) -> Server:
    """Return the server with all properties of its image, and the memory that it requires.

    Nova's properties, which are those of the request but lack traits, override Glance's.
    """
    properties = {**image.properties, **server.image_properties}
    unknown = Texts(name for name in server.unknown if name != 'image_properties')
    own = {'image_properties': properties, 'image_min_ram': image.min_ram}
    return replace(server, **own, unknown=unknown)


class _Reader:
    """The conversion of servers, whose equal flavors become one object."""

    def __init__(self, cloud: Cloud) -> None:
        self._are_groups_known = cloud.server_groups is not None
        self._groups = cloud.server_group_ids
        self._by_id = {each.id: each for each in cloud.flavors or ()}
        self._flavors: dict[str, Flavor | None] = {}

    def server(self, body: Mapping[str, Any], host: str | None) -> Server:
        """Convert the JSON of a server."""
        hints, identity = hints_of(body), str(body['id'])
        hinted = hints.pop(GROUP, None)
        image = body.get('image') or {}
        return Server(
            identity,
            str(body['name']),
            str(body['status']),
            host=host,
            hypervisor_hostname=body.get(_NODE),
            task_state=body.get(_TASK),
            project_id=body.get('tenant_id'),
            user_id=body.get('user_id'),
            flavor=self._flavor(body.get('flavor') or {}),
            availability_zone=body.get(ZONE) or None,
            pinned_zone=body.get(PINNED_ZONE) or None,
            hints=hints,
            server_group=self._groups.get(identity, hinted),
            image=image.get('id'),
            image_properties={
                str(key): str(value) for key, value in (image.get('properties') or {}).items()
            },
            is_volume_booted=is_volume_booted(body),
            is_locked=bool(body.get('locked')),
            attached=len(body.get(_VOLUMES) or ()),
            unknown=self._unknown(body),
        )

    def _flavor(self, embedded: Mapping[str, Any]) -> Flavor | None:
        """Return the embedded flavor; below 2.47, the cloud's flavor with its id."""
        key = repr(embedded)
        if key not in self._flavors:
            known = self._by_id.get(str(embedded.get('id')))
            self._flavors[key] = embedded_flavor(embedded) or known
        return self._flavors[key]

    def _unknown(self, body: Mapping[str, Any]) -> Texts:
        """Return the names of the fields of Server that the answer lacks.

        The image properties of a server whose root disk is a volume are never shown.
        """
        has_hints = HINTS in body
        shown = {
            'flavor': (body.get('flavor') or {}).keys() >= _EMBEDDED,
            'task_state': _TASK in body,
            'pinned_zone': PINNED_ZONE in body,
            'hints': has_hints,
            'server_group': has_hints or self._are_groups_known,
            'image_properties': 'properties' in (body.get('image') or {}),
            'is_locked': 'locked' in body,
            'attached': _VOLUMES in body,
        }
        return Texts(name for name, is_shown in shown.items() if not is_shown)


def _host(body: Mapping[str, Any]) -> str | None:
    """Return the service host of a server; raise CloudError if the user may not read it."""
    if _HOST not in body:
        raise CloudError(f'could not {_SERVERS}: Nova does not show their hosts to this user')
    host: str | None = body[_HOST] or None
    return host


def _amounts(placement: OperatorRest, host: Host) -> dict[str, dict[str, int]]:
    """Fetch the amounts of each consumer of a host, by resource class."""
    query = {'name': host.hypervisor_hostname}
    body = placement.get('/resource_providers', _ALLOCATIONS, TREES, params=query)
    with reading(_ALLOCATIONS):
        roots = [str(each['uuid']) for each in list_of(body, 'resource_providers', _ALLOCATIONS)]
    found: dict[str, dict[str, int]] = {}
    for root in roots[:1]:
        for uuid in tree_of(placement, root) if host.is_nested else [root]:
            for consumer, own in uses_of(placement, uuid, _ALLOCATIONS).items():
                amounts = found.setdefault(consumer, {})
                for name, amount in own.items():
                    amounts[name] = amounts.get(name, 0) + amount
    return found


def _compared(server: Server, amounts: Mapping[str, int]) -> Server:
    """Return the server with its allocation, where that differs from its flavor."""
    flavor = server.flavor
    if flavor is None:
        return replace(server, allocated=amounts, flavor=_implied(amounts))
    asked = demand(flavor, server.image_properties, is_volume_booted=server.is_volume_booted)
    # A flavor that pins CPUs is requested in two ways.
    if any(_sum(groups) == amounts for groups in (asked.groups, asked.fallback)):
        return server
    of_ports = {
        f'{_RESOURCES}{name}': str(amount)
        for name, amount in sorted(amounts.items())
        if name.startswith(_OF_PORTS) and name not in asked.amounts
    }
    specs = {**flavor.extra_specs, **of_ports}
    return replace(server, allocated=amounts, flavor=replace(flavor, extra_specs=specs))


def _sum(groups: Iterable[Group]) -> Counter[str]:
    found = Counter[str]()
    for group in groups:
        found.update(group.amounts)
    return found


def _implied(amounts: Mapping[str, int]) -> Flavor:
    """Return a flavor that requests these amounts, without any name."""
    sizes = {name: amounts.get(name, 0) for name in (VCPU, MEMORY_MB, DISK_GB)}
    others = {
        f'{_RESOURCES}{name}': str(amount)
        for name, amount in sorted(amounts.items())
        if name not in sizes
    }
    # As ephemeral disk: the root disk of a volume would not count.
    vcpus, ram, ephemeral = sizes.values()
    return Flavor('', '', vcpus, ram, 0, ephemeral, extra_specs=others)
