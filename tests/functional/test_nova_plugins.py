"""The plugins work in a real nova-scheduler, by the paths of the manual."""

import pytest

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.waiting import until

FILTER = 'AggregateInstanceTypeFilter'
PLUGINS = 'senlin_affinity.plugins.nova'
PREFIX = 'reservation:'
#: The flavor, the zone of a single host, and whether a server starts there.
SERVERS = (('ssd', 'fast', True), ('ssd', 'slow', False), ('plain', 'reserved', False))


@pytest.fixture(scope='module')
def cloud():
    prefixes = ('required_member_prefix', 'default_forbidden_member_prefix')
    with SandboxCloud(
        {zone: {'availability_zone': zone} for zone in ('fast', 'slow', 'reserved')},
        filters=(*DEFAULT_FILTERS, FILTER),
        available_filters=[
            f'{PLUGINS}.aggregate_filter.{FILTER}',
            f'{PLUGINS}.request_filter.install',
        ],
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
def test_a_server_starts_only_where_the_filters_pass(cloud, flavor, zone, is_placed):
    assert (status_of_new_server(cloud, flavor, zone) == 'ACTIVE') is is_placed


def status_of_new_server(cloud, flavor, zone):
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

    return until(ended, 60, f'{server.id}\n{cloud.logs()}')


@pytest.mark.long
def test_nova_conf_switches_the_filter_to_log_only_and_the_validators_off():
    ours = {'aggregate_filter': 'log', 'validate_extra_specs': 'false'}
    with SandboxCloud(
        {'slow': {'availability_zone': 'slow'}},
        filters=(*DEFAULT_FILTERS, FILTER),
        available_filters=[f'senlin_affinity.plugins.nova.aggregate_filter.{FILTER}'],
        nova_options={'affinity': ours},
        aggregates={'slow': {'hosts': ['slow'], 'metadata': {'ssd': 'false'}}},
        flavors={'ssd': {'extra_specs': {'ssd': 'true'}}},
    ) as cloud:
        assert status_of_new_server(cloud, 'ssd', 'slow') == 'ACTIVE'
        assert 'flavor ssd: would reject 1 host (slow) of 1: ' in cloud.logs()
        compute = cloud.connection().compute
        path = f'/flavors/{compute.find_flavor("ssd").id}/os-extra_specs'
        body = {'extra_specs': {'force_metadata_check': 'no boolean'}}
        answer = compute.post(path, json=body, microversion='2.86')
        assert answer.status_code == 200, answer.text
