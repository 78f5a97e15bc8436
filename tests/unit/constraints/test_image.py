"""The requirements of an image for the flavor, and the assumptions about an unread image."""

import pytest

from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.image import Image
from tests.support.asked import NamedRequest, with_values
from tests.support.small_cloud import flavor_of
from tests.support.tables import rows
from tests.unit.constraints.test_verdicts import check


def asked(row):
    image = row.get('image')
    flavor = None if row.get('flavor', {}) is None else flavor_of(row.get('flavor'))
    request = NamedRequest(
        1,
        'f',
        image=None if image is None else Image(**image),
        is_volume_booted=row.get('volume', False),
    )
    return with_values(request, Cloud(), flavor)


@pytest.mark.parametrize('row', rows('image'))
def test_image(row):
    check(row, ImageConstraint().check_request(*asked(row)), ImageConstraint.reasons)


@pytest.mark.parametrize(
    ('properties', 'image', 'codes'),
    [
        (None, None, []),
        ({}, None, []),
        ({'os_distro': 'any'}, None, ['image.minimum']),
        ({'os_distro': 'any'}, Image(), []),
    ],
)
def test_the_size_of_an_image_with_only_properties_is_unknown(properties, image, codes):
    question = asked({})
    question = question.but(image_properties=properties, image=image)
    found = ImageConstraint().assumptions(*question)
    assert [item.code for item in found] == codes
