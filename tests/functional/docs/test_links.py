"""Broken links of the built manual are found, and the drawing of a group's life is computed."""

import sys
from pathlib import Path

import pytest

from tests.unit.docs.test_manual import ROOT

sys.path.insert(0, str(ROOT / 'doc/ext'))
import check_links
import life_cycle


@pytest.mark.parametrize(
    ('link', 'is_broken'),
    [
        ('', False),
        ('b.html', False),
        ('b.html#here', False),
        ('#top', False),
        ('https://docs.openstack.org/nova', False),
        ('b.html#gone', True),
        ('#gone', True),
        ('c.html', True),
        ('gone.png', True),
    ],
)
def test_a_link_to_a_missing_page_or_anchor_is_broken(tmp_path, link, is_broken):
    (tmp_path / 'a.html').write_text(f'<p><a href="{link}">link</a></p>', encoding='utf-8')
    (tmp_path / 'b.html').write_text('<h1 id="here">b</h1>', encoding='utf-8')
    assert check_links.broken(tmp_path) == [(Path('a.html'), link)] * is_broken


def test_the_life_of_a_group_is_that_of_the_steps():
    assert life_cycle.edges() == [
        ('no group', 'attach', '', 'owned'),
        ('of a user', 'attach', 'names it', 'inherited'),
        ('unbound', 'attach', '', 'owned'),
        ('kept', 'attach', '', 'owned'),
        ('owned', 'detach', '', 'no group'),
        ('owned', 'detach', 'keeps it', 'kept'),
        ('owned', 'detach', 'others use it', "another's"),
        ('owned', 'detach', "others' servers", 'of a user'),
        ('inherited', 'detach', '', 'of a user'),
    ]
