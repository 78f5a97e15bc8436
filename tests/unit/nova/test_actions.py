"""What rejects an action on a server for any host, and the request for a host."""

import pytest
from msgspec.structs import replace

from senlin_affinity.model import verdict
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import QUOTA, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.actions import (
    OF_REBUILD,
    REASONS,
    SAME_HOST,
    Action,
    ServerAction,
    obstacle,
    request_of,
    unchecked,
)
from senlin_affinity.nova.moves import REBUILT_IMAGE

SMALL, BIG = Flavor('small', 'small', 1, 64, 1), Flavor('big', 'big', 4, 256, 1)
WEB = Server('s1', 'web-1', 'ACTIVE', host='cmp-1', flavor=SMALL, server_group='g')
OFFLOADED = replace(WEB, status='SHELVED_OFFLOADED', host=None)
HOSTS = tuple(Host(f'cmp-{number}', hypervisor_type='QEMU') for number in (1, 2, 3))
PLAIN = Image('i')
STATUS = {Action.UNSHELVE: 'SHELVED'}


def cloud(policy='anti-affinity', *, is_down=False, hosts=HOSTS):
    members = Member('s1', 'cmp-1'), Member('s2', 'cmp-2')
    group = ServerGroup('g', 'web', policy, members=members)
    first = replace(hosts[0], up=not is_down)
    return Cloud((first, *hosts[1:]), server_groups=(group,))


def names(asked, known=None, settings=None):
    """Return the hosts that Nova considers."""
    _request, found = request_of(asked, known or cloud(), settings or Settings())
    return [each.host for each in found.hosts]


@pytest.mark.parametrize('action', Action)
def test_an_action_that_nova_accepts(action):
    server = replace(WEB, status=STATUS.get(action, 'ACTIVE'))
    known = cloud(is_down=action is Action.EVACUATE)
    asked = ServerAction(action, server, flavor=BIG, image=PLAIN)
    assert obstacle(asked, known, Settings()) is None


@pytest.mark.parametrize(
    ('action', 'status', 'sentence'),
    [
        (Action.RESIZE, 'ERROR', 'has the status ERROR; Nova accepts ACTIVE, SHUTOFF'),
        (Action.UNSHELVE, 'ACTIVE', 'has the status ACTIVE; Nova accepts SHELVED, SHELVED_OFFLO'),
        (Action.REBUILD, 'PAUSED', 'has the status PAUSED; Nova accepts ACTIVE, SHUTOFF, ERROR'),
        (Action.MIGRATE, 'PAUSED', 'has the status PAUSED; Nova accepts ACTIVE, SHUTOFF'),
    ],
)
def test_an_action_on_a_server_in_another_status(action, status, sentence):
    asked = ServerAction(action, replace(WEB, status=status), flavor=BIG, image=PLAIN)
    found = obstacle(asked, cloud(), Settings())
    assert sentence in verdict.sentence(found, REASONS)


def test_a_task_and_an_image_that_the_flavor_forbids():
    busy = ServerAction(Action.UNSHELVE, replace(OFFLOADED, task_state='unshelving'))
    assert obstacle(busy, cloud(), Settings()).code == 'move.busy'
    flavor = replace(SMALL, extra_specs={'trait:CUSTOM_A': 'forbidden'})
    for trait, code in (('CUSTOM_A', 'move.image_traits'), ('CUSTOM_B', None)):
        image = Image('i', properties={f'trait:{trait}': 'required'})
        asked = ServerAction(Action.REBUILD, replace(WEB, flavor=flavor), image=image)
        found = obstacle(asked, cloud(), Settings())
        assert (None if found is None else found.code) == code


@pytest.mark.parametrize(
    ('flavor', 'server', 'sentence'),
    [
        ({'id': 'uuid'}, {}, 'web-1 has the flavor small already'),
        ({'extra_specs': {'a:b': '1'}}, {}, None),  # changed, or created anew
        ({'ram': 128}, {}, None),  # created anew under this name
        (
            {'name': 'thin', 'disk': 0},
            {},
            'the disk of web-1 has 1 GiB, that of flavor thin 0 GiB, and Nova shrinks no disk',
        ),
        ({'name': 'thin', 'disk': 0}, {'is_volume_booted': True}, None),
        ({'name': 'thin', 'disk': 0}, {'unknown': Texts(('is_volume_booted',))}, None),
        ({'name': 'wide', 'disk': 2}, {}, None),
        (
            {'name': 'thin', 'ram': 32},
            {'image_min_ram': 48},
            'the image of web-1 requires 48 MiB of memory, and flavor thin has 32',
        ),
        ({'name': 'thin', 'ram': 48}, {'image_min_ram': 48}, None),
        (
            {'name': 'thin', 'ram': 32},
            {'image_min_ram': 48, 'unknown': Texts((REBUILT_IMAGE,))},
            None,
        ),
        ({'name': 'thin', 'disk': 0}, {'flavor': None}, None),
    ],
)
def test_the_new_flavor_of_a_resize(flavor, server, sentence):
    asked = ServerAction(Action.RESIZE, replace(WEB, **server), replace(SMALL, **flavor))
    found = obstacle(asked, cloud(), Settings())
    assert (None if found is None else verdict.sentence(found, REASONS)) == sentence


@pytest.mark.parametrize(
    ('action', 'status', 'host', 'code'),
    [
        (Action.MIGRATE, 'ACTIVE', 'cmp-1', 'move.own_host'),
        (Action.LIVE_MIGRATE, 'ACTIVE', 'cmp-1', 'move.own_host'),
        (Action.EVACUATE, 'ACTIVE', 'cmp-1', 'move.own_host'),
        (Action.MIGRATE, 'PAUSED', 'cmp-1', 'move.status'),
        (Action.LIVE_MIGRATE, 'ACTIVE', 'cmp-2', None),
        (Action.LIVE_MIGRATE, 'ACTIVE', 'cmp-3', 'move.hypervisor_type'),
        (Action.MIGRATE, 'ACTIVE', 'cmp-3', None),
        (Action.MIGRATE, 'ACTIVE', 'cmp-9', None),
        (Action.UNSHELVE, 'SHELVED', 'cmp-2', 'move.status'),
        (Action.UNSHELVE, 'SHELVED_OFFLOADED', 'cmp-2', None),
    ],
)
def test_a_requested_host_that_is_no_target(action, status, host, code):
    hosts = (*HOSTS[:2], replace(HOSTS[2], hypervisor_type='VMware'))
    known = cloud(is_down=action is Action.EVACUATE, hosts=hosts)
    found = obstacle(ServerAction(action, replace(WEB, status=status)), known, Settings(), host)
    assert (None if found is None else found.code) == code


def test_a_resize_to_a_flavor_that_is_unknown():
    assert obstacle(ServerAction(Action.RESIZE, WEB), cloud(), Settings()) is None


@pytest.mark.parametrize(
    ('action', 'hosts'),
    [
        (Action.RESIZE, ['cmp-2', 'cmp-3']),
        (Action.MIGRATE, ['cmp-2', 'cmp-3']),
        (Action.LIVE_MIGRATE, ['cmp-2', 'cmp-3']),
        (Action.EVACUATE, ['cmp-2', 'cmp-3']),
        (Action.UNSHELVE, ['cmp-1', 'cmp-2', 'cmp-3']),
        (Action.REBUILD, ['cmp-1']),
    ],
)
def test_the_hosts_that_nova_considers(action, hosts):
    server = OFFLOADED if action is Action.UNSHELVE else WEB
    assert names(ServerAction(action, server, BIG, PLAIN)) == hosts


def test_a_resize_may_stay_on_its_host_if_nova_conf_says_so():
    settings = Settings(options={SAME_HOST.key: True})
    assert names(ServerAction(Action.RESIZE, WEB, BIG), settings=settings) == [
        *('cmp-1', 'cmp-2', 'cmp-3')
    ]
    assert names(ServerAction(Action.MIGRATE, WEB), settings=settings) == ['cmp-2', 'cmp-3']


def test_a_live_migration_needs_a_hypervisor_of_the_same_type():
    other = replace(HOSTS[1], hypervisor_type='ironic')
    known = cloud(hosts=(HOSTS[0], other, HOSTS[2]))
    assert names(ServerAction(Action.LIVE_MIGRATE, WEB), known) == ['cmp-3']
    assert names(ServerAction(Action.MIGRATE, WEB), known) == ['cmp-2', 'cmp-3']


def test_unknown_hosts_stay_unknown():
    for action in Action:
        asked = ServerAction(action, WEB, BIG, PLAIN)
        assert request_of(asked, Cloud(), Settings())[1].hosts is None


def test_a_resize_has_the_new_flavor_which_nova_api_checks():
    request, _cloud = request_of(ServerAction(Action.RESIZE, WEB, BIG), cloud(), Settings())
    assert request.flavor == BIG
    assert [each.server for each in request.server_group.members] == ['s2']
    assert request.settings.waived == {QUOTA, 'image'}


def test_an_unshelved_server_does_not_count_in_its_group():
    """A server that runs counts in its affinity group, which keeps it on its host."""
    known = cloud('affinity')
    for action, server, members in (
        (Action.UNSHELVE, OFFLOADED, ['s2']),
        (Action.RESIZE, WEB, ['s1', 's2']),
    ):
        request, _cloud = request_of(ServerAction(action, server, BIG), known, Settings())
        assert [each.server for each in request.server_group.members] == members
    alone = replace(OFFLOADED, server_group=None)
    assert (
        request_of(ServerAction(Action.UNSHELVE, alone), known, Settings())[0].server_group is None
    )


def test_a_rebuild_compares_only_the_image():
    flavor = replace(SMALL, extra_specs={'trait:CUSTOM_A': 'required', 'hw:cpu_policy': 'shared'})
    image = Image('i', properties={'trait:CUSTOM_B': 'required'})
    asked = ServerAction(Action.REBUILD, replace(WEB, flavor=flavor), image=image)
    request, _cloud = request_of(asked, cloud(), Settings())
    assert request.extra_specs == {'hw:cpu_policy': 'shared'}
    assert request.image == image
    assert 'image' not in request.settings.waived


@pytest.mark.parametrize(
    ('action', 'server', 'checked', 'is_scheduled'),
    [
        (Action.REBUILD, {'image': 'j'}, OF_REBUILD, True),
        (Action.REBUILD, {'image': 'i'}, {'image'}, False),
        (Action.UNSHELVE, {'status': 'SHELVED'}, frozenset(), False),
        (Action.UNSHELVE, {'status': 'SHELVED_OFFLOADED'}, frozenset(), True),
        (Action.MIGRATE, {}, frozenset(), True),
    ],
)
def test_nova_scheduler_is_not_asked_about_the_same_image(action, server, checked, is_scheduled):
    flavor = replace(SMALL, extra_specs={'trait:CUSTOM_A': 'forbidden'})
    properties = {'trait:CUSTOM_A': 'required', 'hw_mem_page_size': '1GB'}
    image = Image('i', properties=properties) if action is Action.REBUILD else None
    asked = ServerAction(action, replace(WEB, flavor=flavor, **server), image=image)
    assert (asked.checked, asked.is_scheduled) == (checked, is_scheduled)
    if image is not None:
        assert (obstacle(asked, cloud(), Settings()) is None) is not is_scheduled
        assert bool(unchecked(asked)) is is_scheduled


def test_an_image_without_an_id_is_a_new_one():
    assert ServerAction(Action.REBUILD, WEB, image=Image()).is_scheduled
    assert ServerAction(Action.REBUILD, WEB).is_scheduled


def test_what_is_not_checked():
    assert unchecked(ServerAction(Action.LIVE_MIGRATE, WEB)) == (
        'CPU model and hypervisor version',
    )
    assert unchecked(ServerAction(Action.RESIZE, WEB, BIG)) == ()
    hidden = replace(WEB, unknown=Texts(('hints',)))
    assert unchecked(ServerAction(Action.UNSHELVE, hidden)) == (
        'the scheduler hints of the server',
    )
    rebuilt = replace(WEB, unknown=Texts((REBUILT_IMAGE,)), image_properties={'os_distro': 'a'})
    words = 'the image of its failed rebuild, by which Nova still chooses its hosts'
    assert unchecked(ServerAction(Action.MIGRATE, rebuilt)) == (words,)
    request, _cloud = request_of(ServerAction(Action.MIGRATE, rebuilt), cloud(), Settings())
    assert request.image_properties is None
    pages = Image('i', properties={'hw_mem_page_size': '1GB'})
    assert unchecked(ServerAction(Action.REBUILD, WEB, image=PLAIN)) == ()
    assert unchecked(ServerAction(Action.REBUILD, WEB, image=pages)) == (
        'the NUMA topology, which the image must not change',
    )


def test_a_resize_to_a_flavor_of_the_same_name_and_sizes_is_not_certain():
    """Its extra specs were changed, and Nova rejects it, or it was created anew."""
    for specs, number in (({'a:b': '1'}, 1), ({}, 0)):
        new = replace(SMALL, name='small' if specs else 'other', extra_specs=specs)
        asked = ServerAction(Action.RESIZE, WEB, new)
        assert len([each for each in unchecked(asked) if 'created anew' in each]) == number
