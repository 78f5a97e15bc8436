"""Answer questions about a real Nova's validators in a separate process.

Senlin and Nova share option names. Each line of input is a JSON list: the name of a function below,
and its arguments. Each line of output is the JSON result.
"""

import json
import re
import sys
from functools import cache

from nova.api.validation.extra_specs import aggregate_instance_extra_specs as in_tree

#: Nova's own validator with the name that ours replaces.
REPLACED = {each.name: each for each in in_tree.EXTRA_SPEC_VALIDATORS}

from nova.api.openstack.compute.schemas import flavors_extraspecs  # noqa: E402
from nova.api.validation.extra_specs import validators as nova  # noqa: E402
from nova.api.validation.validators import _SchemaValidator  # noqa: E402
from nova.exception import ValidationError  # noqa: E402

from senlin_affinity.extra_specs.registry import Registry, installed  # noqa: E402
from senlin_affinity.plugins.nova import extra_specs  # noqa: E402

#: The schema of the request, which Nova checks in every microversion.
SCHEMA = _SchemaValidator(flavors_extraspecs.create)
#: Nova's validators and namespaces, with the additions of this project.
LOADED, NAMESPACES = dict(nova.VALIDATORS), set(nova.NAMESPACES)
OURS = [name for name in LOADED if isinstance(LOADED[name], extra_specs.NovaValidator)]


def takes(name, value):
    """Return whether Nova, without our additions, accepts this request for an extra spec."""
    return schema_takes(name, value) and error_of(lambda: nova.validate(name, value)) is None


def schema_takes(name, value):
    """Return whether the schema of the request accepts an extra spec."""
    return error_of(lambda: SCHEMA.validate({'extra_specs': {name: value}})) is None


def limits():
    """Return the values in the enums and around the limits of each validator."""
    found = {}
    for name, validator in nova.VALIDATORS.items():
        value = validator.value
        around = [
            value[key] + step for key in ('min', 'max') if key in value for step in (-1, 0, 1)
        ]
        found[name] = [*value.get('enum', ()), *map(str, around)]
    return found


def converted(name, value):
    """Return whether Nova's validator of this name, converted, and its schema accept this value."""
    return schema_takes(name, value) and nova_converted().find(name).complaint(value) is None


@cache
def nova_converted():
    plugins = {id(plugin): plugin for plugin, _ in installed(with_nova=True).shadowed}
    return Registry(own=(), plugins=plugins.values())


def shadowed():
    """Return the names in Nova's own group that have no effect, and the added ones."""
    registry = installed(with_nova=True)
    return [each.name for _, each in registry.shadowed], [each.name for each in registry.added]


def error_of(question):
    try:
        question()
    except ValidationError as error:
        return str(error)
    return None


def remove_additions():
    nova.VALIDATORS = {name: each for name, each in LOADED.items() if name not in OURS} | REPLACED
    nova.NAMESPACES = NAMESPACES - {'reservation'}


def main():
    # Python caches 512 patterns, and Nova has 525: each call would compile all of them in 25 ms.
    re._MAXCACHE = 4096
    remove_additions()
    for line in sys.stdin:
        function, *arguments = json.loads(line)
        print(json.dumps(globals()[function](*arguments)), flush=True)  # noqa: T201


if __name__ == '__main__':
    main()
