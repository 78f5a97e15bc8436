"""The picture of the README is what the command prints about a server of a real Nova."""

import re

import pytest

from tests.pictures import draw

ROOT = draw.PICTURE.parents[3]


@pytest.fixture(scope='module')
def output():
    return draw.output()


@pytest.mark.long
def test_the_picture_is_current(output):
    assert draw.PICTURE.read_text(encoding='utf-8') == draw.picture(output)


@pytest.mark.long
def test_the_manual_has_the_text_of_the_picture(output):
    assert draw.PAGE.read_text(encoding='utf-8') == draw.page(output)


def test_the_picture_loads_nothing_and_the_readme_shows_it():
    text = draw.PICTURE.read_text(encoding='utf-8')
    assert re.findall(r'(?:href|src|url)\s*[=(]\s*["\']?(https?:[^"\')]*)', text) == []
    readme = (ROOT / 'README.rst').read_text(encoding='utf-8')
    assert f'image:: {draw.PICTURE.relative_to(ROOT)}\n' in readme
