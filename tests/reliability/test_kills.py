"""The engine dies at a few points; ``make soak`` has all of them."""

import pytest

from tests.reliability import kills


@pytest.mark.nightly
def test_recovery_from_an_engine_that_dies():
    part = kills.run(2, every=97)
    assert part.broken == ()
    assert kills.RECOVERED in part.outcomes
    assert kills.STUCK not in part.outcomes
