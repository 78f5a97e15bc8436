"""What the policy reads of a cluster's profile: its type, flavor, zone, disks and hinted group.

Shapes::

    {'type': 'os.nova.server', 'version': '1.0',
     'properties': {'flavor': 'm1.tiny', 'scheduler_hints': {'group': 'XYZ-ABCD'}}}

Source: document 003 has the hints beside ``properties``, Senlin below: that is read first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.spread import ZONE, Spread

APPLICABLE = 'os.nova.server-1.0'


def group_hint(spec: Mapping[str, Any]) -> str | None:
    """The server group that a profile's spec names; None for none, or an empty one.

    A list of one, which Nova takes, is that one.
    """
    for place in (spec.get('properties'), spec):
        group = _mapping(_mapping(place).get('scheduler_hints')).get('group')
        if isinstance(group, list | tuple) and len(group) == 1:
            group = group[0]
        if isinstance(group, str) and group:
            return group
        if group:
            raise InvalidSpec(
                f'must be the name or the id of one server group, not {group!r}',
                'properties.scheduler_hints.group',
            )
    return None


def flavor(spec: Mapping[str, Any]) -> str | None:
    """The name or the id of the flavor of a profile's spec; None for none."""
    name = _properties(spec).get('flavor')
    return None if name is None or name == '' else str(name)


def availability_zone(spec: Mapping[str, Any]) -> str | None:
    """The zone of a profile's spec, without the host that may be behind it; None for none."""
    return _zone(spec).partition(':')[0] or None


def names_host(spec: Mapping[str, Any]) -> bool:
    """Does the spec name the host of its servers (``zone:host``), so that nobody chooses one?"""
    return any(_zone(spec).split(':')[1:])


def check_zone(spec: Mapping[str, Any], spreads: Iterable[Spread]) -> None:
    """Refuse a zone, or a host in it, of servers that are spread over the zones."""
    zone = _zone(spec)
    if zone and any(item.by == ZONE for item in spreads):
        raise InvalidSpec(
            f'the profile names {zone!r}, and its servers are to be spread over the zones: take '
            f'it out of the profile, or leave out the spread by {ZONE}',
            'properties.availability_zone',
        )


def zone_note(spec: Mapping[str, Any], spreads: Iterable[Spread]) -> str | None:
    """What is worth to know of servers that are spread over zones; None where they are not."""
    if not any(spread.by == ZONE for spread in spreads):
        return None
    note = 'a zone that is chosen for a server binds it for life'
    if is_volume_booted(spec):
        note += '; its volume has to be there, too, or [cinder] cross_az_attach true in nova.conf'
    return note


def image(spec: Mapping[str, Any]) -> str | None:
    """The name or the id of the image that a server is made of; None for none."""
    named = _properties(spec).get('image')
    if isinstance(named, str) and named:
        return named
    device = _boot_device(spec)
    named = device.get('uuid') if device.get('source_type') == 'image' else None
    return named if isinstance(named, str) and named else None


def is_volume_booted(spec: Mapping[str, Any]) -> bool:
    """Is the root disk in a volume, so that no host has to have room for it?"""
    mappings = _properties(spec).get('block_device_mapping')
    if isinstance(mappings, list | tuple) and mappings:
        # They have no boot_index: which of them is the root, properties of the image can say.
        return True
    device = _boot_device(spec)
    return device.get('destination_type') == 'volume' or (
        device.get('source_type') in ('volume', 'snapshot')
    )


def _zone(spec: Mapping[str, Any]) -> str:
    zone = _properties(spec).get('availability_zone')
    return zone if isinstance(zone, str) else ''


def _boot_device(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry of block_device_mapping_v2 that a server boots from."""
    devices = _properties(spec).get('block_device_mapping_v2')
    for device in devices if isinstance(devices, list | tuple) else ():
        if isinstance(device, Mapping) and str(device.get('boot_index')) == '0':
            return device
    return {}


def _properties(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(spec.get('properties'))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def check_applicable(spec: object) -> Mapping[str, Any]:
    """The spec, if its profile type is one that the policy handles."""
    if not isinstance(spec, Mapping) or 'type' not in spec or 'version' not in spec:
        raise InvalidSpec('a profile spec must be a mapping with type, version, properties')
    kind = f'{spec["type"]}-{spec["version"]}'
    if kind != APPLICABLE:
        hint = ' (this is the spec of a policy)' if kind.startswith('senlin.policy.') else ''
        raise InvalidSpec(f'Policy not applicable on profile type: {kind}{hint}', 'type')
    return spec
