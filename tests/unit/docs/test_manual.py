"""The manual agrees with the code: properties, reasons, options, commands, decisions."""

import ast
import configparser
import importlib
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest

from senlin_affinity import api
from senlin_affinity.conf import opts
from senlin_affinity.model.verdict import Assumption
from senlin_affinity.policy import properties
from tests.support.our_constraints import OURS, remedies_of

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / 'doc/source'


def text_of(name):
    return (SOURCE / name).read_text(encoding='utf-8')


def table(text, name):
    """Return the rows of the list-table with this ``:name:``, without heading and markup."""
    block = text.split(f':name: {name}\n', 1)[1]
    block = re.split(r'\n(?=\S)', block, maxsplit=1)[0]
    rows = []
    for line in block.splitlines():
        cell = line.strip()
        if cell.startswith('* - '):
            rows.append([cell[4:]])
        elif cell.startswith('- '):
            rows[-1].append(cell[2:])
        elif cell:
            rows[-1][-1] += f' {cell}'
    return [[cell.replace('`', '') for cell in row] for row in rows[1:]]


def flattened(items, prefix=''):
    for item in items:
        yield f'{prefix}{item.name}', item
        yield from flattened(item.children, f'{prefix}{item.name}.')


def shown(value):
    return 'none' if value is None else str(value).lower()


def has_section(page, title, line):
    return f'\n{title}\n{line * len(title)}\n' in page


PROPERTIES = dict(flattened(properties.DECLARED))


def test_the_policys_page_has_the_declared_properties():
    page = text_of('reference/policy.rst')
    assert [
        [*row[:4], *(row[4:] if PROPERTIES[row[0]].allowed else ())]
        for row in table(page, 'policy-properties')
    ] == [
        [name, item.kind, item.since, shown(item.default), *filter(None, [', '.join(item.allowed)])]
        for name, item in PROPERTIES.items()
    ]
    own = [name for name in PROPERTIES if not name.startswith('spread.')]
    names = [name for name in own if name.count('.') < 2 and name != 'servergroup']
    assert [name for name in names if not has_section(page, name, '-')] == []


def test_the_page_of_the_library_has_the_fields_of_a_question():
    found = [row[0] for row in table(text_of('reference/library.rst'), 'library-question')]
    assert found == [field.name for field in fields(api.Question)]


@pytest.mark.parametrize('constraint', OURS, ids=lambda constraint: constraint.name)
def test_a_constraints_page_names_its_options_and_remedies(constraint):
    """Its codes are generated. The list of all remedies has them, too."""
    page = text_of(f'reference/constraints/{constraint.name}.rst')
    assert f'\n.. reason-codes:: {constraint.name}\n' in page
    options = [option.dest for option in getattr(constraint, 'options', ())]
    remedies = remedies_of(constraint)
    assert [name for name in (*options, *remedies) if not re.search(rf'\b{name}\b', page)] == []
    listed = text_of('concepts/preflight.rst')
    assert [name for name in remedies if f'``{name}``' not in listed] == []


def is_assumption(node):
    names = 'Assumption', 'OpenAssumption'
    return isinstance(node, ast.Call) and ast.unparse(node.func) in names


def assumed():
    """Return all assumptions; each must be a constant of its module."""
    found = []
    for path in sorted((ROOT / 'senlin_affinity').rglob('*.py')):
        tree = ast.parse(path.read_text(encoding='utf-8'))
        if calls := [*filter(is_assumption, ast.walk(tree))]:
            name = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
            constants = vars(importlib.import_module(name)).values()
            own = [each for each in constants if isinstance(each, Assumption)]
            assert len(own) == len(calls), name
            found += own
    return found


def test_the_table_of_assumptions_is_complete():
    told = [tuple(row[:2]) for row in table(text_of('concepts/preflight.rst'), 'assumptions')]
    assert sorted(told) == sorted(set(map(tuple, assumed())))


def entry_points(group):
    """Return the module and the class of each entry point by its name."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    lines = parser['options.entry_points'][group].strip().splitlines()
    return dict(re.split(r' *= *', line) for line in lines)


def test_every_registered_constraint_has_a_page():
    assert sorted(entry_points('senlin_affinity.constraints')) == sorted(
        path.stem
        for path in (SOURCE / 'reference/constraints').glob('*.rst')
        if path.stem != 'index'
    )


def test_every_command_has_a_section():
    page = text_of('reference/command.rst')
    titles = [name.replace('_', ' ') for name in entry_points('senlin_affinity.cli')]
    assert [title for title in titles if not has_section(page, title, '=')] == []


def test_the_pages_have_every_option():
    named = ('reference/configuration', 'howto/migrate', 'trust/failures', 'howto/reservations')
    pages = [text_of(f'{page}.rst') for page in named]
    for _, options in opts.list_opts():
        for option in options:
            assert any(f'``{option.name}``' in page for page in pages)


def test_every_name_in_the_glossary_exists():
    names = re.findall(r'``([a-z_]+(?:\.\w+)+)``', text_of('reference/glossary.rst'))
    assert names
    assert all(pkgutil.resolve_name(f'senlin_affinity.{name}') for name in names)


def test_every_function_of_the_library_has_its_reference():
    page = text_of('reference/python.rst')
    named = {name.rpartition('.')[2] for name in re.findall(r'auto\w+:: ([\w.]+)', page)}
    own = {name for name in api.__all__ if name != 'clients_of'}
    assert own <= named


def test_files_on_a_page_exist():
    missing = []
    for path in (ROOT / 'README.rst', *SOURCE.rglob('*.rst')):
        text = path.read_text(encoding='utf-8')
        named = re.findall(r'(?:``|<)((?:etc|doc(?!/build)|tests)/[\w./-]+)(?:``|>`_)', text)
        linked = re.findall(r':doc:`(?:[^`<]*<)?([\w/-]+)>?`', text)
        targets = [ROOT / name for name in named]
        for name in linked:
            folder = SOURCE if name.startswith('/') else path.parent
            targets.append(folder / f'{name.removeprefix("/")}.rst')
        missing += [(path.name, target) for target in targets if not target.exists()]
    assert missing == []
