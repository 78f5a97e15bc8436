"""What the policy reads of a cluster's profile: its type, flavor, and the hinted server group.

Shapes::

    {'type': 'os.nova.server', 'version': '1.0',
     'properties': {'flavor': 'm1.tiny', 'scheduler_hints': {'group': 'XYZ-ABCD'}}}

Source: document 003, S1; Senlin keeps the hints under ``properties``, the document's wording has
them beside it: both places are read, the real one first (Q3-5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senlin_affinity.core.errors import InvalidSpec

APPLICABLE = 'os.nova.server-1.0'


def group_hint(spec: Mapping[str, Any]) -> str | None:
    """The server group that a profile's spec names; None for none, or an empty one.

    A list of one, which Nova takes, is that one.
    """
    for place in (spec.get('properties'), spec):
        hints = place.get('scheduler_hints') if isinstance(place, Mapping) else None
        group = hints.get('group') if isinstance(hints, Mapping) else None
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
    properties = spec.get('properties')
    name = properties.get('flavor') if isinstance(properties, Mapping) else None
    return None if name is None or name == '' else str(name)


def check_applicable(spec: object) -> Mapping[str, Any]:
    """The spec, if its profile type is one that the policy handles (R3-02)."""
    if not isinstance(spec, Mapping) or 'type' not in spec or 'version' not in spec:
        raise InvalidSpec('a profile spec must be a mapping with type, version, properties')
    kind = f'{spec["type"]}-{spec["version"]}'
    if kind != APPLICABLE:
        raise InvalidSpec(f'Policy not applicable on profile type: {kind}', 'type')
    return spec
