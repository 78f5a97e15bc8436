"""What is remembered of a cluster and its policy."""

import pytest

from senlin_affinity.model.errors import AffinityError
from senlin_affinity.policy.binding import Binding, read, write
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('policy_binding'))
def test_read(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            read(row['stored'])
        check_error(row, caught.value)
        return
    expected = None if row['outcome'] == 'nothing' else Binding(**row['binding'])
    assert read(row['stored']) == expected


def test_what_is_written_is_not_shared():
    rules = {'max_server_per_host': 3}
    stored = write(Binding('g', True, '1.1', 'anti-affinity', rules))
    stored['AffinityPolicy']['data']['rules']['max_server_per_host'] = 7
    assert rules == {'max_server_per_host': 3}
