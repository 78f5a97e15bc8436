"""Nova's own check of a flavor and an image is the oracle for the constraint."""

from itertools import product
from types import SimpleNamespace

import pytest
from nova import exception, objects
from nova.compute import api

from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.model.cloud import Cloud, Flavor
from senlin_affinity.model.image import Image
from tests.support.asked import NamedRequest, with_values

GIB = 1024**3
objects.register_all()
#: A request context without the clients of other services.
API = object.__new__(api.API)
#: Nova's policy for flavors without a disk is another matter.
ADMIN = SimpleNamespace(can=lambda *_rule, **_more: True)
VOLUME = objects.BlockDeviceMapping(
    source_type='volume', destination_type='volume', volume_size=None
)
IMAGES = [
    Image('i', ram, disk, 'raw', {}, size, status)
    for ram, disk, size, status in product(
        (0, 511, 512, 513), (0, 1, 2), (0, GIB, GIB + 1), ('active', 'queued')
    )
]


def is_taken(image, disk, root):
    body = {'min_ram': image.min_ram, 'min_disk': image.min_disk, 'size': image.size}
    asked = objects.Flavor(memory_mb=512, root_gb=disk, vcpus=1, extra_specs={})
    body |= {'status': image.status, 'properties': {}}
    try:
        api.API._validate_flavor_image(API, ADMIN, image.id, body, asked, root, validate_numa=False)
    except (
        exception.ImageNotActive,
        exception.FlavorMemoryTooSmall,
        exception.FlavorDiskSmallerThanImage,
        exception.FlavorDiskSmallerThanMinDisk,
    ):
        return False
    return True


@pytest.mark.parametrize('root', [None, VOLUME], ids=['a disk', 'a volume'])
@pytest.mark.parametrize('disk', [0, 1, 2])
def test_images_that_nova_rejects_with_400_are_rejected(disk, root):
    small = Flavor('f', 'small', 1, 512, disk)
    for image in IMAGES:
        request = NamedRequest(1, 'f', image=image, is_volume_booted=root is not None)
        verdict = ImageConstraint().check_request(*with_values(request, Cloud(), small))
        assert bool(verdict) == is_taken(image, disk, root), (image, verdict)
