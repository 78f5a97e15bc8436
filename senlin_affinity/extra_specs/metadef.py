"""Definitions of extra specs as namespaces of Glance's metadata definition catalogue.

Shapes, as Glance's API and ``glance-manage db_load_metadefs`` take them::

    {"namespace": "OS::Compute::ExtraSpecs::hw", "display_name": "...", "visibility": "public",
     "resource_type_associations": [{"name": "OS::Nova::Flavor", "prefix": "hw:"}],
     "properties": {"cpu_policy": {"title": "hw:cpu_policy", "type": "string", "enum": [...]}}}

Units: names have 80 characters at most, the description of a namespace 500. The same definitions
give the same text, to the byte.

A property has one name: a placeholder that may be empty (the group of ``trait{group}:...``) is left
out of it, and a definition with any other placeholder is not exported.

Errors: InvalidSpec for a name that is too long for Glance.

Source: document 004; Glance's schema of a namespace. Nova never wrote an exporter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.extra_specs.base import PLACEHOLDER, ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.render import ordered, plain

PREFIX = 'OS::Compute::ExtraSpecs'
LONGEST_NAME = 80
LONGEST_DESCRIPTION = 500

_TYPES: Mapping[type, str] = {int: 'integer', bool: 'boolean', str: 'string'}
#: What Python's regular expressions have, and those of JSON schema (ECMA 262) have not.
_PYTHON_ONLY = re.compile(r'\(\?(?:P[<=>]|<[!=]|#|\(|[aiLmsux-])|\\[AZ]|[*+?}]\+')


def namespace(source: Namespace) -> dict[str, Any]:
    """One namespace of the catalogue; its ``properties`` may be empty."""
    properties = {}
    for validator in ordered(source):
        name = exported_name(validator)
        if name is not None:
            key = name.partition(':')[2] if source.name else name
            properties[_short(key, validator.name)] = _property(name, validator)
    prefix = {'prefix': _short(f'{source.name}:', source.name)} if source.name else {}
    return {
        'namespace': _short(f'{PREFIX}::{source.name}' if source.name else PREFIX, source.name),
        'display_name': _cut(plain(source.title), LONGEST_NAME),
        'description': _cut(plain(source.summary), LONGEST_DESCRIPTION),
        'visibility': 'public',
        'protected': True,
        'resource_type_associations': [{'name': 'OS::Nova::Flavor', **prefix}],
        'properties': properties,
    }


def exported_name(validator: ExtraSpecValidator) -> str | None:
    """The one name that a definition has in the catalogue; None: it has too many."""
    has_one = all(re.fullmatch(parameter.pattern, '') for parameter in validator.parameters)
    return PLACEHOLDER.sub('', validator.name) if has_one else None


def text(exported: object) -> str:
    """What is exported, as a file's text."""
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
        # Here the whole value must match, there any part of it would do.
        'pattern': f'^(?:{value.pattern})$' if is_portable else None,
    }
    return {key: each for key, each in found.items() if each is not None}


def _description(validator: ExtraSpecValidator) -> str:
    parts = [plain(validator.description)]
    if validator.value.description:
        parts.append(f'Value: {plain(validator.value.description)}')
    if validator.image_property:
        parts.append(f'Image property: {validator.image_property}.')
    if validator.drivers:
        parts.append(f'Virt drivers: {", ".join(validator.drivers)}.')
    if validator.depends_on:
        parts.append(f'Needs: {", ".join(validator.depends_on)}.')
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
