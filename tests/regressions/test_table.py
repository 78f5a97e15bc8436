"""The manual's table of the stories lists all of them."""

from tests.regressions import compare
from tests.regressions.stories import STORIES


def test_table_of_the_manual_lists_all_stories():
    table = compare.read(compare.TABLE.read_text(encoding='utf-8'))
    assert list(table) == [story.title for story in STORIES]
