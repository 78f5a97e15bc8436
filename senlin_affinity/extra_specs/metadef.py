"""Export definitions as namespaces of Glance's metadata definition catalogue.

Example, as Glance's API and ``glance-manage db_load_metadefs`` accept it::

    {"namespace": "OS::Compute::ExtraSpecs::hw", "display_name": "...", "visibility": "public",
     "resource_type_associations": [{"name": "OS::Nova::Flavor", "prefix": "hw:"}],
     "properties": {"cpu_policy": {"title": "hw:cpu_policy", "type": "string", "enum": [...]}}}

Image properties have namespaces of their own, for images, and no prefix. A placeholder that may be
empty (the group of ``trait{group}:...``) is removed from a name; a definition with any other
placeholder is not exported, because a property has one name.

Raises: InvalidSpec for a name that is too long for Glance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from senlin_affinity.extra_specs.base import (
    EXTRA_SPEC,
    IMAGE_PROPERTY,
    PLACEHOLDER,
    ExtraSpecValidator,
    Namespace,
)
from senlin_affinity.extra_specs.render import ordered, plain, relations
from senlin_affinity.model.errors import InvalidSpec

#: The beginning of the name of a namespace, and its resource types.
_KINDS: Mapping[str, tuple[str, tuple[Mapping[str, str], ...]]] = {
    EXTRA_SPEC: ('OS::Compute::ExtraSpecs', ({'name': 'OS::Nova::Flavor'},)),
    IMAGE_PROPERTY: (
        'OS::Compute::ImageProperties',
        (
            {'name': 'OS::Glance::Image'},
            {'name': 'OS::Cinder::Volume', 'properties_target': 'image'},
        ),
    ),
}
LONGEST_NAME = 80
LONGEST_DESCRIPTION = 500

_TYPES: Mapping[type, str] = {int: 'integer', bool: 'boolean', str: 'string'}
#: Features of Python's regular expressions that JSON schema lacks.
_PYTHON_ONLY = re.compile(r'\(\?(?:P[<=>]|<[!=]|#|\(|[aiLmsux-])|\\[AZ]|[*+?}]\+')


def namespace(source: Namespace) -> dict[str, Any]:
    """Return a namespace of the catalogue; its ``properties`` may be empty."""
    beginning, resource_types = _KINDS[source.kind]
    prefix = f'{source.name}:' if source.kind == EXTRA_SPEC and source.name else ''
    prefixed = {'prefix': _short(prefix, source.name)} if prefix else {}
    properties = {}
    for validator in ordered(source):
        if all(re.fullmatch(parameter.pattern, '') for parameter in validator.parameters):
            name = PLACEHOLDER.sub('', validator.name)
            key = _short(name.removeprefix(prefix), validator.name)
            properties[key] = _property(name, validator)
    name = f'{beginning}::{source.name}' if source.name else beginning
    return {
        'namespace': _short(name, source.name),
        'display_name': _cut(plain(source.title), LONGEST_NAME),
        'description': _cut(plain(source.summary), LONGEST_DESCRIPTION),
        'visibility': 'public',
        'protected': True,
        'resource_type_associations': [{**each, **prefixed} for each in resource_types],
        'properties': properties,
    }


def text(exported: object) -> str:
    """Return the content of a file with the exported object."""
    return json.dumps(exported, indent=4, ensure_ascii=False) + '\n'


def _property(name: str, validator: ExtraSpecValidator) -> dict[str, Any]:
    value = validator.value
    is_portable = value.pattern is not None and not _PYTHON_ONLY.search(value.pattern)
    found = {
        'title': name,
        'description': _description(validator),
        'type': _TYPES[value.type],
        'minimum': value.min,
        'maximum': value.max,
        'enum': list(value.enum) or None,
        # JSON schema searches for the pattern.
        'pattern': f'^(?:{value.pattern})$' if is_portable else None,
    }
    return {key: each for key, each in found.items() if each is not None}


def _description(validator: ExtraSpecValidator) -> str:
    parts = [plain(validator.description)]
    if validator.value.description:
        parts.append(f'Value: {plain(validator.value.description)}')
    parts += (f'{title}: {words}.' for title, words in relations(validator, str))
    if validator.deprecated:
        instead = f': use {validator.replaced_by}' if validator.replaced_by else ''
        parts.insert(0, f'Deprecated{instead}.')
    return ' '.join(parts)


def _short(name: str, of: str) -> str:
    if len(name) > LONGEST_NAME:
        raise InvalidSpec(f'{name!r} is too long for Glance: {LONGEST_NAME} characters at most', of)
    return name


def _cut(words: str, longest: int) -> str:
    return words if len(words) <= longest else f'{words[: longest - 3].rstrip()}...'
