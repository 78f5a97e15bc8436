"""Nova's optional filters, its zones, and stale records, in a real Nova: said and placed are equal.

Each case has a zone of its own with two hosts, of which every one takes two servers.
"""

import pytest
from openstack import exceptions

from senlin_affinity import api
from senlin_affinity.core.host_status import DISABLED
from senlin_affinity.core.objects import DEFAULT_FILTERS
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.waiting import until

MOST = 2
FILTERS = (
    *DEFAULT_FILTERS,
    'NumInstancesFilter',
    'AggregateInstanceExtraSpecsFilter',
    'AggregateMultiTenancyIsolation',
    'IsolatedHostsFilter',
)
ZONES = ('plain', 'specs', 'tenants', 'images', 'default', 'stale', 'lost')
HOSTS = {f'{zone}-{n}': {'availability_zone': zone} for zone in ZONES for n in (1, 2)}
SPECS = {'aggregate_instance_extra_specs:ssd': 'true'}
OPTIONS = {
    'max_instances_per_host': MOST,
    'isolated_hosts': ('images-1',),
    'isolated_images': (),
    'default_schedule_zone': 'default',
}
#: The zone that is asked for, the flavor, and how many servers there is room for.
CASES = {
    'as many as a host may hold, one of which is there': ('plain', 'm1.tiny', 3),
    'as many as a host may hold, and an aggregate': ('specs', 'm1.ssd', 2),
    'an aggregate of another project': ('tenants', 'm1.tiny', 2),
    'a host that is kept for isolated images': ('images', 'm1.tiny', 2),
    'no zone': (None, 'm1.tiny', 4),
    'a trait of a disabled service that was left behind': ('stale', 'm1.tiny', 2),
    'an aggregate that Placement does not know': ('lost', 'm1.tiny', 2),
}


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(
        HOSTS,
        filters=FILTERS,
        aggregates={
            'ssd': {'hosts': ['specs-1'], 'metadata': {'ssd': 'true'}},
            'theirs': {'hosts': ['tenants-1'], 'metadata': {'filter_tenant_id': 'theirs'}},
        },
        flavors={'m1.tiny': {}, 'm1.ssd': {'extra_specs': SPECS}},
        default_availability_zone='default',
        nova_options={
            'filter_scheduler': {'max_instances_per_host': MOST, 'isolated_hosts': 'images-1'}
        },
    ) as running:
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    connection = cloud.connection()
    placement = connection.placement
    version = {'microversion': '1.29'}
    found = placement.get('/resource_providers', **version).json()['resource_providers']
    providers = {item['name']: f'/resource_providers/{item["uuid"]}' for item in found}
    for host, part, change in (
        ('stale-1', 'traits', lambda names: [*names, DISABLED]),
        ('lost-1', 'aggregates', lambda _uuids: []),
    ):
        path = f'{providers[host]}/{part}'
        body = placement.get(path, **version).json()
        body[part] = change(body[part])
        placement.put(path, json=body, **version).raise_for_status()
    assert is_placed(cloud, connection, 'm1.tiny', 'plain:plain-1')
    return connection


def is_placed(cloud, connection, flavor, zone):
    more = {} if zone is None else {'availability_zone': zone}
    server = connection.compute.create_server(
        name='server',
        flavor_id=connection.compute.find_flavor(flavor).id,
        image_id=cloud.image_id,
        networks='none',
        **more,
    )

    def status():
        found = connection.compute.get_server(server).status
        return found if found in ('ACTIVE', 'ERROR') else None

    return until(status, 60, f'server {server.id}\n{cloud.logs()}') == 'ACTIVE'


@pytest.mark.long
@pytest.mark.parametrize('case', CASES)
def test_said_and_placed(cloud, admin, case):
    zone, flavor, room = CASES[case]
    question = api.Question(
        5,
        flavor,
        availability_zone=zone,
        image_properties={},
        enabled_filters=FILTERS,
        options=OPTIONS,
    )
    decision = api.answer(question, api.look(admin, question))
    assert (decision.capacity, decision.at_most) == (room, ()), decision.line()
    for number in range(room + 1):
        assert is_placed(cloud, admin, flavor, zone) is (number < room)


@pytest.mark.long
def test_a_default_zone_that_no_host_is_in(cloud, admin):
    """As one that is asked for: nova-api answers 400."""
    with pytest.raises(exceptions.BadRequestException, match='availability zone'):
        is_placed(cloud, admin, 'm1.tiny', 'nowhere')
