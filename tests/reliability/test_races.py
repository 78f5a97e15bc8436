"""A few rounds of races; make soak has more of them."""

import pytest

from tests.reliability import races, sandbox_races


@pytest.mark.long
def test_clusters_that_share_a_group():
    part = races.run(2, 3)
    assert part.broken == ()
    assert sum(part.outcomes.values()) == 3


@pytest.mark.long
def test_a_group_that_is_left_to_servers_of_others():
    """The last cluster that leaves does so before the servers of the others are gone."""
    part = races.run(1, 1, first=80)
    assert part.broken == ()
    assert part.outcomes.keys() <= {races.LEFT, races.APART}


@pytest.mark.long
def test_clusters_that_share_a_group_on_the_sandbox():
    assert sandbox_races.run(1).broken == ()
