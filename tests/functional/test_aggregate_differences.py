"""Document 000 is compared with Nova's own filter, on generated input and on rows of the tables."""

from hypothesis import given

from tests.property.aggregate_strategies import (
    AGGREGATES,
    FLAVORS,
    PLAIN_AGGREGATES,
    PLAIN_FLAVORS,
    REQUIREMENTS,
    TEXTS,
    written,
)
from tests.support import aggregate_judge as judge
from tests.support import aggregate_rows


@given(TEXTS, REQUIREMENTS)
def test_operators_match_as_in_nova(value, requirement):
    """R0-19, R0-32, D0-12."""
    judge.check_operator(value, requirement)


@given(PLAIN_FLAVORS, PLAIN_AGGREGATES)
def test_without_extensions_both_filters_agree(extra_specs, aggregates):
    """R0-13, R0-14, R0-18, R0-19: no sentinels, nothing forced, no namespace but the scope."""
    judge.check_plain(extra_specs, aggregates)
    judge.check_novas(extra_specs, aggregates)


@given(FLAVORS, AGGREGATES)
def test_our_model_of_novas_filter_agrees_with_it(extra_specs, aggregates):
    judge.check_novas(written(extra_specs), [each.metadata() for each in aggregates])


def test_our_model_of_novas_filter_agrees_with_it_on_every_row():
    """D0-12: where the real one raises, our rule rejects with a code of its own."""
    for table in ('aggregate_metadata', 'aggregate_metadata_examples', 'aggregate_extra_specs'):
        for row in aggregate_rows.read(table):
            judge.check_novas(row['extra_specs'], row['aggregates'])
