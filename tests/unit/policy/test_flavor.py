"""The extra specs of the flavor in a cluster's profile are checked."""

import pytest

from senlin_affinity.model.errors import AffinityError, CloudError
from senlin_affinity.policy import flavor, properties
from tests.support.fake_cloud import FakeCloud, Fault, cloud_of
from tests.support.tables import check_error, raises, rows


def spec(mode=None):
    wanted = {} if mode is None else {'extra_specs': mode}
    return properties.load({'type': properties.TYPE, 'version': '1.1', 'properties': wanted})


@pytest.mark.parametrize('row', rows('policy_flavor'))
def test_check_flavor(row):
    cloud = cloud_of({'flavors': {'small': row.get('specs', {})}})
    wanted, name = spec(row.get('mode')), row.get('flavor', 'small')
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            flavor.check(wanted, name, cloud)
        check_error(row, caught.value)
    else:
        assert flavor.check(wanted, name, cloud) == row.get('findings', '')
    assert cloud.requests == row.get('requests', ['flavor'])


def test_a_failure_of_the_cloud_is_an_error():
    with pytest.raises(CloudError, match=r"^Failed in retrieving flavor 'small'\. the cloud"):
        flavor.check(spec(), 'small', FakeCloud(faults=(Fault(0),)))
