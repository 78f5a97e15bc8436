"""An image is fetched by its name or id."""

import pytest

from senlin_affinity.cloud import clients, images
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.image import Image
from tests.support.edge import FAILURES, SERVER_ERROR, Edge, Failure
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


def cloud_with_images(*found):
    return Edge(glance=FakeGlance(*found))


@pytest.mark.parametrize(
    ('name_or_id', 'path'), [('windows', '/v2/images'), (WINDOWS.id, f'/v2/images/{WINDOWS.id}')]
)
def test_r1_30_an_image_is_found_by_its_name_or_id(name_or_id, path):
    with cloud_with_images(FakeImage('cirros'), WINDOWS) as cloud:
        found = images.find(clients.OwnerClient(cloud.connection()), name_or_id)

    assert cloud.glance.asked == [f'GET {path}']
    properties = {'licence:windows': 'true', 'trait:HW_GPU': 'required'}
    assert found == Image(WINDOWS.id, 512, 7, 'qcow2', properties, 5, 'queued')


def test_a_queued_image_has_no_size():
    new = FakeImage('new', {'size': None, 'disk_format': None, 'status': None})
    with cloud_with_images(new) as cloud:
        assert images.find(clients.OwnerClient(cloud.connection()), 'new') == Image(
            FakeImage('new').id
        )


@pytest.mark.parametrize(
    ('found', 'name_or_id', 'words'),
    [
        ((), 'windows', "image: there is no image 'windows'"),
        (
            (FakeImage('twin', uuid='b'), FakeImage('twin', uuid='a')),
            'twin',
            "image: 2 images are called 'twin': use an id, such as b, a",
        ),
        ((), WINDOWS.id, f"image: could not read the image '{WINDOWS.id}': Glance answered 404"),
    ],
)
def test_an_unknown_or_ambiguous_image_is_invalid(found, name_or_id, words):
    with cloud_with_images(*found) as cloud, pytest.raises(InvalidSpec) as caught:
        images.find(clients.OwnerClient(cloud.connection()), name_or_id)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_a_failure_of_glance_is_an_error(failure):
    with cloud_with_images(WINDOWS) as cloud:
        cloud.fail('GET', '/v2/images', failure)
        with pytest.raises(CloudError) as caught:
            images.find(clients.OwnerClient(cloud.connection()), 'windows')
    assert failure.words in str(caught.value)


def test_a_failure_for_an_id_is_an_error():
    with cloud_with_images(WINDOWS) as cloud:
        cloud.fail('GET', f'/v2/images/{WINDOWS.id}', SERVER_ERROR)
        with pytest.raises(CloudError, match='Glance answered 500'):
            images.find(clients.OwnerClient(cloud.connection()), WINDOWS.id)


def test_a_response_that_is_not_an_image_is_an_error():
    with cloud_with_images(WINDOWS) as cloud:
        cloud.fail('GET', f'/v2/images/{WINDOWS.id}', Failure('malformed', '', 200, ['odd']))
        with pytest.raises(CloudError, match='could not read the image .*: a value in the answer'):
            images.find(clients.OwnerClient(cloud.connection()), WINDOWS.id)


def test_a_catalog_without_glance_is_an_error():
    with Edge() as cloud, pytest.raises(CloudError) as caught:
        images.find(clients.OwnerClient(cloud.connection()), 'windows')
    assert 'image' in str(caught.value)


def test_a_response_without_a_list_is_an_error():
    with cloud_with_images() as cloud:
        cloud.fail('GET', '/v2/images', Failure('malformed', '', 200, ['odd']))
        with pytest.raises(CloudError, match='no list of images'):
            images.find(clients.OwnerClient(cloud.connection()), 'windows')


def test_the_images_of_a_list_need_one_request_for_their_ids():
    with cloud_with_images(FakeImage('cirros'), FakeImage('debian'), WINDOWS) as cloud:
        owner = clients.OwnerClient(cloud.connection())
        names = (WINDOWS.id, 'debian', FakeImage('cirros').id)
        found = images.find_all(owner, names)
        with pytest.raises(InvalidSpec, match='Glance answered 404'):
            images.find_all(owner, (FakeImage('other').id,))

    assert [(name, each.id) for name, each in found.items()] == [
        (WINDOWS.id, WINDOWS.id),
        ('debian', FakeImage('debian').id),
        (FakeImage('cirros').id, FakeImage('cirros').id),
    ]
    assert cloud.glance.asked[:2] == ['GET /v2/images'] * 2
    assert cloud.glance.asked[2:] == ['GET /v2/images', f'GET /v2/images/{FakeImage("other").id}']
