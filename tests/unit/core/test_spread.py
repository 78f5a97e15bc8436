"""Spreads as a person writes them."""

import pytest

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.spread import Spread, read_all
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('spread_spec'))
def test_read_all(row):
    if raises(row):
        with pytest.raises(InvalidSpec) as caught:
            read_all(row['written'], 'spread')
        check_error(row, caught.value)
        return
    assert read_all(row['written'], 'spread') == tuple(Spread(*each) for each in row['spreads'])
