"""Filters that may reject hosts that the constraints accept, row by row."""

import pytest

from senlin_affinity.engine import scheduler_filters
from senlin_affinity.model.cloud import Cloud
from tests.support.asked import NamedRequest, with_values
from tests.support.small_cloud import flavor_of
from tests.support.tables import rows


@pytest.mark.parametrize('row', rows('filters'))
def test_filter(row):
    request = NamedRequest(
        1,
        'f',
        image_properties=row.get('image'),
        enabled_filters=tuple(row.get('enabled', [row['filter']])),
    )
    flavor = None if row.get('flavor', {}) is None else flavor_of(row.get('flavor'))
    found = scheduler_filters.unmodelled(
        with_values(request, Cloud(), flavor).request, row.get('modelled', ())
    )
    assert found == ((f'filter {row["filter"]}',) if row['outcome'] == 'at most' else ())
