"""Senlin's own affinity policy, told the same stories: most fail, and the manual's table says so.

That this project's policy passes all of them is ``tests/regressions/test_in_tree_mistakes.py``.
"""

import pytest

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.regressions import compare
from tests.regressions.stage import HOSTS, IN_TREE, OURS

TABLE = compare.read(compare.TABLE.read_text(encoding='utf-8'))


@pytest.fixture(scope='module')
def senlin_cloud():
    with SandboxCloud(HOSTS, senlin=True) as cloud:
        yield cloud


@pytest.fixture(scope='module')
def in_tree(senlin_cloud):
    """Story's title -> how it ended for Senlin's own policy."""
    rows = compare.run(senlin_cloud, [IN_TREE])
    return {row.title: row.outcomes[IN_TREE] for row in rows}


def test_senlins_own_policy_fails_at_least_eight_stories(in_tree):
    failed = {title: outcome.line for title, outcome in in_tree.items() if not outcome.is_passed}
    assert len(failed) >= 8, failed


def test_the_table_of_the_manual_agrees(in_tree):
    marks = {title: outcomes[IN_TREE] for title, outcomes in TABLE.items()}
    assert marks == {title: outcome.is_passed for title, outcome in in_tree.items()}


def test_the_table_says_that_this_projects_policy_passes_all():
    assert all(outcomes[OURS] for outcomes in TABLE.values())
