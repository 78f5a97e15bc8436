"""The files at the top that a newcomer opens first name what exists."""

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


@pytest.mark.parametrize('name', ['SECURITY.rst', 'CHANGELOG.rst', 'CONTRIBUTING.rst'])
def test_it_renders_and_its_files_exist(name, capfd):
    core.publish_doctree(text_of(name), settings_overrides={'report_level': 1})
    assert capfd.readouterr().err == ''
    named = re.findall(r'``((?:doc|releasenotes)/[\w./-]+)``', text_of(name))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_changelog_begins_with_the_version_of_setup_cfg():
    first = re.search(r'^(.+)\n=+\n\n(.+\n.+)\n', text_of('CHANGELOG.rst').split('\n\n', 2)[2])
    assert first[1] == SETUP['metadata']['version']
    notes = (ROOT / 'releasenotes/notes').glob(f'version-{first[1].replace(".", "-")}-*.yaml')
    (note,) = (' '.join(path.read_text(encoding='utf-8').split()) for path in notes)
    assert f'prelude: > {" ".join(first[2].split())}' in note


def test_tox_calls_targets_and_folders_that_exist():
    tox = text_of('tox.ini')
    targets = set(re.findall(r'^([a-z][\w-]*):', text_of('Makefile'), re.MULTILINE))
    called = set(re.findall(r'make ([a-z]+)', re.sub(r'#.*', '', tox)))
    assert called
    assert called - targets == set()
    folders = set(re.findall(r'\b(tests/\w+)', tox))
    assert folders
    assert [name for name in folders if not (ROOT / name).is_dir()] == []
