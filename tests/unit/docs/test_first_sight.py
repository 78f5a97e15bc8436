"""The files at the top of the repository render, and name files that exist."""

import configparser
import re
from pathlib import Path

import pytest
from docutils import core

ROOT = Path(__file__).parents[3]
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / 'setup.cfg', encoding='utf-8')


def text_of(name):
    return (ROOT / name).read_text(encoding='utf-8')


@pytest.mark.parametrize('name', ['README', 'SECURITY', 'CHANGELOG', 'CONTRIBUTING'])
def test_a_file_renders_and_its_links_exist(name, capfd):
    text = text_of(f'{name}.rst')
    core.publish_doctree(text, settings_overrides={'report_level': 1})
    assert capfd.readouterr().err == ''
    named = re.findall(r'``((?:doc(?!/build)|releasenotes)/[\w./-]+)``', text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_changelog_begins_with_the_version_of_setup_cfg():
    first = re.search(r'^(.+)\n=+\n\n(.+\n.+)\n', text_of('CHANGELOG.rst').split('\n\n', 2)[2])
    assert first[1] == SETUP['metadata']['version']
    notes = (ROOT / 'releasenotes/notes').glob(f'version-{first[1].replace(".", "-")}-*.yaml')
    (note,) = (' '.join(path.read_text(encoding='utf-8').split()) for path in notes)
    assert f'prelude: > {" ".join(first[2].split())}' in note
