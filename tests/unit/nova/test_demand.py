"""The resources that a server of a flavor requests, row by row."""

import pytest

from senlin_affinity.nova.demand import demand
from tests.support.small_cloud import flavor_of
from tests.support.tables import rows


@pytest.mark.parametrize('row', rows('flavor_demand'))
def test_demand(row):
    found = demand(
        flavor_of(row.get('flavor')),
        row.get('image'),
        is_volume_booted=row.get('is_volume_booted', False),
    )
    assert found.amounts == row['outcome']
    assert found.required == set(row.get('required', ()))
    assert found.forbidden == set(row.get('forbidden', ()))
    assert found.unmodelled == tuple(row.get('unmodelled', ()))
    assert found.only_placement == tuple(row.get('only_placement', ()))
