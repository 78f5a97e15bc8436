"""What an explanation says of each host, against what Placement and the filters did to it."""

import pytest

from tests.accuracy import failures
from tests.accuracy.kinds import KINDS
from tests.accuracy.stage import Stage

#: Kinds whose failures are of filters, and of Placement.
CASES = (('filters', 1000), ('filters', 302), ('granular', 1001))


@pytest.fixture(scope='module')
def stage():
    with Stage(nova_options=failures.DEBUG) as stage:
        yield stage


@pytest.fixture(scope='module')
def tally(stage):
    """The failures of all cases."""
    tally = failures.Tally()
    for kind, seed in CASES:
        failures.compare(stage, KINDS[kind](seed), tally)
    return tally


@pytest.mark.long
def test_each_rejection_is_one_of_nova_and_each_of_novas_is_ours(tally):
    assert tally.differences == []


@pytest.mark.long
def test_the_failures_are_about_something(tally):
    assert tally.number >= 4
    assert sum(tally.by_filter.values()) >= 3
