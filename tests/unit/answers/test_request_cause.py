"""Why Nova found no host, from the request alone."""

import pytest

from senlin_affinity.answers.likely_cause import of_request
from senlin_affinity.model.server_group import AFFINITY
from tests.support.asked import resolve
from tests.support.small_cloud import request_of, snapshot_of

SERVER = '10000000-0000-4000-8000-000000000001'
FILTERS = "Placement had hosts for one such server, but the scheduler's filters left too few"
BECAUSE = f'{FILTERS}, probably because of '
UNEXPLAINED = (
    f'{FILTERS}; no requirement of this request explains it: the hosts may be down or reserved'
)


def said(row, *, is_by_filters):
    row = {'hosts': None, **row}
    asked = resolve(request_of(row), snapshot_of(row))
    return of_request(asked.request, is_by_filters=is_by_filters)


def specs(**given):
    return {'flavor': {'extra_specs': given}}


def request(**given):
    return {'request': given}


@pytest.mark.parametrize(
    ('row', 'words'),
    [
        ({'flavor': {'ram': 2048, 'disk': 10}},
         'Placement had no enabled host with room for 1 VCPU, 2048 MiB of memory, 10 GiB of disk.'),
        (specs(**{'trait:CUSTOM_NVME': 'required', 'resources:VGPU': '2'}),
         'Placement had no enabled host with room for 2 VGPU, 1 VCPU, 512 MiB of memory, 1 GiB of '
         'disk, trait CUSTOM_NVME.'),
        (specs(**{f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')},
               **{'resources:CUSTOM_GOLD': '1'}),
         'Placement had no enabled host with room for 1 CUSTOM_GOLD.'),
        (request(is_volume_booted=True, availability_zone='az-2'),
         'Placement had no enabled host in zone az-2 with room for 1 VCPU, 512 MiB of memory.'),
        ({'flavor': None},
         'Placement had no enabled host with the resources, traits and aggregates that such a '
         'server needs.'),
    ],
    ids=['amounts', 'special', 'node', 'volume and zone', 'unknown flavor'],
)  # fmt: skip
def test_placement_found_no_room_for_what_the_request_needs(row, words):
    assert said(row, is_by_filters=False) == words


@pytest.mark.parametrize(
    ('row', 'words'),
    [
        (specs(**{'aggregate_instance_extra_specs:ssd': 'true'}),
         f'{BECAUSE}aggregate_instance_extra_specs:ssd=true.'),
        (request(image_properties={'hw_architecture': 'aarch64', 'os_type': 'linux'}),
         f'{BECAUSE}hw_architecture=aarch64.'),
        (request(image_properties={'hw_architecture': 'x86_64'}), f'{UNEXPLAINED}.'),
        (specs(**{'hw:mem_page_size': '1GB'}), f'{BECAUSE}hw:mem_page_size=1GB.'),
        (specs(**{'hw:mem_page_size': '1GB'})
         | request(enabled_filters=['ComputeFilter']), f'{UNEXPLAINED}.'),
        (request(scheduler_hints={'same_host': [SERVER]}),
         f'{BECAUSE}the scheduler hint same_host.'),
        ({'group': {'policy': AFFINITY, 'members': [None]}},
         f'{BECAUSE}the policy affinity of server group web.'),
        (request(availability_zone='az-1', enabled_filters=['AvailabilityZoneFilter']),
         f'{BECAUSE}zone az-1.'),
        ({'group': {'policy': 'soft-affinity'}}, f'{UNEXPLAINED}.'),
        (request(count=2), f'{UNEXPLAINED}, or have room for fewer servers.'),
    ],
    ids=[
        *('aggregate', 'image', 'usual image', 'pages', 'not enabled', 'hint', 'group', 'zone'),
        *('soft group', 'several'),
    ],
)  # fmt: skip
def test_filters_read_requirements_of_the_request(row, words):
    assert said(row, is_by_filters=True) == words
