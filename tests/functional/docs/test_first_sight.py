"""The files at the top of the repository render, and name files that exist."""

import re
from pathlib import Path

import pytest
from docutils import core

ROOT = Path(__file__).parents[3]


def text_of(name):
    return (ROOT / name).read_text(encoding='utf-8')


@pytest.mark.parametrize('name', ['README', 'SECURITY', 'CHANGELOG', 'CONTRIBUTING'])
def test_a_file_renders_and_its_links_exist(name, capfd):
    text = text_of(f'{name}.rst')
    core.publish_doctree(text, settings_overrides={'report_level': 1})
    assert capfd.readouterr().err == ''
    named = re.findall(r'``((?:doc(?!/build)|releasenotes)/[\w./-]+)``', text)
    assert [path for path in named if not (ROOT / path).exists()] == []
