"""The capacity of every flavor is what the real scheduler places; see ``capacities``."""

import pytest

from tests.accuracy.capacities import EXACT, WRONG, compare
from tests.accuracy.kinds import KINDS
from tests.accuracy.stage import Stage

CASES = [KINDS[kind](seed) for kind in ('plain', 'nested', 'custom classes') for seed in (1, 2)]


@pytest.mark.nightly
def test_the_capacity_of_every_flavor_is_what_the_scheduler_places():
    with Stage() as stage:
        results = [result for case in CASES for result in compare(stage, case)]
    assert [str(result) for result in results if result.outcome == WRONG] == []
    assert [result.outcome for result in results].count(EXACT) >= len(results) / 2
    assert sum(result.placed for result in results) >= len(results)
