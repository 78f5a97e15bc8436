"""Convert the policy's properties into Senlin's schema."""

from __future__ import annotations

from typing import Any

from senlin.common import constraints, schema

from senlin_affinity.policy import properties
from senlin_affinity.policy.schema import Property


def converted(item: Property) -> schema.PropertySchema:
    """Return Senlin's form of a property, which ``GET /policy-types`` shows."""
    more: dict[str, Any] = {}
    if item.children:
        more['schema'] = {child.name: converted(child) for child in item.children}
    if item.kind == 'list':
        one = schema.Map if item.children else schema.String
        more['schema'] = one('One of them.', **more)
    if item.allowed:
        more['constraints'] = [constraints.AllowedValues(item.allowed)]
    if item.since != properties.VERSIONS[0]:
        more['min_version'] = item.since
    kind = getattr(schema, item.kind.capitalize())
    return kind(item.description, default=item.default, **more)
