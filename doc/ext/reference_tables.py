"""Generate tables of the reference when the manual is built, with two directives.

``.. reason-codes:: quota``
   The reason codes of a constraint, from its declaration. Without an argument: those of all
   constraints, and their remedies, in a table that the reader can filter.
``.. json-schema:: schemas/plan.json``
   A table for each object that a JSON Schema defines.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import rst
from sphinx.util.docutils import SphinxDirective

from senlin_affinity.conf.constraint_plugins import load_constraints

FILTER = """
<input type="search" placeholder="Filter the codes" aria-label="Filter the codes" oninput="
  for (const row of document.querySelectorAll('table.reason-codes tbody tr'))
    row.hidden = !row.textContent.toLowerCase().includes(this.value.toLowerCase())">
"""
#: The remedies of a constraint's page: a code and its description.
REMEDY = re.compile(r'^``([^`]+)``.*\n((?:   .+\n|\n)+)', re.MULTILINE)


def table(heads, widths, rows, name=''):
    """Yield the lines of a list-table with these rows of reStructuredText."""
    yield from ('.. list-table::', '   :header-rows: 1', f'   :widths: {widths}')
    yield from (*([f'   :class: {name}'] if name else []), '')
    for row in (heads, *rows):
        for mark, cell in zip('*' + ' ' * len(row), row, strict=False):
            yield f'   {mark} - {cell}'
    yield ''


class ReasonCodes(SphinxDirective):
    """The directive ``reason-codes``."""

    optional_arguments = 1

    def run(self):
        """Return the table, and a field to filter it if it has all codes."""
        constraints = load_constraints()
        if self.arguments:
            (constraint,) = (each for each in constraints if each.name == self.arguments[0])
            heads = 'Code', 'Sentence, with its facts', 'Advice, if it rejects'
            rows = ([row[0], *row[2:4]] for row in self.codes(constraint))
            lines = table(heads, '28 42 30', rows, 'reason-codes')
            return self.parse_text_to_nodes('\n'.join(lines))
        heads = 'Code', 'Constraint', 'Sentence', 'Advice', 'Enforced by'
        rows = [row for each in constraints for row in self.codes(each)]
        text = '\n'.join(table(heads, '24 14 30 20 12', rows, 'reason-codes'))
        remedies = [row for each in constraints for row in self.remedies(each)]
        text += '\n'.join(['', '.. rubric:: Remedies', '', ''])
        heads = 'Code', 'Constraint', 'Change'
        text += '\n'.join(table(heads, '24 16 60', remedies, 'reason-codes'))
        return [nodes.raw('', FILTER, format='html'), *self.parse_text_to_nodes(text)]

    def codes(self, constraint):
        """Yield the cells of each code."""
        enforced_by = ' or '.join(f'``{each}``' for each in constraint.filters) or 'always'
        for code, reason in constraint.reasons.items():
            texts = map(rst.escape, (reason.sentence, reason.advice))
            yield f'``{code}``', link(constraint), *texts, enforced_by

    def remedies(self, constraint):
        """Yield the cells of each remedy, from the page of the constraint."""
        path = Path(self.env.srcdir, 'reference/constraints', f'{constraint.name}.rst')
        self.env.note_dependency(str(path))
        section = path.read_text(encoding='utf-8').partition('\nWhat would help\n')[2]
        own = re.split(r'\n\S.*\n=+\n', section)[0]
        for code, words in REMEDY.findall(f'{own}\n'):
            yield f'``{code}``', link(constraint), ' '.join(words.split())


def link(constraint):
    """Return a link to the page of a constraint."""
    return f':doc:`{constraint.name} </reference/constraints/{constraint.name}>`'


class JsonSchema(SphinxDirective):
    """The directive ``json-schema``."""

    required_arguments = 1

    def run(self):
        """Return a table for the document, and one for each definition."""
        name, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        schema = json.loads(Path(path).read_text(encoding='utf-8'))
        lines = []
        for title, each in (('', schema), *schema['$defs'].items()):
            prefix = f'json-{Path(path).stem}-'
            lines += [f'.. _{prefix}{title}:', '', f'.. rubric:: {title}', ''] if title else []
            lines += [*([each['description'], ''] if 'description' in each else [])]
            lines += table(('Key', 'Type', 'Meaning'), '26 30 44', rows(each, prefix))
        return self.parse_text_to_nodes('\n'.join(lines))


def rows(schema, prefix, path=''):
    """Yield the cells of each key of an object, and of the objects in it."""
    for key, each in schema.get('properties', {}).items():
        name = f'{path}{key}'
        is_needed = key in schema.get('required', ())
        meaning = rst.escape(each.get('description', ''))
        kind = type_of(each, prefix) if is_needed else f'{type_of(each, prefix)}; optional'
        yield f'``{name}``', kind, meaning
        items, dots = (each['items'], '[].') if 'items' in each else (each, '.')
        yield from rows(items, prefix, name + dots)


def type_of(schema, prefix):
    """Return the type that a schema allows."""
    if '$ref' in schema:
        name = schema['$ref'].rpartition('/')[2]
        return f':ref:`{name} <{prefix}{name}>`'
    if 'anyOf' in schema:
        return ' or '.join(type_of(each, prefix) for each in schema['anyOf'])
    if 'enum' in schema:
        return f'one of {", ".join(f"``{json.dumps(each)}``" for each in schema["enum"])}'
    types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
    names = []
    for each in types:
        if each == 'array':
            each = f'list of {type_of(schema["items"], prefix)}'
        elif each == 'object' and isinstance(schema.get('additionalProperties'), dict):
            each = f'object of {type_of(schema["additionalProperties"], prefix)} by name'
        elif each == 'integer' and 'minimum' in schema:
            each = f'integer of {schema["minimum"]} or more'
        names.append(each)
    return ' or '.join(names)


def setup(app):
    """Register the directives."""
    app.add_directive('reason-codes', ReasonCodes)
    app.add_directive('json-schema', JsonSchema)
    return {'version': '1', 'parallel_read_safe': True}
