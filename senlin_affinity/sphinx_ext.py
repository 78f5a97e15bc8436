"""Document extra specs and image properties in Sphinx, with directives and roles.

``extensions = ['senlin_affinity.sphinx_ext']`` in ``conf.py`` adds:

``.. extra-specs:: hw``
   Describes the extra specs of a namespace, including those of installed packages. The namespace
   ``no-namespace`` has the names without one; no argument means all namespaces. ``:summary:``
   lists each extra spec with the first sentence of its description.
``.. extra-spec:: hw:cpu_policy``
   Describes one extra spec by hand.
``:extra-spec:`hw:numa_cpus.0```
   Links to the definition that matches this name, from any page; without one, Sphinx warns.
``.. image-properties:: hw``, ``.. image-property:: hw_cpu_policy``, ``:image-property:`hw_pmu```
   The same for image properties.

Raises: an error of the page for an unknown namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.roles import XRefRole
from sphinx.util import rst
from sphinx.util.docutils import SphinxDirective

from senlin_affinity.extra_specs import image_properties, render
from senlin_affinity.extra_specs.base import Namespace
from senlin_affinity.extra_specs.registry import Registry, installed

SPEC, IMAGE = 'extra-spec', 'image-property'
#: By role; a name that both have is an extra spec.
_REGISTRIES: Mapping[str, Callable[[], Registry]] = {
    SPEC: installed,
    IMAGE: image_properties.registry,
}
#: The role of each directive.
_ROLES: Mapping[str, str] = {'extra-specs': SPEC, 'image-properties': IMAGE}


class Definitions(SphinxDirective):
    """The directives ``extra-specs`` and ``image-properties``, for one namespace or all."""

    optional_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {'summary': directives.flag}

    def run(self) -> list[nodes.Node]:
        """Generate reStructuredText, and return it as parsed nodes."""
        role = _ROLES[self.name]
        found = {render.slug(each): each for each in render.namespaces(_REGISTRIES[role]())}
        asked = self.arguments or [*found]
        if asked[0] not in found:
            raise self.error(f'unknown namespace: {asked[0]} (namespaces: {", ".join(found)})')
        write = _summary if 'summary' in self.options else _descriptions
        lines = (line for name in asked for line in write(found[name], role))
        return list(self.parse_text_to_nodes('\n'.join(lines)))


class DefinitionRole(XRefRole):
    """The roles ``extra-spec`` and ``image-property``, for any name that a definition matches."""

    def process_link(
        self, env: Any, refnode: Any, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Return the title, and the name of the definition, which may contain a placeholder."""
        return title, _target(self.reftype, target) or target


def _target(role: str, name: str) -> str | None:
    """Return the name of the definition that has or matches a name; None without one."""
    registry = _REGISTRIES[role]()
    found = registry.find(name) or next((x for x in registry.validators if x.name == name), None)
    return None if found is None else found.name


def _refer(name: str) -> str:
    """Return a link to a definition of either kind; a literal if there is none."""
    links = (f':{role}:`{name}`' for role in _REGISTRIES if _target(role, name))
    return next(links, render.literal(name))


def _is_left_out(app: Sphinx, _domain: Any, node: Any) -> bool | None:
    """Accept a link to a known definition if the manual describes none of its kind."""
    role, described = node['reftype'], {kind for kind, _name in app.env.domains['std'].objects}
    is_other = role not in _REGISTRIES or role in described
    return None if is_other or _target(role, node['reftarget']) is None else True


def _descriptions(namespace: Namespace, role: str) -> Iterator[str]:
    yield from (namespace.summary, '')
    for validator in render.ordered(namespace):
        lines = (f'   {line}'.rstrip() for line in render.body(validator, _refer))
        yield from (f'.. {role}:: {validator.name}', '', *lines, '')


def _summary(namespace: Namespace, role: str) -> Iterator[str]:
    for validator in render.ordered(namespace):
        words = render.plain(validator.description).partition('. ')[0].rstrip('.')
        yield f'* :{role}:`{validator.name}`: {rst.escape(words)}'
    yield ''


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the roles with Sphinx."""
    for directive, name in _ROLES.items():
        words = name.replace('-', ' ')
        app.add_directive(directive, Definitions)
        app.add_object_type(name, name, f'pair: %s; {words}', objname=words)
        role = DefinitionRole(warn_dangling=True, innernodeclass=nodes.literal)
        app.add_role_to_domain('std', name, role, override=True)
    app.connect('warn-missing-reference', _is_left_out)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
