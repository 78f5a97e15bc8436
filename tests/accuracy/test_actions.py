"""Actions on servers of one random cloud, compared with Nova."""

import itertools

import pytest

from tests.accuracy import actions
from tests.accuracy.moving import FAILED, SUCCEEDED

#: Of this seed, some succeed, and some fail by a filter or in Placement.
SEED, NUMBER = 203, 3


@pytest.mark.long
def test_the_answers_about_actions_are_those_of_nova():
    found = [*itertools.islice(actions.outcomes([SEED]), NUMBER)]
    assert [each.title() for each in found if each.wrong] == []
    assert {each.nova for each in found} >= {SUCCEEDED, FAILED}
    assert all(sum(getattr(each, by) for each in found) for by in ('by_filter', 'by_placement'))
