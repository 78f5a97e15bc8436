"""Clusters whose policies share a group race in the sandbox; ``make soak`` has more rounds."""

import pytest

from tests.reliability import sandbox_races


@pytest.mark.nightly
def test_clusters_that_share_a_group_on_the_sandbox():
    assert sandbox_races.run(1).broken == ()
