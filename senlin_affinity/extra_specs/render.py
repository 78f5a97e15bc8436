"""Render definitions as pages in reStructuredText, also for the Sphinx extension.

Example::

    ``hw:cpu_policy``
        How guest CPUs are placed on the CPUs of the host.

        :Value: one of shared, dedicated, mixed
        :Image property: ``hw_cpu_policy``
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from senlin_affinity.extra_specs.base import IMAGE_PROPERTY, ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.registry import Registry, own

NO_NAMESPACE = 'no-namespace'
#: A role (:doc:`text`), or ``literal``, *emphasis* and **strong** text.
_MARKUP = re.compile(r':[\w:+.-]+:`([^`]+)`|``(.+?)``|\*\*(.+?)\*\*|\*(?=\S)(.+?)(?<=\S)\*')


def namespaces(registry: Registry) -> tuple[Namespace, ...]:
    """Return each namespace once, sorted by name, with the definitions of plugins."""
    found = {namespace.name: namespace for namespace in registry.namespaces}
    for validator in registry.added:
        name = validator.namespace
        new = Namespace(name, name, 'Extra specs that an installed package defines.', ())
        known = found.get(name, new)
        found[name] = replace(known, validators=(*known.validators, validator))
    return tuple(found[name] for name in sorted(found))


def slug(namespace: Namespace) -> str:
    """Return the name of a namespace for file names and the command line."""
    return namespace.name or NO_NAMESPACE


def ordered(namespace: Namespace) -> tuple[ExtraSpecValidator, ...]:
    """Return the definitions of a namespace, sorted by name."""
    return tuple(sorted(namespace.validators, key=lambda validator: validator.name))


def page(namespace: Namespace) -> str:
    """Return a page that docutils renders without extensions."""
    lines = [namespace.title, '=' * len(namespace.title), '', *namespace.summary.splitlines()]
    for validator in ordered(namespace):
        lines += ['', f'``{validator.name}``', *_indented(body(validator))]
    return '\n'.join(lines) + '\n'


def literal(name: str) -> str:
    """Return a name as a literal."""
    return f'``{name}``'


def body(validator: ExtraSpecValidator, refer_to: Callable[[str], str] = literal) -> list[str]:
    """Return the lines of a definition; ``refer_to`` formats the name of another one."""
    lines = textwrap.dedent(validator.description).strip().splitlines()
    for title, text in _fields(validator, refer_to):
        if lines[-1] and not lines[-1].startswith(':'):
            lines.append('')
        first, *more = text.splitlines()
        lines += [f':{title}: {first}', *_indented(more)]
    return lines


def _fields(
    validator: ExtraSpecValidator, refer_to: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    yield 'Value', value(validator)
    for parameter in validator.parameters:
        text = f'{parameter.description.strip()} ' if parameter.description.strip() else ''
        yield f'Parameter {{{parameter.name}}}', f'{text}(of the form {literal(parameter.pattern)})'
    yield from relations(validator, refer_to)
    if validator.deprecated:
        instead = f'; use {refer_to(validator.replaced_by)}' if validator.replaced_by else ''
        yield 'Status', f'deprecated{instead}'


def relations(
    validator: ExtraSpecValidator, refer_to: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield the counterparts of a definition, its virt drivers and what it needs, if any."""
    is_image_property = validator.kind == IMAGE_PROPERTY
    title = 'Extra spec' if is_image_property else 'Image property'
    for what, names in (
        (title, map(refer_to, counterparts(validator))),
        ('Virt drivers', validator.drivers),
        ('Needs', map(refer_to, validator.depends_on)),
    ):
        if words := ', '.join(names):
            yield what, words


def counterparts(validator: ExtraSpecValidator) -> tuple[str, ...]:
    """Return the equivalent image property of an extra spec, or the extra specs of a property."""
    if validator.kind == IMAGE_PROPERTY:
        specs = own().validators
        return tuple(each.name for each in specs if each.image_property == validator.name)
    return (validator.image_property,) if validator.image_property else ()


def value(validator: ExtraSpecValidator) -> str:
    """Return a description of the allowed values."""
    wanted = validator.value
    if wanted.enum:
        kind = f'one of {", ".join(map(literal, wanted.enum))}'
    elif wanted.pattern is not None:
        kind = f'of the form {literal(wanted.pattern)}'
    else:
        kind = wanted.wanted()
    text = wanted.description.strip()
    return f'{kind}. {text}' if text else kind


def plain(text: str) -> str:
    """Return a reStructuredText as one line without markup."""
    flat = ' '.join(text.split())
    return _MARKUP.sub(lambda found: next(filter(None, found.groups())), flat)


def _indented(lines: Iterable[str]) -> list[str]:
    return [f'    {line}'.rstrip() for line in lines]
