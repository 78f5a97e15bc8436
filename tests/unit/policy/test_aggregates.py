"""A spec's member_of: names are looked up, and an old cloud is refused."""

import pytest

from senlin_affinity.core.errors import AffinityError
from senlin_affinity.policy import affinity
from senlin_affinity.policy.properties import Properties
from tests.support.fake_cloud import cloud_of
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('policy_member_of'))
def test_member_of(row):
    cloud = cloud_of(row.get('cloud', {}))
    wanted = Properties('1.1', member_of=tuple(row['member_of']), pins_hosts=True)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            affinity.member_of(wanted, cloud, cloud)
        check_error(row, caught.value)
    else:
        assert affinity.member_of(wanted, cloud, cloud).to_query() == row['query']
    if 'requests' in row:
        assert cloud.requests == row['requests']
