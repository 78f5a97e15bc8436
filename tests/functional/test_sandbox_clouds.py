"""The clouds in ``etc/senlin-affinity/clouds`` are right, and start."""

from pathlib import Path

import pytest

from senlin_affinity.sandbox.cloud import SandboxCloud

CLOUDS = sorted((Path(__file__).parents[2] / 'etc/senlin-affinity/clouds').glob('*.yaml'))
ZONES = {
    'demo': {'cmp-1': 'az1', 'cmp-2': 'az2', 'vsphere-drs-1': 'vsphere'},
    'two-hosts': {'cmp-1': 'nova', 'cmp-2': 'nova'},
    'zones': {f'az{zone}-{number}': f'az{zone}' for zone in (1, 2, 3) for number in (1, 2)},
}


@pytest.mark.parametrize('path', CLOUDS, ids=lambda path: path.stem)
def test_it_starts(path):
    with SandboxCloud.from_file(path) as cloud:
        services = list(cloud.connection().compute.services(binary='nova-compute'))
    assert {service.host: service.availability_zone for service in services} == ZONES[path.stem]
    assert {service.state for service in services} == {'up'}
