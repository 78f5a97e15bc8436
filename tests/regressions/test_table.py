"""The manual's table of the stories: it is read as it was written, and lists all of them."""

from tests.regressions import compare
from tests.regressions.compare import Row
from tests.regressions.stage import IN_TREE, OURS, Outcome
from tests.regressions.stories import STORIES


def test_table_is_read_as_it_was_written():
    rows = [
        Row('S1: one', {IN_TREE: Outcome(True), OURS: Outcome(True)}),
        Row('S2: two', {IN_TREE: Outcome(False, "'x' has no `y`"), OURS: Outcome(True)}),
    ]
    assert compare.read(compare.render(rows)) == {
        row.title: {version: outcome.is_passed for version, outcome in row.outcomes.items()}
        for row in rows
    }


def test_table_of_the_manual_lists_all_stories():
    table = compare.read(compare.TABLE.read_text(encoding='utf-8'))
    assert list(table) == [story.title for story in STORIES]
