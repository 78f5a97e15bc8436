"""A binding is read from the data of a cluster policy, and written to it."""

import pytest

from senlin_affinity.model.errors import AffinityError
from senlin_affinity.policy.senlin_data import CLUSTER_KEY, KEPT, Binding, kept_group
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('policy_binding'))
def test_read_binding(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            Binding.read(row['stored'])
        check_error(row, caught.value)
        return
    expected = None if row['outcome'] == 'nothing' else Binding(**row['binding'])
    assert Binding.read(row['stored']) == expected


def test_written_data_are_a_copy():
    rules = {'max_server_per_host': 3}
    stored = Binding('g', True, '1.1', 'anti-affinity', rules).data()
    stored['AffinityPolicy']['data']['rules']['max_server_per_host'] = 7
    assert rules == {'max_server_per_host': 3}


@pytest.mark.parametrize(
    ('data', 'group'),
    [
        ({CLUSTER_KEY: {KEPT: 'g'}}, 'g'),
        ({CLUSTER_KEY: {KEPT: 7}}, None),
        ({CLUSTER_KEY: 'g'}, None),
        ({'other': {KEPT: 'g'}}, None),
        ('g', None),
        (None, None),
    ],
)
def test_the_group_that_a_cluster_keeps(data, group):
    assert kept_group(data) == group
