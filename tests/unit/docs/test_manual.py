"""The manual says what the code says: properties, reasons, options, commands, decisions, ids."""

import configparser
import re
from pathlib import Path

import pytest

from senlin_affinity.conf import opts
from senlin_affinity.policy import declared, properties
from tests.support.our_constraints import OURS

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / 'doc/source'
QUESTIONS = tuple(
    f'q{document}-{number:02}'
    for document, last in ((0, 11), (1, 4), (2, 3), (3, 11), (4, 5))
    for number in range(1, last + 1)
)


def text_of(name):
    return (SOURCE / name).read_text(encoding='utf-8')


def words(text):
    return ' '.join(text.split())


def table(text, name):
    """The rows of the list-table with this ``:name:``, without its heading; markup taken out."""
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


PROPERTIES = dict(flattened(declared.DECLARED))


class TestPolicyPage:
    PAGE = text_of('user/policy.rst')
    ROWS = {row[0]: row[1:] for row in table(PAGE, 'policy-properties')}

    def test_its_table_has_the_declared_properties(self):
        assert list(self.ROWS) == list(PROPERTIES)

    @pytest.mark.parametrize('name', PROPERTIES)
    def test_a_row_is_what_is_declared(self, name):
        item = PROPERTIES[name]
        kind, since, default, allowed = self.ROWS[name]
        assert (kind, since, default) == (item.kind, item.since, shown(item.default))
        if item.allowed:
            assert tuple(allowed.split(', ')) == item.allowed

    @pytest.mark.parametrize('name', [name for name in PROPERTIES if name.count('.') < 2])
    def test_a_property_has_its_section(self, name):
        if name != 'servergroup' and not name.startswith('spread.'):
            assert f'\n{name}\n{"-" * len(name)}\n' in self.PAGE

    def test_it_names_the_versions_and_the_type(self):
        assert properties.TYPE in self.PAGE
        assert all(f'``{version}``' in self.PAGE for version in properties.VERSIONS)


#: A row of "What it says": code, outcome, sentence, advice.
SAID = re.compile(r'\* - ``(.+)``\n +- \w+\n +- ``([^`]+)``\n +-([^`]*?)(?=\n\n|\n   \*)')


@pytest.mark.parametrize('constraint', OURS, ids=lambda constraint: constraint.name)
def test_a_constraint_s_page_has_its_codes_sentences_and_advice(constraint):
    page = text_of(f'constraints/{constraint.name}.rst')
    said = {row[0]: (*map(words, row[1:]),) for row in SAID.findall(page)}
    page = words(page)
    for code, reason in constraint.reasons.items():
        assert said[code] == (words(reason.sentence), words(reason.advice))
        for fact in re.findall(r'{(\w+)}', reason.sentence):
            assert f'``{fact}``' in page.partition(' Facts ')[2]


def entry_points(group):
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    lines = parser['options.entry_points'][group].strip().splitlines()
    return [line.partition('=')[0].strip() for line in lines]


def test_every_constraint_that_is_registered_has_a_page():
    assert sorted(entry_points('senlin_affinity.constraints')) == sorted(
        path.stem for path in (SOURCE / 'constraints').glob('*.rst') if path.stem != 'index'
    )


@pytest.mark.parametrize('command', entry_points('senlin_affinity.cli'))
def test_every_command_has_a_section(command):
    title = command.replace('_', ' ')
    assert f'\n{title}\n{"=" * len(title)}\n' in text_of('user/command.rst')


@pytest.mark.parametrize('question', QUESTIONS)
def test_every_question_has_a_page(question):
    (page,) = (SOURCE / 'decisions').glob(f'{question}-*.rst')
    title = page.read_text(encoding='utf-8').splitlines()[1]
    assert title.startswith(f'Q{question[1]}-{int(question[3:])}: ')


@pytest.mark.parametrize('path', (SOURCE / 'decisions').glob('*.rst'), ids=lambda path: path.stem)
def test_a_decision_has_its_four_parts(path):
    if path.stem != 'index':
        lines = path.read_text(encoding='utf-8').splitlines()
        parts = ['Question', 'Options', 'Choice', 'Consequence']
        assert [line for line in lines if line in parts] == parts


def test_the_readme_shows_the_sample_policy():
    sample = (ROOT / 'etc/senlin-affinity/policies/anti-affinity.yaml').read_text(encoding='utf-8')
    readme = (ROOT / 'README.rst').read_text(encoding='utf-8')
    indented = ''.join(f'    {line}'.rstrip() + '\n' for line in sample.splitlines())
    assert indented in readme


@pytest.mark.parametrize('name', ['README.rst', 'doc/source/admin/install.rst'])
def test_what_is_installed_is_the_wheel_of_this_version(name):
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    text = (ROOT / name).read_text(encoding='utf-8')
    wheels = set(re.findall(r'senlin_affinity-[\w.-]+', text))
    assert wheels == {f'senlin_affinity-{parser["metadata"]["version"]}-py3-none-any.whl'}
    # No package index has it by its name.
    assert not re.search(r'pip install (-\S+ )*senlin-affinity', text)


def test_the_options_are_named_where_they_matter():
    named = ('admin/install', 'admin/failures', 'admin/reservations', 'user/policy')
    pages = [text_of(f'{page}.rst') for page in named]
    for _, options in opts.list_opts():
        for option in options:
            assert any(f'``{option.name}``' in page for page in pages)


@pytest.mark.parametrize(
    'path', [ROOT / 'README.rst', *SOURCE.rglob('*.rst')], ids=lambda path: path.name
)
def test_files_that_a_page_names_are_there(path):
    text = path.read_text(encoding='utf-8')
    for name in re.findall(r'(?:``|<)((?:etc|doc(?!/build)|tests)/[\w./-]+)(?:``|>`_)', text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r':doc:`(?:[^`<]*<)?([\w/-]+)>?`', text):
        target = SOURCE / name[1:] if name.startswith('/') else path.parent / name
        assert target.with_name(target.name + '.rst').exists(), name


# --- the ids of requirements

#: In upper case: R3-12, and also test_r3_12 and q3-01.
AN_ID = re.compile(r'(?<![A-Z0-9])([DQR][0-9X])[-_]([0-9]+)(?![0-9])')
NAMING = ('senlin_affinity/**/*.py', 'tests/**/*.py', 'tests/**/*.yaml', 'doc/source/**/*.rst')
GROUPS = (*(f'{kind}{document}' for document in range(5) for kind in 'rdq'), 'rx')


def ids_in(text):
    for kind, number in AN_ID.findall(text.upper()):
        yield f'{kind}-{int(number)}' if kind[0] == 'Q' else f'{kind}-{number}'


def requirements():
    page = text_of('contributor/requirements.rst')
    for group in GROUPS:
        yield from table(page, f'requirements-{group}')


class TestRequirementsPage:
    ROWS = list(requirements())

    def test_every_id_that_is_named_has_a_row(self):
        explained = {row[0] for row in self.ROWS}
        unexplained = {
            f'{named} in {path.relative_to(ROOT)}'
            for pattern in (*NAMING, 'releasenotes/notes/*.yaml')
            for path in ROOT.glob(pattern)
            for named in ids_in(path.read_text(encoding='utf-8'))
            if named not in explained
        }
        assert not unexplained

    def test_an_id_has_one_row(self):
        ids = [row[0] for row in self.ROWS]
        assert len(ids) == len(set(ids))

    @pytest.mark.parametrize('row', ROWS, ids=lambda row: row[0])
    def test_a_row_says_what_it_means_and_who_answers_for_it(self, row):
        assert list(ids_in(row[0])) == [row[0]]
        assert row[1].endswith('.')
        assert row[2] in ('this project', 'Nova', 'Placement', 'dead')

    @pytest.mark.parametrize('question', QUESTIONS)
    def test_a_decision_leads_to_its_page(self, question):
        (row,) = (row for row in self.ROWS if [row[0]] == list(ids_in(question)))
        assert f':doc:/decisions/{question}-' in row[1]
