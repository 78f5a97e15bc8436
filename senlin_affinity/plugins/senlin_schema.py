"""The declaration of a property, in the form in which Senlin reads and shows it.

Source: ``senlin/common/schema.py`` (16.0.0); ``GET /policy-types`` shows what is made here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from senlin.common import constraints, schema

from senlin_affinity.policy import declared, properties


def converted(item: declared.Property) -> schema.PropertySchema:
    """Senlin's form of a property's declaration, which ``GET /policy-types`` shows."""
    kinds: dict[str, Callable[..., schema.PropertySchema]] = {
        'string': schema.String,
        'integer': schema.Integer,
        'boolean': schema.Boolean,
        'list': schema.List,
        'map': schema.Map,
    }
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
    return kinds[item.kind](item.description, default=item.default, **more)
