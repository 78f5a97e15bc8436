"""Read a cluster's profile: its type, flavor, zone, disks and server group.

Example::

    {'type': 'os.nova.server', 'version': '1.0',
     'properties': {'flavor': 'm1.tiny', 'scheduler_hints': {'group': 'XYZ-ABCD'}}}

Source: "Affinity Policy V1.0" in Senlin's manual has the hints beside ``properties``. Those below,
where Senlin has them, take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.spread import ZONE, Spread

_ADDED = frozenset({'cluster_id', 'cluster_node_id', 'cluster_node_index'})
APPLICABLE = 'os.nova.server-1.0'


def group_hint(spec: Mapping[str, Any]) -> str | None:
    """Return the server group in a profile's hints, also from a list of one.

    None if it is empty or missing; raise InvalidSpec for any other value.
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


def scheduler_hints(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scheduler hints of a profile."""
    every = (_mapping(place.get('scheduler_hints')) for place in (spec, _properties(spec)))
    return {str(key): value for hints in every for key, value in hints.items()}


def flavor(spec: Mapping[str, Any]) -> str | None:
    """Return the name or id of a profile's flavor; None without one."""
    name = _properties(spec).get('flavor')
    return None if name is None or name == '' else str(name)


def availability_zone(spec: Mapping[str, Any]) -> str | None:
    """Return a profile's zone, perhaps with a host (``zone:host``); None without one."""
    zone = _properties(spec).get('availability_zone')
    return zone if isinstance(zone, str) and zone else None


def check_zone(spec: Mapping[str, Any], spreads: Iterable[Spread]) -> None:
    """Raise InvalidSpec if the profile names a zone and the spreads are over zones."""
    zone = availability_zone(spec)
    if zone and any(item.by == ZONE for item in spreads):
        raise InvalidSpec(
            f'the profile names {zone!r}, but its servers must be spread over the zones: remove '
            f'availability_zone from the profile, or the spread by {ZONE}',
            'properties.availability_zone',
        )


def zone_note(spec: Mapping[str, Any], spreads: Iterable[Spread]) -> str | None:
    """Return a note about servers that are spread over zones; None without such a spread."""
    if not any(spread.by == ZONE for spread in spreads):
        return None
    note = 'a server cannot leave the zone that the policy chooses for it'
    if is_volume_booted(spec):
        note += (
            '; its volume must be in the same zone, unless nova.conf sets [cinder] cross_az_attach'
        )
    return note


def image(spec: Mapping[str, Any]) -> str | None:
    """Return the name or id of the image, or else of that of the boot device; None without one."""
    named = _properties(spec).get('image')
    if isinstance(named, str) and named:
        return named
    device = _boot_device(spec)
    named = device.get('uuid') if device.get('source_type') == 'image' else None
    return named if isinstance(named, str) and named else None


def metadata_items(spec: Mapping[str, Any]) -> int:
    """Return the number of metadata items of a server; 0 without a profile.

    Senlin adds three items to those of the profile (``_build_metadata``).
    """
    return len(_ADDED.union(_mapping(_properties(spec).get('metadata')))) if spec else 0


def is_volume_booted(spec: Mapping[str, Any]) -> bool:
    """Return whether the root disk is a volume, which needs no disk space on the host."""
    mappings = _properties(spec).get('block_device_mapping')
    if isinstance(mappings, list | tuple) and mappings:
        # They have no boot_index: image properties may determine which of them is the root.
        return True
    device = _boot_device(spec)
    return device.get('destination_type') == 'volume' or (
        device.get('source_type') in ('volume', 'snapshot')
    )


def _boot_device(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entry of block_device_mapping_v2 with boot_index 0; {} without one."""
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
    """Return the spec of a profile; raise InvalidSpec if it is not of type os.nova.server-1.0."""
    if not isinstance(spec, Mapping) or 'type' not in spec or 'version' not in spec:
        raise InvalidSpec('a profile spec must be a mapping with type, version, properties')
    kind = f'{spec["type"]}-{spec["version"]}'
    if kind != APPLICABLE:
        hint = ' (this is the spec of a policy)' if kind.startswith('senlin.policy.') else ''
        raise InvalidSpec(f'Policy not applicable on profile type: {kind}{hint}', 'type')
    return spec
