"""The README renders, and its first screen has what a newcomer looks for."""

import io
import re
from pathlib import Path

import pytest
from docutils import core, nodes

ROOT = Path(__file__).parents[3]
README = (ROOT / 'README.rst').read_text(encoding='utf-8')
INSTALL = (ROOT / 'doc/source/start/install.rst').read_text(encoding='utf-8')


def rendered(text):
    """The document, and what docutils says about it."""
    said = io.StringIO()
    settings = {'report_level': 1, 'warning_stream': said}
    return core.publish_doctree(text, settings_overrides=settings), said.getvalue()


def test_it_renders_without_a_word_of_docutils():
    document, said = rendered(README)
    assert said == ''
    assert document.next_node(nodes.title).astext() == 'senlin-affinity'


def test_the_first_screen_says_what_it_is_and_what_to_do():
    """The picture, for whom it is, and the commands come before the first section."""
    first, *_sections = re.split(r'\n=+\n\n', README.partition('\n\n')[2])
    lines = first.splitlines()
    for words in ('retired upstream', '.. image:: ', 'pip install .'):
        assert any(words in line for line in lines[:40]), words
    assert sum(line.startswith('* **') for line in lines) == 4


def test_what_it_says_about_accuracy_is_what_was_measured():
    table = (ROOT / 'doc/source/trust/accuracy-table.rst').read_text(encoding='utf-8')
    rows = [block.split('\n') for block in table.split('   * - ')[1:]]
    titles, *_kinds, total = [[row[0], *(cell[7:] for cell in row[1:] if cell)] for row in rows]
    assert (total[0], total[titles.index('Wrong')]) == ('all', '0')
    assert 'no result was wrong' in README


@pytest.mark.parametrize('page', [README, INSTALL], ids=['the README', 'the manual'])
def test_a_wheel_is_built_by_one_command(page):
    """setup.py stages the files in an empty directory, so nothing has to be removed first."""
    assert ' -m pip wheel ' in page
    assert 'rm -rf build' not in page
