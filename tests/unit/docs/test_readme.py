"""The README renders, and its first screen has what a newcomer looks for."""

import io
from pathlib import Path

import pytest
from docutils import core, nodes

ROOT = Path(__file__).parents[3]
README = (ROOT / 'README.rst').read_text(encoding='utf-8')
INSTALL = (ROOT / 'doc/source/admin/install.rst').read_text(encoding='utf-8')
FIRST_SCREEN = '\n'.join(README.splitlines()[:50])


def rendered(text):
    """The document, and what docutils says about it."""
    said = io.StringIO()
    settings = {'report_level': 1, 'warning_stream': said}
    return core.publish_doctree(text, settings_overrides=settings), said.getvalue()


def test_it_renders_without_a_word_of_docutils():
    document, said = rendered(README)
    assert said == ''
    assert document.next_node(nodes.title).astext() == 'senlin-affinity'


def test_the_first_screen_has_what_is_looked_for():
    wanted = (
        'I run a Nova', 'I have Senlin clusters', 'I write software',
        'Only an administrator', 'pip install .', 'admin/install.rst', 'make demo', 'make test',
        'senlin-affinity plan --count', 'does not fit:', 'What would help',
    )  # fmt: skip
    assert [words for words in wanted if words not in FIRST_SCREEN] == []


@pytest.mark.parametrize('page', [README, INSTALL], ids=['the README', 'the manual'])
def test_a_wheel_is_built_without_what_an_earlier_build_left(page):
    lines = [line.strip() for line in page.splitlines()]
    before = [lines[number - 1] for number, line in enumerate(lines) if ' -m pip wheel ' in line]
    assert [line[:12] for line in before] == ['rm -rf build']
