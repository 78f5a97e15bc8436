"""The clouds in ``etc/senlin-affinity/clouds`` are valid and start."""

from pathlib import Path

import pytest
from openstack.exceptions import BadRequestException, ResourceFailure

from tests.support.sandbox import SandboxCloud

FOLDER = Path(__file__).parents[2] / 'etc/senlin-affinity/clouds'
ZONES = {
    'two-hosts': {'cmp-1': 'nova', 'cmp-2': 'nova'},
    'zones': {f'az{zone}-{number}': f'az{zone}' for zone in (1, 2, 3) for number in (1, 2)},
}


#: The hosts that accept servers of each flavor in the cloud of the plugins.
MAY_USE = {'m1.tiny': {'cmp-1', 'ssd-1'}, 'm1.ssd': {'ssd-1'}, 'm1.mine': {'mine-1'}}


@pytest.mark.parametrize('name', ZONES)
def test_the_cloud_starts(name):
    """The others are started by ``test_demo``, ``test_sandbox_command``, ``test_tutorials``, and
    below.
    """
    with SandboxCloud.from_file(FOLDER / f'{name}.yaml') as cloud:
        services = list(cloud.connection().compute.services(binary='nova-compute'))
    assert {service.host: service.availability_zone for service in services} == ZONES[name]
    assert {service.state for service in services} == {'up'}


def test_every_cloud_is_started_by_a_test():
    others = {'demo', 'log-only', 'maintenance', 'plugins'}
    assert {each.stem for each in FOLDER.glob('*.yaml')} == {*ZONES, *others}


@pytest.mark.long
def test_images_have_properties_and_hosts_may_have_no_cpu():
    """Nova reads the properties; Placement has no inventory with a total of 0."""
    hosts = {
        'cmp-1': {'vcpus': 4},
        'bm-1': {
            **dict.fromkeys(('vcpus', 'memory_mb', 'disk_gb'), 0),
            'inventory': {'CUSTOM_GOLD': {'total': 1}},
        },
    }
    images = {
        'arm': {'properties': {'hw_architecture': 'aarch64'}},
        'large': {'min_disk': 20},
        'cirros': {'properties': {'hw_architecture': 'x86_64'}},
    }
    with SandboxCloud(hosts, images=images) as cloud:
        connection = cloud.connection()
        compute, placement = connection.compute, connection.placement
        (flavor,) = compute.flavors()
        outcomes = {}
        for name in images:
            image = connection.image.find_image(name).id
            request = {'flavor_id': flavor.id, 'image_id': image, 'networks': 'none'}
            try:
                made = compute.create_server(name=name, **request)
                outcomes[name] = compute.wait_for_server(made, wait=60).compute_host
            except ResourceFailure:
                outcomes[name] = compute.get_server(made).fault['message'].split('.')[0]
            except BadRequestException as error:
                outcomes[name] = error.details.split('.')[0]
        providers = {
            provider.name: set(
                placement.get(f'/resource_providers/{provider.id}/inventories').json()[
                    'inventories'
                ]
            )
            for provider in placement.resource_providers()
        }
    assert outcomes == {
        'arm': 'No valid host was found',
        'large': "Flavor's disk is smaller than the minimum size specified in image metadata",
        'cirros': 'cmp-1',
    }
    assert providers == {'cmp-1': {'VCPU', 'MEMORY_MB', 'DISK_GB'}, 'bm-1': {'CUSTOM_GOLD'}}


@pytest.mark.long
def test_each_plugin_works_in_the_cloud_of_the_plugins():
    """The plugins are used together: different reservations, and the aggregate filter."""
    with SandboxCloud.from_file(FOLDER / 'plugins.yaml') as cloud:
        compute, demo = cloud.connection().compute, cloud.connection('demo').compute
        flavors = {flavor.name: flavor.id for flavor in compute.flavors()}
        for flavor, hosts in MAY_USE.items():
            made = [
                demo.create_server(
                    name='s', flavor_id=flavors[flavor], image_id=cloud.image_id, networks='none'
                )
                for _number in range(3)
            ]
            found = [compute.wait_for_server(server, wait=60) for server in made]
            assert {server.compute_host for server in found} <= hosts
        url = f'/flavors/{flavors["m1.tiny"]}/os-extra_specs?validation=strict'
        answer = compute.post(url, json={'extra_specs': {'hw:cpu_polcy': 'x'}}, microversion='2.86')
        assert (answer.status_code, 'hw:cpu_policy' in answer.text) == (400, True)
