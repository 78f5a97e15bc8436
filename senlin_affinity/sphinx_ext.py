"""Document extra specs in Sphinx, with two directives and a role.

``extensions = ['senlin_affinity.sphinx_ext']`` in ``conf.py`` adds:

``.. extra-specs:: hw``
   Describes the extra specs of a namespace, including those of installed packages. The namespace
   ``no-namespace`` has the names without one; no argument means all namespaces. ``:summary:``
   lists each extra spec with the first sentence of its description.
``.. extra-spec:: hw:cpu_policy``
   Describes one extra spec by hand.
``:extra-spec:`hw:numa_cpus.0```
   Links to the definition that matches this name, from any page; without one, Sphinx warns.

Raises: an error of the page for an unknown namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.roles import XRefRole
from sphinx.util import rst
from sphinx.util.docutils import SphinxDirective

from senlin_affinity.extra_specs import render
from senlin_affinity.extra_specs.base import Namespace
from senlin_affinity.extra_specs.registry import installed

ROLE = 'extra-spec'


class ExtraSpecs(SphinxDirective):
    """The directive ``extra-specs``, which describes one namespace or all."""

    optional_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {'summary': directives.flag}

    def run(self) -> list[nodes.Node]:
        """Generate reStructuredText, and return it as parsed nodes."""
        found = {render.slug(each): each for each in render.namespaces(installed())}
        asked = self.arguments or [*found]
        if asked[0] not in found:
            raise self.error(f'there is no namespace {asked[0]}; there are {", ".join(found)}')
        write = _summary if 'summary' in self.options else _descriptions
        lines = (line for name in asked for line in write(found[name]))
        return list(self.parse_text_to_nodes('\n'.join(lines)))


class ExtraSpecRole(XRefRole):
    """The role ``extra-spec``, which links any name that a definition matches."""

    def process_link(
        self, env: Any, refnode: Any, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Return the title, and the name of the definition, which may contain a placeholder."""
        validator = installed().find(target)
        return title, target if validator is None else validator.name


def _refer(name: str) -> str:
    return f':{ROLE}:`{name}`'


def _descriptions(namespace: Namespace) -> Iterator[str]:
    yield from (namespace.summary, '')
    for validator in render.ordered(namespace):
        lines = (f'   {line}'.rstrip() for line in render.body(validator, _refer))
        yield from (f'.. {ROLE}:: {validator.name}', '', *lines, '')


def _summary(namespace: Namespace) -> Iterator[str]:
    for validator in render.ordered(namespace):
        words = render.plain(validator.description).partition('. ')[0].rstrip('.')
        yield f'* {_refer(validator.name)}: {rst.escape(words)}'
    yield ''


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the role with Sphinx."""
    app.add_directive('extra-specs', ExtraSpecs)
    app.add_object_type(ROLE, ROLE, 'pair: %s; extra spec', objname='extra spec')
    role = ExtraSpecRole(warn_dangling=True, innernodeclass=nodes.literal)
    app.add_role_to_domain('std', ROLE, role, override=True)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
