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


@pytest.mark.long
def test_the_table_counts_the_failures_and_the_hosts_of_each_kind(tally):
    of_kinds, all_kinds = tally.table().split('   * - all\n')
    counts = (tally.number, *(sum(each.values()) for each in (tally.by_filter, tally.by_placement)))
    assert all_kinds.split()[1::2][:4] == [str(each) for each in (*counts, 0)]
    for kind in ('filters', 'granular'):
        failures_of_kind = f'   * - {kind}\n     - {tally.failures[kind]}\n'
        assert f'{failures_of_kind}     - {tally.by_filter[kind]}\n' in of_kinds
