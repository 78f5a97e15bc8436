"""The explanations of failures, compared with Placement and the scheduler's filters."""

import pytest

from tests.accuracy import failures
from tests.accuracy.kinds import KINDS
from tests.accuracy.stage import Stage

#: Kinds with failures of filters, and of Placement.
CASES = (('filters', 1000), ('filters', 302), ('granular', 1001))


@pytest.fixture(scope='module')
def stage():
    with Stage(nova_options=failures.DEBUG) as stage:
        yield stage


@pytest.fixture(scope='module')
def tally(stage):
    tally = failures.Tally()
    for kind, seed in CASES:
        failures.compare(stage, KINDS[kind](seed), tally)
    return tally


@pytest.mark.long
def test_rejections_equal_those_of_nova(tally):
    assert tally.differences == []


@pytest.mark.long
def test_failures_of_several_kinds_are_compared(tally):
    assert tally.number >= 4
    assert sum(tally.by_filter.values()) >= 3
