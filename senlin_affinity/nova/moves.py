"""Decide what Nova requires of a server that moves to another host, and request that host.

A *move* is a live migration, a cold migration or an evacuation of a server. It keeps the server's
flavor, group, zone and hints. nova-api decides first (the state of the server, devices), then
nova-conductor (whether the hosts are up, PCI devices, hypervisors), nova-scheduler (a request like
that of a new server) and nova-compute (the late check of the group).

Example::

    obstacle(server, LIVE, cloud, settings)      Verdict.rejected('move.status', ...), or None
    request_of(server, cloud, settings)          a Request for one server on another host

* A locked server moves: an administrator overrides the lock.
* Filters run also for a host that the move names. Nova ignores the source, and a host that was
  requested at the creation. It counts no quota, and checks no flavor and image again.
* Anti-affinity does not count the server itself. **Affinity does**: its group has the source among
  its hosts, so a server leaves its host only for a host where another member is.
* Nova rejects every move of a group whose filter the scheduler does not run.
* The zone of the request is the pinned zone, never ``default_schedule_zone``.
* Both ends are allocated: until a live migration has ended, and until a cold one is confirmed. A
  sharing provider is then charged twice.
* A live migration does not tell nova-scheduler about the new host: until the host's next periodic
  report (``scheduler_instance_sync_interval``), the filters of groups and of ``same_host`` do not
  see the server there, and see it on its former host. The target of an evacuation tells it.
* Nova frees nothing of a host that is down: an evacuated server is allocated on both until the
  former host is up again.
* A failed rebuild gives the server its image back, but not to the request by which it moves. No API
  shows whether a later rebuild with another image has replaced it.
* A failed evacuation leaves the server in ERROR; after a failed migration, it is as before.

What only libvirt decides is :func:`unchecked`, and what the server does not show :func:`caveats`;
neither is an obstacle. Shares, and ports with accelerators, PCI devices or vDPA, are not modelled:
nova-api shows them on request per server only.

Source: ``live_migrate``, ``resize`` and ``evacuate`` of nova/compute/api.py; nova/conductor/tasks/;
``rebuild_instance`` of nova/conductor/manager.py; ``_get_group_details`` of
nova/scheduler/utils.py;
``_validate_instance_group_policy`` of nova/compute/manager.py. Of Nova 34.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host, is_ironic
from senlin_affinity.model.numbers import TRUE
from senlin_affinity.model.request import QUOTA, Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY, ServerGroup
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.nova.effective_zone import DEFAULT_SCHEDULE_ZONE
from senlin_affinity.nova.group_policy import FILTERS

Kind = Literal['live', 'cold', 'evacuate']
LIVE: Kind = 'live'
COLD: Kind = 'cold'
EVACUATE: Kind = 'evacuate'

#: The microversion from which a pinned zone can be removed, and the first release with it.
UNPIN = '2.104'
_UNPINS = 34
#: In ``Server.unknown``: Glance does not show the traits of its image.
IMAGE_TRAITS = 'image_traits'
#: In ``Server.unknown``: a rebuild failed, and Nova moves the server by the image of the rebuild.
REBUILT_IMAGE = 'rebuilt_image'
_VERIFY_RESIZE, _ERROR = 'VERIFY_RESIZE', 'ERROR'
#: The statuses in which nova-api accepts a migration, without a task.
_STATES: Mapping[Kind, tuple[str, ...]] = {
    LIVE: ('ACTIVE', 'PAUSED'),
    COLD: ('ACTIVE', 'SHUTOFF'),
}
#: The statuses that only servers have which nova-api does not evacuate. Others may come from a
#: task, with which it does.
_NEVER_EVACUATED = (
    *('BUILD', 'PAUSED', 'SUSPENDED', 'RESCUE', _VERIFY_RESIZE, 'REVERT_RESIZE'),
    *('SHELVED', 'SHELVED_OFFLOADED', 'SOFT_DELETED', 'DELETED'),
)
#: The sentences of the codes of :func:`obstacle` and :func:`mismatch`.
REASONS: Mapping[str, Reason] = {
    'move.no_host': Reason('server {server} is on no host'),
    'move.busy': Reason(
        'server {server} is busy ({task_state})', advice='wait until the task has ended'
    ),
    'move.unconfirmed': Reason(
        'server {server} waits for its resize or cold migration to be confirmed',
        advice='confirm or revert it',
    ),
    'move.error': Reason(
        'server {server} is in ERROR', advice='repair it, and set its state to active'
    ),
    'move.status': Reason(
        'server {server} has the status {status}; Nova accepts {accepted}',
        advice='bring the server into one of these states',
        detail='status',
    ),
    'move.host_down': Reason(
        'the compute service of {host} is down', advice='start the service, or evacuate the server'
    ),
    'move.host_up': Reason(
        'the compute service of {host} is up, and Nova evacuates servers only from one that is '
        'down',
        advice='migrate the server',
    ),
    'move.ironic': Reason('a bare metal server does not move', is_state=False),
    'move.accelerators': Reason(
        'Nova does not migrate servers with accelerators (accel:device_profile)',
        advice='delete the server and create it again',
        is_state=False,
    ),
    'move.vtpm': Reason(
        'Nova does not move a server with this vTPM in this way',
        advice='stop the server and migrate it cold',
        is_state=False,
    ),
    'move.memory_encryption': Reason(
        'Nova does not migrate encrypted memory',
        advice='stop the server and migrate it cold',
        is_state=False,
    ),
    'move.group_filter': Reason(
        'the scheduler does not run {filter}, so Nova moves no server of group {group}',
        advice='enable the filter',
    ),
    'move.hypervisor_type': Reason(
        'of type {type}, and Nova migrates live only between hypervisors of one type',
        advice='stop the server and migrate it cold',
        detail='type',
        is_state=False,
    ),
}
#: The fields of a server on which its target depends, in words.
FIELDS: Mapping[str, str] = {
    'pinned_zone': 'the zone that the server is pinned to',
    'hints': 'the scheduler hints of the server',
    'image_properties': 'the properties of its image',
    REBUILT_IMAGE: 'the image of its failed rebuild, by which Nova still chooses its hosts',
    'is_volume_booted': 'whether it boots from a volume',
}


def may_unpin(cloud: Cloud) -> bool:
    """Check whether this Nova may remove the pinned zone of a server; True if it is unknown."""
    return cloud.nova_release is None or cloud.nova_release >= _UNPINS


def kind_of(server: Server) -> Kind:
    """Return how to migrate the server: live if it runs or is paused, else cold."""
    return LIVE if server.status in _STATES[LIVE] else COLD


def obstacle(server: Server, kind: Kind, cloud: Cloud, settings: Settings) -> Verdict | None:
    """Return why Nova rejects this move to any host; None if nothing is known against it.

    :param cloud: shows the host and the group of the server.
    :param settings: name the enabled filters.
    """
    if server.host is None:
        return Verdict.rejected('move.no_host', server=server.name)
    found = (
        _of_state(server, kind),
        _of_devices(server, kind),
        _of_host(server, kind, cloud),
        _of_group(server, cloud, settings),
    )
    # A rejection is false.
    return next((each for each in found if each is not None), None)


def _of_state(server: Server, kind: Kind) -> Verdict | None:
    """Return the rejection because of the status or the task."""
    if kind == EVACUATE:
        is_accepted = server.status not in _NEVER_EVACUATED
        accepted: tuple[str, ...] = ('ACTIVE', 'SHUTOFF', _ERROR)
    else:
        if server.task_state is not None:
            return Verdict.rejected('move.busy', server=server.name, task_state=server.task_state)
        accepted = _STATES[kind]
        is_accepted = server.status in accepted
    if is_accepted:
        return None
    if server.status == _VERIFY_RESIZE:
        return Verdict.rejected('move.unconfirmed', server=server.name)
    if server.status == _ERROR:
        return Verdict.rejected('move.error', server=server.name)
    words = ', '.join(accepted)
    return Verdict.rejected('move.status', server=server.name, status=server.status, accepted=words)


def _of_devices(server: Server, kind: Kind) -> Verdict | None:
    """Return the rejection because of what the flavor and the image request."""
    specs = {} if server.flavor is None else server.flavor.extra_specs
    image = server.image_properties
    if kind != EVACUATE and specs.get('accel:device_profile'):
        return Verdict.rejected('move.accelerators')
    has_vtpm = 'hw:tpm_version' in specs or 'hw_tpm_version' in image
    # Nova 33 and later migrate these live, whose secret the host keeps.
    is_movable = kind == LIVE and specs.get('hw:tpm_secret_security') == 'host'
    if has_vtpm and kind != COLD and not is_movable:
        return Verdict.rejected('move.vtpm')
    encryption = specs.get('hw:mem_encryption', ''), image.get('hw_mem_encryption', '')
    if kind == LIVE and any(str(value).strip().lower() in TRUE for value in encryption):
        return Verdict.rejected('move.memory_encryption')
    return None


def _of_host(server: Server, kind: Kind, cloud: Cloud) -> Verdict | None:
    """Return the rejection because of the host that the server is on."""
    host = cloud.hosts_by_name.get(server.host or '')
    if host is None:
        return None
    if is_ironic(host.hypervisor_type):
        return Verdict.rejected('move.ironic')
    if host.up == (kind == EVACUATE):
        return Verdict.rejected('move.host_up' if host.up else 'move.host_down', host=host.host)
    return None


def _of_group(server: Server, cloud: Cloud, settings: Settings) -> Verdict | None:
    """Return the rejection because the filter of the group's policy does not run."""
    group = _group(server, cloud)
    name = None if group is None else FILTERS.get(group.policy)
    if group is None or name in (None, *settings.enabled_filters):
        return None
    return Verdict.rejected('move.group_filter', filter=name, group=group.name)


def mismatch(kind: Kind, source: Host, target: Host) -> Verdict | None:
    """Return why nova-conductor rejects this target of a live migration, whatever else it offers.

    An unknown type of a hypervisor ('') rejects nothing.
    """
    types = source.hypervisor_type, target.hypervisor_type
    if kind != LIVE or '' in types or types[0] == types[1]:
        return None
    return Verdict.rejected('move.hypervisor_type', type=target.hypervisor_type)


def request_of(server: Server, cloud: Cloud, settings: Settings) -> Request:
    """Return the request for one server on another host, which is that of any kind of move.

    The cloud of the request must not offer the source, which Nova ignores.
    """
    group = _group(server, cloud)
    if group is not None and group.policy != AFFINITY:
        group = group.without({server.id})
    is_hidden = not {'image_properties', REBUILT_IMAGE}.isdisjoint(server.unknown)
    image = None if is_hidden else server.image_properties
    options = {**settings.options, DEFAULT_SCHEDULE_ZONE.key: None}
    # nova-api checks the flavor and the image only when it creates a server.
    waived = settings.waived | {QUOTA, 'flavor', 'image'}
    return Request(
        1,
        server.flavor,
        group,
        unknown_flavor=None if server.flavor is not None else '?',
        unknown_group=server.server_group if group is None else None,
        availability_zone=server.pinned_zone,
        image_properties=image,
        is_volume_booted=server.is_volume_booted,
        scheduler_hints=server.hints,
        project_id=server.project_id,
        user_id=server.user_id,
        settings=replace(settings, options=options, waived=waived),
    )


def _group(server: Server, cloud: Cloud) -> ServerGroup | None:
    return cloud.server_groups_by_id.get(server.server_group or '')


def unchecked(server: Server, kind: Kind) -> tuple[str, ...]:
    """Return what only the target's hypervisor decides, or what no service shows any more."""
    found = ('CPU model and hypervisor version',) if kind == LIVE else ()
    if IMAGE_TRAITS in server.unknown:
        return (*found, 'traits that its image required, which Glance does not show any more')
    is_hidden = server.is_volume_booted and 'image_properties' in server.unknown
    return (*found, 'the image of its volume') if is_hidden else found


def caveats(server: Server, kind: Kind) -> tuple[str, ...]:
    """Return why Nova may reject a target although it seems to fit: what the server hides.

    A PCI alias allows live migration only if nova.conf says so, from Nova 31 on.
    """
    specs = {} if server.flavor is None else server.flavor.extra_specs
    has_alias = kind == LIVE and bool(specs.get('pci_passthrough:alias'))
    aliases = ('whether the PCI alias of its flavor is live_migratable',) if has_alias else ()
    hidden = {*server.unknown} - ({'image_properties'} if server.is_volume_booted else set())
    return (*aliases, *(words for name, words in FIELDS.items() if name in hidden))
