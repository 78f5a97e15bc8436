"""A real Nova's validators in a process of their own: Senlin's options and Nova's have one name.

A line of JSON comes in for each question: the name of a function below, and its arguments; a line
of JSON goes out with the answer.
"""

import json
import re
import sys
from functools import cache

from nova.api.validation.extra_specs import aggregate_instance_extra_specs as in_tree

#: Nova's own of the name that this project's takes the place of.
REPLACED = {each.name: each for each in in_tree.EXTRA_SPEC_VALIDATORS}

from nova.api.validation.extra_specs import validators as nova  # noqa: E402
from nova.exception import ValidationError  # noqa: E402

from senlin_affinity.extra_specs.base import ExtraSpecValidator  # noqa: E402
from senlin_affinity.extra_specs.registry import Plugin, Registry, installed  # noqa: E402
from senlin_affinity.plugins.nova import extra_specs  # noqa: E402

#: Nova's validators as they are loaded, with what this project adds; and Nova's own alone.
LOADED, NAMESPACES = dict(nova.VALIDATORS), set(nova.NAMESPACES)
OURS = [name for name in LOADED if isinstance(LOADED[name], extra_specs.NovaValidator)]


def takes(name, value):
    """Does Nova, without what this project adds, take this value?"""
    return asked(lambda: nova.validate(name, value)) is None


def takes_loaded(name, value):
    """Nova's words against this value, with what this project adds; None: it takes it."""
    nova.VALIDATORS, nova.NAMESPACES = LOADED, NAMESPACES
    try:
        return asked(lambda: nova.validate(name, value))
    finally:
        leave_alone()


def limits():
    """The values that Nova's validators name, for each: enums, and the numbers around limits."""
    found = {}
    for name, validator in nova.VALIDATORS.items():
        value = validator.value
        around = [
            value[key] + step for key in ('min', 'max') if key in value for step in (-1, 0, 1)
        ]
        found[name] = [*value.get('enum', ()), *map(str, around)]
    return found


def added():
    """What this project adds to Nova."""
    return OURS


def converted(name, value):
    """Does Nova's validator of this name take this value once it is converted?"""
    return nova_converted().find(name).complaint(value) is None


@cache
def nova_converted():
    plugins = {id(plugin): plugin for plugin, _ in installed(with_nova=True).shadowed}
    return Registry(own=(), plugins=plugins.values())


def shadowed():
    """What Nova's own group defines in vain; and what it adds."""
    registry = installed(with_nova=True)
    return [each.name for _, each in registry.shadowed], [each.name for each in registry.added]


def even(number):
    if number % 2:
        raise ValueError(f'{number} is odd')


def with_a_package(name, value):
    """As takes_loaded, with a package that defines ``hw:even.{num}{x}``."""
    definition = ExtraSpecValidator(
        'hw:even.{num}{x}', 'Even.', {'type': int, 'min': 2}, check=even,
        parameters=[{'name': 'num', 'type': int}, {'name': 'x', 'pattern': 'p|q'}],
    )  # fmt: skip
    registry = Registry(plugins=[Plugin('custom', 'custom:VALIDATORS', (definition,))])
    extra_specs.installed = lambda: registry
    nova.VALIDATORS = LOADED | {each.name: each for each in extra_specs.register()}
    try:
        return asked(lambda: nova.validate(name, value))
    finally:
        leave_alone()


def asked(question):
    try:
        question()
    except ValidationError as error:
        return str(error)
    return None


def leave_alone():
    nova.VALIDATORS = {name: each for name, each in LOADED.items() if name not in OURS} | REPLACED
    nova.NAMESPACES = NAMESPACES - {'reservation'}


def main():
    # Nova has 525 patterns and Python keeps 512: each call compiles all of them, which takes 25 ms.
    re._MAXCACHE = 4096
    leave_alone()
    for line in sys.stdin:
        function, *arguments = json.loads(line)
        print(json.dumps(globals()[function](*arguments)), flush=True)  # noqa: T201


if __name__ == '__main__':
    main()
