"""The properties of an image: what is asked, and what is made of the answers."""

import pytest

from senlin_affinity.cloud import images
from senlin_affinity.core.errors import CloudError
from tests.support.edge import FAILURES, Edge, Failure
from tests.support.fake_glance import FakeGlance, FakeImage

WINDOWS = FakeImage(
    'windows', {'licence:windows': 'true', 'trait:HW_GPU': 'required', 'min_disk': 7, 'tags': ['x']}
)


def edge(*found):
    return Edge(glance=FakeGlance(*found))


@pytest.mark.parametrize(
    ('named', 'path'), [('windows', '/v2/images'), (WINDOWS.id, f'/v2/images/{WINDOWS.id}')]
)
def test_r1_30_one_request_by_name_and_by_id(named, path):
    with edge(FakeImage('cirros'), WINDOWS) as cloud:
        found = images.properties(cloud.connection(), named)

    assert cloud.glance.asked == [f'GET {path}']
    assert found == {
        'id': WINDOWS.id,
        'name': 'windows',
        'status': 'active',
        'licence:windows': 'true',
        'trait:HW_GPU': 'required',
    }


@pytest.mark.parametrize(
    ('found', 'named', 'words'),
    [
        ((), 'windows', "could not read the properties of image 'windows': 0 images are called so"),
        ((WINDOWS, FakeImage('windows', uuid='other')), 'windows', '2 images are called so'),
        ((), WINDOWS.id, f"could not read the properties of image '{WINDOWS.id}': Glance answered"),
    ],
)
def test_not_one_image(found, named, words):
    with edge(*found) as cloud, pytest.raises(CloudError) as caught:
        images.properties(cloud.connection(), named)
    assert words in str(caught.value)


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_glance_fails(failure):
    with edge(WINDOWS) as cloud:
        cloud.fail('GET', '/v2/images', failure)
        with pytest.raises(CloudError) as caught:
            images.properties(cloud.connection(), 'windows')
    assert failure.words in str(caught.value)


def test_no_glance_in_the_catalogue():
    with Edge() as cloud, pytest.raises(CloudError) as caught:
        images.properties(cloud.connection(), 'windows')
    assert 'image' in str(caught.value)


def test_an_answer_that_is_no_list():
    with edge() as cloud:
        cloud.fail('GET', '/v2/images', Failure('odd', '', 200, ['odd']))
        with pytest.raises(CloudError, match='no list of images'):
            images.properties(cloud.connection(), 'windows')
