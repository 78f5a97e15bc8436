"""A definition of Nova's, or of a package that was written for Nova, as one of this project's.

Data flow: an object with ``name``, ``description``, ``value``, and perhaps ``parameters`` and
``deprecated`` comes in; what Nova reads of it is kept. nova is not imported.

Errors: InvalidSpec for an object that is none of this.

Source: ``nova/api/validation/extra_specs/base.py``. Where it has a pattern and an enum, only the
pattern counts, as in Nova; its name is taken literally outside the placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.extra_specs.base import ExtraSpecValidator


def converted(given: Any) -> ExtraSpecValidator:
    """The definition that was meant."""
    if isinstance(given, ExtraSpecValidator):
        return given
    name, value = getattr(given, 'name', None), getattr(given, 'value', None)
    if not isinstance(name, str) or not isinstance(value, Mapping):
        raise InvalidSpec(f'must be definitions (ExtraSpecValidator), not {given!r}')
    parameters = [
        {'pattern': each.get('pattern'), 'name': each['name']}
        | {key: each[key] for key in ('description',) if key in each}
        for each in getattr(given, 'parameters', None) or ()
        if f'{{{each["name"]}}}' in name
    ]
    return ExtraSpecValidator(
        name=name,
        description=getattr(given, 'description', None) or name,
        value=_value(value),
        parameters=parameters,
        deprecated=bool(getattr(given, 'deprecated', False)),
    )


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    kind = value.get('type')
    read = {'type': kind, 'description': value.get('description', '')}
    if kind is int:
        read |= {key: value[key] for key in ('min', 'max') if key in value}
    elif kind is str and value.get('pattern'):
        read['pattern'] = value['pattern']
    elif kind is str and 'enum' in value:
        read['enum'] = tuple(dict.fromkeys(value['enum']))
    return read
