"""Values are cached for a minute, and not longer."""

from senlin_affinity.cloud.clients import OLDEST, RecentReads


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_value_is_cached_for_a_minute():
    clock = Clock()
    kept = RecentReads(clock)
    assert kept.get('a') is None
    assert kept.keep('a', 1) == 1
    clock.now += OLDEST - 1
    assert kept.get('a') == 1
    clock.now += 1
    assert kept.get('a') is None


def test_old_values_are_removed():
    clock = Clock()
    kept = RecentReads(clock)
    kept.keep('a', 1)
    clock.now += OLDEST - 1
    kept.keep('b', 2)
    assert [*kept._values] == ['a', 'b']
    clock.now += 1
    kept.keep('c', 3)
    assert [*kept._values] == ['b', 'c']
