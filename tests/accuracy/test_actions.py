"""Actions on servers of one random cloud, compared with Nova."""

import itertools

import pytest

from tests.accuracy import actions
from tests.accuracy.moving import FAILED, SUCCEEDED

SEED, NUMBER = 112, 6


@pytest.mark.long
def test_the_answers_about_actions_are_those_of_nova():
    found = [*itertools.islice(actions.outcomes([SEED]), NUMBER)]
    assert [each.title() for each in found if each.wrong] == []
    assert {each.nova for each in found} >= {SUCCEEDED, FAILED}
    assert sum(each.by_placement for each in found) > 0
