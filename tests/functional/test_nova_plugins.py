"""The plugins in a real nova-scheduler, named by their paths of today and of before 0.10."""

import pytest

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.waiting import until

FILTER = 'AggregateInstanceTypeFilter'
#: The modules of the filter and of the request filter.
PATHS = {
    'today': (
        'senlin_affinity.plugins.nova.aggregate_filter',
        'senlin_affinity.plugins.nova.request_filter',
    ),
    'before 0.10': (
        'senlin_affinity.plugins.nova_filter',
        'senlin_affinity.plugins.nova_request_filter',
    ),
}
PREFIX = 'reservation:'
#: The flavor, the zone of the single host that it asks for, and whether a server starts there.
SERVERS = (('ssd', 'fast', True), ('ssd', 'slow', False), ('plain', 'reserved', False))


@pytest.fixture(scope='module', params=PATHS)
def cloud(request):
    of_filter, of_request_filter = PATHS[request.param]
    prefixes = ('required_member_prefix', 'default_forbidden_member_prefix')
    with SandboxCloud(
        {zone: {'availability_zone': zone} for zone in ('fast', 'slow', 'reserved')},
        filters=(*DEFAULT_FILTERS, FILTER),
        available_filters=[f'{of_filter}.{FILTER}', f'{of_request_filter}.install'],
        nova_options={'scheduler': {f'placement_req_{each}': PREFIX for each in prefixes}},
        aggregates={
            'fast': {'hosts': ['fast'], 'metadata': {'ssd': 'true'}},
            'slow': {'hosts': ['slow'], 'metadata': {'ssd': 'false'}},
            'reserved': {'hosts': ['reserved'], 'metadata': {f'{PREFIX}r': '1'}},
        },
        flavors={'plain': {}, 'ssd': {'extra_specs': {'ssd': 'true'}}},
    ) as running:
        yield running


@pytest.mark.parametrize(('flavor', 'zone', 'is_placed'), SERVERS)
def test_a_server_lands_where_the_filters_let_it(cloud, flavor, zone, is_placed):
    compute = cloud.connection().compute
    server = compute.create_server(
        name=f'{flavor}-{zone}',
        flavor_id=compute.find_flavor(flavor).id,
        image_id=cloud.image_id,
        networks='none',
        availability_zone=zone,
    )

    def ended():
        status = compute.get_server(server).status
        return status if status in ('ACTIVE', 'ERROR') else None

    assert (until(ended, 60, f'{server.id}\n{cloud.logs()}') == 'ACTIVE') is is_placed
