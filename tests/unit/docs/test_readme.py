"""The README renders, and its first screen has what a newcomer looks for."""

import io
from pathlib import Path

import pytest
from docutils import core, nodes

ROOT = Path(__file__).parents[3]
README = (ROOT / 'README.rst').read_text(encoding='utf-8')
INSTALL = (ROOT / 'doc/source/admin/install.rst').read_text(encoding='utf-8')


def rendered(text):
    """The document, and what docutils says about it."""
    said = io.StringIO()
    settings = {'report_level': 1, 'warning_stream': said}
    return core.publish_doctree(text, settings_overrides=settings), said.getvalue()


def test_it_renders_without_a_word_of_docutils():
    document, said = rendered(README)
    assert said == ''
    assert document.next_node(nodes.title).astext() == 'senlin-affinity'


@pytest.mark.parametrize('page', [README, INSTALL], ids=['the README', 'the manual'])
def test_a_wheel_is_built_by_one_command(page):
    """setup.py stages the files in an empty directory, so nothing has to be removed first."""
    assert ' -m pip wheel ' in page
    assert 'rm -rf build' not in page
