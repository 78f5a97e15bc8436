"""What an image asks for, in a real Nova: told, it counts; not told, the number assumes an image.

Two hosts take two servers each; one of them is in an aggregate for another system.
"""

import pytest

from senlin_affinity import api
from senlin_affinity.core.objects import DEFAULT_FILTERS, FILTERS
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.accuracy.servers import Nova
from tests.support.remedying import Operator

pytestmark = pytest.mark.long

RAM, ROOM, FAST = 64, 4, 'CUSTOM_FAST'
RULE = (*DEFAULT_FILTERS, 'AggregateImagePropertiesIsolation')
TRAITS = ('HW_ARCH_X86_64', 'COMPUTE_ARCH_X86_64')
UNSUPPORTED = (
    'constraint image_hypervisor '
    '(whether the hypervisor supports what the image asks for is not known)'
)
#: The image, how many servers fit by what is said, and why it is "at most": what libvirt emulates,
#: and which CPUs of a host are free for a server of its own.
IMAGES = {
    'nothing': ({}, ROOM, ()),
    'architecture': ({'hw_architecture': 'aarch64'}, ROOM, (UNSUPPORTED,)),
    'hypervisor type': ({'img_hv_type': 'vmware'}, 0, ()),
    'required trait': ({f'trait:{FAST}': 'required'}, 0, ()),
    'hw_cpu_policy': ({'hw_cpu_policy': 'dedicated'}, ROOM, ('image property hw_cpu_policy',)),
    'min_ram': ({'min_ram': 2 * RAM}, 0, ()),
    'os_distro': ({'os_distro': 'linux'}, 2, ()),
}


@pytest.fixture(scope='module')
def cloud():
    """Placement knows the trait, which no host has."""
    with SandboxCloud(
        {name: {'memory_mb': 2 * RAM} for name in ('cmp-1', 'cmp-2')},
        filters=RULE,
        flavors={'f': {'id': 'f', 'ram': RAM}, 'zero': {'id': 'zero', 'ram': RAM, 'disk': 0}},
        aggregates={'windows': {'hosts': ['cmp-1'], 'metadata': {'os_distro': 'windows'}}},
    ) as running:
        operator = Operator(running)
        operator.run(f'openstack trait create {FAST}')
        for name in ('cmp-1', 'cmp-2'):
            operator.set_traits(name, [*operator.traits(name), *TRAITS])
        yield running


def said(connection, flavor='f', **told):
    question = api.Question(ROOM, flavor, enabled_filters=RULE, told=frozenset({FILTERS}), **told)
    return api.answer(question, api.look(connection, question), remedies=False)


@pytest.mark.parametrize('name', IMAGES)
def test_what_an_image_asks_for(cloud, name):
    properties, capacity, at_most = IMAGES[name]
    connection = cloud.connection()
    answer = connection.image.post('/images', json={'name': name, **properties})
    image = answer.json()['id']

    unknown, told = said(connection), said(connection, image=image)

    assert (unknown.capacity, unknown.certain) == (ROOM, False)
    assert 'image.unknown' in {item.code for item in unknown.assumptions}
    assert (told.capacity, told.at_most) == (capacity, at_most), told.line()
    placed = place(Nova(connection, image), image)
    assert placed == capacity or (at_most and placed < capacity)


def place(nova, image):
    """How many servers find a host, one after the other; they are gone in the end."""
    made, status = [], 'ACTIVE'
    while status == 'ACTIVE' and len(made) <= ROOM:
        server, status = nova.boot('f', image=image)
        made += [server]
    nova.delete([server for server in made if server is not None])
    return len(made) - 1


@pytest.mark.parametrize(('user', 'status'), [('admin', 202), ('demo', 403)])
def test_a_flavor_without_a_disk_is_not_for_everybody(cloud, user, status):
    """Nova's policy has the answer, which nobody tells: it is assumed, and nobody is refused."""
    told = {'image': cloud.image_id, 'project_id': cloud.connection(user).current_project_id}
    decision = said(cloud.connection(), 'zero', **told)
    assert decision.fits
    assert 'image.zero_disk' in {item.code for item in decision.assumptions}
    compute = cloud.connection(user).compute
    body = {'name': 's', 'flavorRef': 'zero', 'imageRef': cloud.image_id, 'networks': 'none'}
    answer = compute.post('/servers', json={'server': body}, microversion='2.64')
    assert answer.status_code == status, answer.text
    if status == 202:
        compute.delete(f'/servers/{answer.json()["server"]["id"]}')
