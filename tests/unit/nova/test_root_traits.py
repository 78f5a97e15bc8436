"""What an image requires of a host where nova.conf says so, and what is assumed where none did."""

from dataclasses import replace

import pytest

from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.assumption import Assumption
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import root_traits
from tests.support.small_cloud import flavor_of

QCOW2, VIRTIO = 'COMPUTE_IMAGE_TYPE_QCOW2', 'COMPUTE_STORAGE_BUS_VIRTIO'
IMAGE = Image('i', disk_format='qcow2', properties={'hw_disk_bus': 'virtio'})
TYPES, METADATA = 'are_image_types_asked', 'are_image_models_asked'
CODES = ['traits.image_types', 'traits.image_metadata']


def question(*hosts, image=IMAGE, **options):
    """About hosts with these traits."""
    known = tuple(
        Host(f'cmp-{number}', 'node', traits=frozenset(has), resources={'VCPU': Resource(4, 0)})
        for number, has in enumerate(hosts)
    )
    request = PlacementRequest(1, 'f', image=image)
    rules = Rules.of(**options)
    return ResolvedRequest(request, CloudSnapshot(known), flavor_of(None), rules=rules)


def assumed(asked):
    found = TraitsConstraint().assumptions(asked)
    return [each.code for each in found if isinstance(each, Assumption)]


@pytest.mark.parametrize(
    ('options', 'traits'),
    [
        ({}, set()),
        ({TYPES: True}, {QCOW2}),
        ({METADATA: True}, {VIRTIO}),
        ({TYPES: True, METADATA: True}, {QCOW2, VIRTIO}),
    ],
    ids=['by default', 'the format', 'the devices', 'both'],
)
def test_what_an_image_requires(options, traits):
    asked = question([], **options)
    assert root_traits.required(asked) == traits
    assert bool(TraitsConstraint().check_host(asked, asked.snapshot.hosts[0])) is (not traits)


def test_a_volume_has_no_disk_format():
    asked = question([], are_image_types_asked=True)
    booted = replace(asked, request=replace(asked.request, is_volume_booted=True))
    assert root_traits.required(booted) == set()


@pytest.mark.parametrize(
    ('hosts', 'codes'),
    [
        ([[QCOW2, VIRTIO]], []),
        ([[QCOW2, VIRTIO], []], CODES),
        ([[QCOW2], [QCOW2]], CODES[1:]),
        ([[VIRTIO]], CODES[:1]),
    ],
    ids=['hosts take it', 'one does not', 'none has the bus', 'none takes the format'],
)
def test_what_is_assumed(hosts, codes):
    """Only where it could change the number."""
    assert assumed(question(*hosts)) == codes
    assert assumed(question(*hosts, are_image_types_asked=False, are_image_models_asked=True)) == []
    assert assumed(question(*hosts, image=None)) == []
