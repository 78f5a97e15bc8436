"""An image: what is asked, and what is made of the answers."""

import pytest

from senlin_affinity.cloud import clients, images
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.image import Image
from tests.support.edge import FAILURES, Edge, Failure
from tests.support.fake_glance import FakeGlance, FakeImage

WINDOWS = FakeImage(
    'windows',
    {
        'licence:windows': 'true',
        'trait:HW_GPU': 'required',
        'disk_format': 'qcow2',
        'min_disk': 7,
        'min_ram': 512,
        'size': 5,
        'status': 'queued',
        'tags': ['x'],
    },
)


def edge(*found):
    return Edge(glance=FakeGlance(*found))


@pytest.mark.parametrize(
    ('named', 'path'), [('windows', '/v2/images'), (WINDOWS.id, f'/v2/images/{WINDOWS.id}')]
)
def test_r1_30_one_request_by_name_and_by_id(named, path):
    with edge(FakeImage('cirros'), WINDOWS) as cloud:
        found = images.find(clients.OwnerClient(cloud.connection()), named)

    assert cloud.glance.asked == [f'GET {path}']
    properties = {'licence:windows': 'true', 'trait:HW_GPU': 'required'}
    assert found == Image(WINDOWS.id, 512, 7, 'qcow2', properties, 5, 'queued')


def test_an_image_that_is_not_there_yet_has_no_size():
    with edge(FakeImage('new', {'size': None, 'disk_format': None})) as cloud:
        assert images.find(clients.OwnerClient(cloud.connection()), 'new') == Image(
            FakeImage('new').id
        )


@pytest.mark.parametrize(
    ('found', 'named', 'words'),
    [
        ((), 'windows', "image: there is no image 'windows'"),
        (
            (FakeImage('twin', uuid='b'), FakeImage('twin', uuid='a')),
            'twin',
            "image: 2 of them are called 'twin' (a, b): name the one by its id",
        ),
        ((), WINDOWS.id, f"image: could not read the image '{WINDOWS.id}': Glance answered 404"),
    ],
)
def test_not_one_image(found, named, words):
    with edge(*found) as cloud, pytest.raises(InvalidSpec) as caught:
        images.find(clients.OwnerClient(cloud.connection()), named)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_glance_fails(failure):
    with edge(WINDOWS) as cloud:
        cloud.fail('GET', '/v2/images', failure)
        with pytest.raises(CloudError) as caught:
            images.find(clients.OwnerClient(cloud.connection()), 'windows')
    assert failure.words in str(caught.value)


def test_no_glance_in_the_catalogue():
    with Edge() as cloud, pytest.raises(CloudError) as caught:
        images.find(clients.OwnerClient(cloud.connection()), 'windows')
    assert 'image' in str(caught.value)


def test_an_answer_that_is_no_list():
    with edge() as cloud:
        cloud.fail('GET', '/v2/images', Failure('odd', '', 200, ['odd']))
        with pytest.raises(CloudError, match='no list of images'):
            images.find(clients.OwnerClient(cloud.connection()), 'windows')
