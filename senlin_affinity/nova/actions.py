"""What Nova requires of a server whose host an action chooses, and the hosts that it considers.

Example::

    resize = ServerAction(Action.RESIZE, server, flavor=big)
    obstacle(resize, cloud, settings)      Verdict.rejected('move.status', ...), or None
    request_of(resize, cloud, settings)    a Request for one server, and the cloud without its host

* The rules of migrations and evacuations are those of :mod:`~senlin_affinity.nova.moves`.
* A resize is a cold migration with another flavor. If nova.conf allows it
  (``allow_resize_to_same_host``), the own host counts, too, and the server's usage is held there.
* An unshelve is a request for a server without a host, which may be on any. One that was shelved,
  but not offloaded, starts on its host, and nova-scheduler is not asked.
* A rebuild with another image considers only the own host. nova-scheduler asks Placement nothing,
  and runs only the filters that read the image (:data:`OF_REBUILD`); nova-conductor compares the
  traits that the image requires with those of the host, which it reads every five minutes
  (``resource_provider_association_refresh``). For the same image, neither is asked.
* A resize keeps the image, so nova-api requires its memory of the new flavor, and no smaller disk.

Source: nova/compute/api.py, nova/conductor/manager.py, nova/scheduler/host_manager.py, and
``RUN_ON_REBUILD`` of nova/scheduler/filters, of Nova 34.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.nova import moves
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES

SAME_HOST = Option(
    'allow_resize_to_same_host',
    False,
    'Whether a resize may keep the server on its host. Use the value in section [DEFAULT] of '
    'nova.conf.',
    nova='DEFAULT',
)


class Action(enum.Enum):
    """An action for which Nova chooses a host. The values are public (options and JSON)."""

    RESIZE = 'resize'
    MIGRATE = 'migrate'
    LIVE_MIGRATE = 'live-migrate'
    EVACUATE = 'evacuate'
    UNSHELVE = 'unshelve'
    REBUILD = 'rebuild'

    @property
    def noun(self) -> str:
        """Return the action as a noun, such as 'live migration'."""
        return _NOUNS.get(self, self.value)


_NOUNS: Mapping[Action, str] = {
    Action.MIGRATE: 'cold migration',
    Action.LIVE_MIGRATE: 'live migration',
    Action.EVACUATE: 'evacuation',
}
_KINDS: Mapping[Action, moves.Kind] = {
    Action.MIGRATE: moves.COLD,
    Action.LIVE_MIGRATE: moves.LIVE,
    Action.EVACUATE: moves.EVACUATE,
}
#: The statuses of a shelved server that is still on its host, and of one that is not.
_SHELVED, _OFFLOADED = 'SHELVED', 'SHELVED_OFFLOADED'
#: The statuses from which nova-api accepts the other actions.
_STATUSES: Mapping[Action, tuple[str, ...]] = {
    Action.RESIZE: ('ACTIVE', 'SHUTOFF'),
    Action.UNSHELVE: (_SHELVED, _OFFLOADED),
    Action.REBUILD: ('ACTIVE', 'SHUTOFF', 'ERROR'),
}
#: The names of the constraints that a rebuild must satisfy.
OF_REBUILD = frozenset(
    ('image', 'image_aggregates', 'image_hypervisor', 'isolated_hosts', 'traits')
)
#: The image properties and extra specs that give a server a NUMA topology.
_NUMA = ('numa', 'cpu_policy', 'cpu_thread_policy', 'mem_page_size', 'emulator_threads_policy')
#: What is not known of a flavor with the name and sizes of the current one.
_REPLACED = 'whether the flavor was created anew: Nova rejects a resize to the same one'
#: The sentences of the codes of :func:`obstacle`.
REASONS: Mapping[str, Reason] = {
    **moves.REASONS,
    'move.own_host': Reason('{server} is on {host} already', advice='name another host'),
    'move.image_traits': Reason('the image requires {traits}, which the flavor forbids'),
    'move.same_flavor': Reason('{server} has the flavor {flavor} already', is_state=False),
    'move.min_ram': Reason(
        'the image of {server} requires {min_ram} MiB of memory, and flavor {flavor} has {ram}',
        is_state=False,
    ),
    'move.smaller_disk': Reason(
        'the disk of {server} has {now} GiB, that of flavor {flavor} {new} GiB, and Nova shrinks '
        'no disk',
        is_state=False,
    ),
}


@dataclass(frozen=True)
class ServerAction:
    """An action on a server.

    ``flavor`` is the new one of a resize (None: unknown), ``image`` the new one of a rebuild.
    """

    action: Action
    server: Server
    flavor: Flavor | None = None
    image: Image | None = None

    @property
    def stays(self) -> bool:
        """Whether the server stays on its host, and keeps what it uses there."""
        return self.action is Action.REBUILD or self.server.status == _SHELVED

    @property
    def is_scheduled(self) -> bool:
        """Whether nova-scheduler chooses the host, or checks it for a new image."""
        if self.action is Action.REBUILD:
            return self.image is None or not self.image.id or self.image.id != self.server.image
        return not self.stays

    @property
    def checked(self) -> frozenset[str]:
        """The names of the constraints that a server must satisfy which :attr:`stays`."""
        if self.action is not Action.REBUILD:
            return frozenset()
        return OF_REBUILD if self.is_scheduled else frozenset(('image',))


def obstacle(
    asked: ServerAction, cloud: Cloud, settings: Settings, host: str | None = None
) -> Verdict | None:
    """Return why Nova rejects the action for any host; None if nothing is known against it.

    :param host: the requested host, which may be no target.
    """
    action, server, kind = asked.action, asked.server, _KINDS.get(asked.action)
    if kind is not None:
        found = moves.obstacle(server, kind, cloud, settings)
        return _of_target(server, kind, cloud, host) if found is None else found
    if server.task_state is not None:
        return Verdict.rejected('move.busy', server=server.name, task_state=server.task_state)
    is_for_host = action is Action.UNSHELVE and host is not None
    accepted = (_OFFLOADED,) if is_for_host else _STATUSES[action]
    if server.status not in accepted:
        facts = {'server': server.name, 'accepted': ', '.join(accepted)}
        return Verdict.rejected('move.status', status=server.status, **facts)
    if action is Action.RESIZE:
        return _of_new_flavor(server, asked.flavor)
    is_image_new = action is Action.REBUILD and asked.is_scheduled
    if is_image_new and asked.image is not None and server.flavor is not None:
        both = _traits(asked.image.properties, 'required')
        both &= _traits(server.flavor.extra_specs, 'forbidden')
        if both:
            return Verdict.rejected('move.image_traits', traits=', '.join(sorted(both)))
    return None


def _of_target(server: Server, kind: moves.Kind, cloud: Cloud, host: str | None) -> Verdict | None:
    """Return the rejection of the requested host, whatever it offers."""
    if host is not None and host == server.host:
        return Verdict.rejected('move.own_host', server=server.name, host=host)
    hosts = cloud.hosts_by_name
    source, target = hosts.get(server.host or ''), hosts.get(host or '')
    if source is None or target is None:
        return None
    return moves.mismatch(kind, source, target)


def _of_new_flavor(server: Server, new: Flavor | None) -> Verdict | None:
    """Return the rejection of a resize by its old and new flavors, except by what hosts lack.

    nova-api compares the disk with that of the flavor of the creation or of the last rebuild, and
    the hypervisor with the current one.
    """
    now = server.flavor
    if now is None or new is None:
        return None
    facts = {'server': server.name, 'flavor': new.name}
    if _is_alike(now, new) and new.extra_specs == now.extra_specs:
        return Verdict.rejected('move.same_flavor', **facts)
    if new.ram < server.image_min_ram and moves.REBUILT_IMAGE not in server.unknown:
        more = {'min_ram': server.image_min_ram, 'ram': new.ram}
        return Verdict.rejected('move.min_ram', **facts, **more)
    is_of_volume = server.is_volume_booted or 'is_volume_booted' in server.unknown
    if new.disk < now.disk and not is_of_volume:
        return Verdict.rejected('move.smaller_disk', **facts, now=now.disk, new=new.disk)
    return None


def _is_alike(now: Flavor, new: Flavor) -> bool:
    """Whether two flavors differ at most by their ids and extra specs.

    It may be the same one, whose extra specs were changed, or one that replaces it.
    """
    same = {'id': now.id, 'is_shared': now.is_shared, 'extra_specs': now.extra_specs}
    return structs.replace(new, **same) == now


def request_of(asked: ServerAction, cloud: Cloud, settings: Settings) -> tuple[Request, Cloud]:
    """Return the request for one server, and the cloud with the hosts that Nova considers.

    For a resize, nova-api checks the flavor again, and for a rebuild, the image. A server that is
    unshelved does not count in its group.
    """
    action, server = asked.action, asked.server
    if action is Action.RESIZE:
        server = structs.replace(server, flavor=asked.flavor)
    request = moves.request_of(server, cloud, settings)
    if action is Action.REBUILD:
        return _rebuilt(request, asked), _only(cloud, lambda host: host.host == server.host)
    if asked.stays:
        return request, _only(cloud, lambda host: host.host == server.host)
    if action is Action.UNSHELVE:
        group = request.server_group
        others = None if group is None else group.without({server.id})
        return replace(request, server_group=others), cloud
    if action is Action.RESIZE:
        request = _checking(request, 'flavor', settings)
        if settings.value(SAME_HOST):
            return request, cloud
    source = cloud.hosts_by_name.get(server.host or '')
    kind = _KINDS.get(action, moves.COLD)

    def is_considered(host: Host) -> bool:
        if host.host == server.host:
            return False
        return source is None or moves.mismatch(kind, source, host) is None

    return request, _only(cloud, is_considered)


def unchecked(asked: ServerAction) -> tuple[str, ...]:
    """Return what nova-scheduler does not decide, or this module does not know, as phrases."""
    kind, server = _KINDS.get(asked.action), asked.server
    if kind is not None:
        return (*moves.unchecked(server, kind), *moves.caveats(server, kind))
    if asked.action is not Action.REBUILD:
        now, new = server.flavor, asked.flavor
        is_open = now is not None and new is not None and _is_alike(now, new)
        return (*((_REPLACED,) * is_open), *moves.caveats(server, moves.COLD))
    is_checked = asked.is_scheduled and _may_change_numa(asked)
    return ('the NUMA topology, which the image must not change',) * is_checked


def _rebuilt(request: Request, asked: ServerAction) -> Request:
    """Return the request with the new image, without what Nova asks of Placement."""
    request = _checking(request, 'image', replace(request.settings, waived=frozenset()))
    flavor, settings = request.flavor, request.settings
    if flavor is not None:
        specs = {key: each for key, each in flavor.extra_specs.items() if not _is_trait(key)}
        flavor = structs.replace(flavor, extra_specs=specs)
    off = {option.key: False for option in (IMAGE_TYPES, IMAGE_METADATA)}
    settings = replace(settings, options={**settings.options, **off})
    return replace(request, flavor=flavor, image=asked.image, settings=settings, is_host_named=True)


def _checking(request: Request, name: str, settings: Settings) -> Request:
    """Return the request with a constraint that the moves waive."""
    waived = request.settings.waived - {name} | settings.waived
    return replace(request, settings=replace(request.settings, waived=waived))


def _only(cloud: Cloud, is_considered: Callable[[Host], bool]) -> Cloud:
    """Return the cloud with the hosts that Nova considers; unknown hosts stay."""
    if cloud.hosts is None:
        return cloud
    return structs.replace(cloud, hosts=tuple(filter(is_considered, cloud.hosts)))


def _may_change_numa(asked: ServerAction) -> bool:
    before, after = asked.server.image_properties, asked.image
    keys = {*before, *(() if after is None else after.properties)}
    return any(key.startswith('hw_') and key.removeprefix('hw_').startswith(_NUMA) for key in keys)


def _is_trait(key: str) -> bool:
    return key.startswith('trait') and ':' in key


def _traits(values: Mapping[str, str], state: str) -> frozenset[str]:
    """Return the traits with this state: 'CUSTOM_A' of ``{'trait:CUSTOM_A': 'required'}``."""
    found = (key.partition(':')[2] for key, each in values.items() if each == state)
    return frozenset(filter(None, found))
