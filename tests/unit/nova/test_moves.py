"""What rejects the move of a server to any host, and the request for its new host."""

from typing import Any

import pytest
from msgspec.structs import replace

from senlin_affinity.model import verdict
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.effective_zone import DEFAULT_SCHEDULE_ZONE, wanted_zone
from senlin_affinity.nova.moves import (
    COLD,
    EVACUATE,
    IMAGE_TRAITS,
    LIVE,
    REASONS,
    Kind,
    caveats,
    kind_of,
    may_unpin,
    mismatch,
    obstacle,
    request_of,
    unchecked,
)
from tests.support.tables import rows

SMALL = Flavor('small', 'small', 1, 64, 1)
WEB = Server('s1', 'web-1', 'ACTIVE', host='cmp-1', flavor=SMALL, server_group='g')
MEMBERS = (Member('s1', 'cmp-1'), Member('s2', 'cmp-2'))


def _group(policy: str) -> ServerGroup:
    return ServerGroup('g', 'web', policy, members=MEMBERS)


@pytest.mark.parametrize('row', rows('moves'))
def test_obstacles(row):
    """The real Nova decides the same (tests/functional/test_moves_like_nova.py)."""
    flavor = replace(SMALL, extra_specs=row.get('specs', {}))
    more = {'host': 'cmp-1', **row['server']}
    server = Server('s1', 'web-1', flavor=flavor, image_properties=row.get('image', {}), **more)
    host = Host('cmp-1', up=not row.get('is_down'), hypervisor_type=row.get('type', 'QEMU'))
    groups: tuple[ServerGroup, ...] = ()
    if 'policy' in row:
        server, groups = replace(server, server_group='g'), (_group(row['policy']),)
    settings = Settings(*([tuple(row['filters'])] if 'filters' in row else []))
    found = obstacle(server, row['kind'], Cloud((host,), server_groups=groups), settings)
    assert (None if found is None else found.code) == row['code']
    if found is not None:
        sentence = verdict.sentence(found, REASONS)
        assert sentence == row.get('sentence', sentence)
        assert found.facts == row.get('facts', found.facts)


def test_a_host_that_was_not_read_rejects_nothing():
    assert obstacle(WEB, LIVE, Cloud(), Settings()) is None
    assert obstacle(WEB, EVACUATE, Cloud(()), Settings()) is None


@pytest.mark.parametrize(
    ('status', 'kind'),
    [('ACTIVE', LIVE), ('PAUSED', LIVE), ('SHUTOFF', COLD), ('SUSPENDED', COLD), ('ERROR', COLD)],
)
def test_running_and_paused_servers_move_live(status, kind):
    assert kind_of(replace(WEB, status=status)) == kind


@pytest.mark.parametrize(
    ('kind', 'types', 'code'),
    [
        (LIVE, ('QEMU', 'QEMU'), None),
        (LIVE, ('QEMU', 'VMware vCenter Server'), 'move.hypervisor_type'),
        (COLD, ('QEMU', 'VMware vCenter Server'), None),
        (LIVE, ('', 'QEMU'), None),
        (LIVE, ('QEMU', ''), None),
    ],
)
def test_only_live_migrations_need_a_hypervisor_of_the_same_type(kind: Kind, types, code):
    source, target = (
        Host(name, hypervisor_type=each) for name, each in zip('ab', types, strict=True)
    )
    found = mismatch(kind, source, target)
    assert (None if found is None else found.code) == code
    assert found is None or verdict.sentence(found, REASONS).startswith('of type VMware')


@pytest.mark.parametrize(
    ('policy', 'members'),
    [
        # Nova has the source among the hosts of an affinity group, also for its only member.
        ('affinity', ['s1', 's2']),
        ('anti-affinity', ['s2']),
        ('soft-affinity', ['s2']),
        ('soft-anti-affinity', ['s2']),
    ],
)
def test_only_an_affinity_group_counts_the_server_itself(policy, members):
    cloud = Cloud((), server_groups=(_group(policy),))
    group = request_of(WEB, cloud, Settings()).server_group
    assert group is not None
    assert [each.server for each in group.members] == members


def test_the_request_has_what_the_server_was_created_with():
    server = replace(
        WEB,
        pinned_zone='az1',
        hints={'same_host': ['s3']},
        image_properties={'hw_cdrom_bus': 'scsi'},
        is_volume_booted=True,
        project_id='p',
        user_id='u',
    )
    request = request_of(server, Cloud((), server_groups=()), Settings())
    assert (request.count, request.flavor, request.availability_zone) == (1, SMALL, 'az1')
    assert request.scheduler_hints == {'same_host': ['s3']}
    assert request.image_properties == {'hw_cdrom_bus': 'scsi'}
    assert (request.is_volume_booted, request.project_id, request.user_id) == (True, 'p', 'u')
    assert (request.server_group, request.unknown_group) == (None, 'g')
    assert request.settings.waived == {'quota', 'flavor', 'image'}


def test_a_server_without_a_pinned_zone_may_leave_the_default_zone():
    """Only nova-api applies default_schedule_zone, when it creates a server."""
    settings = Settings(options={DEFAULT_SCHEDULE_ZONE.key: 'az1', 'other': 1})
    request = request_of(WEB, Cloud(()), settings)
    assert wanted_zone(request) is None
    assert request.settings.is_explicit(DEFAULT_SCHEDULE_ZONE)
    assert request.settings.options['other'] == 1


def _with_specs(**specs: str) -> Server:
    return replace(WEB, flavor=replace(SMALL, extra_specs=specs))


@pytest.mark.parametrize(
    ('server', 'kind', 'words'),
    [
        (WEB, LIVE, []),
        (_with_specs(**{'pci_passthrough:alias': 'gpu:1'}), LIVE, ['PCI alias']),
        (_with_specs(**{'pci_passthrough:alias': 'gpu:1'}), COLD, []),
        (
            replace(WEB, unknown=Texts(['pinned_zone', 'hints'])),
            COLD,
            ['the zone', 'the scheduler'],
        ),
        (replace(WEB, unknown=Texts(['is_locked', 'attached'])), COLD, []),
        (replace(WEB, flavor=None), LIVE, []),
    ],
)
def test_what_is_not_known_of_the_server_is_a_caveat(server: Server, kind: Kind, words: list[Any]):
    found = caveats(server, kind)
    assert len(found) == len(words)
    assert all(part in text for part, text in zip(words, found, strict=True))


def test_an_unknown_image_is_not_one_without_properties():
    server = replace(WEB, unknown=Texts(['image_properties']))
    assert request_of(server, Cloud(()), Settings()).image_properties is None


def test_only_a_live_migration_depends_on_the_hypervisor():
    assert unchecked(WEB, LIVE) == ('CPU model and hypervisor version',)
    assert unchecked(WEB, COLD) == unchecked(WEB, EVACUATE) == ()


def test_what_no_service_shows_is_not_checked():
    """Nova never shows the image of a volume: that alone makes no plan of a drain uncertain."""
    of_volume = Server(
        'a', 'a', 'ACTIVE', is_volume_booted=True, unknown=Texts({'image_properties'})
    )
    assert caveats(of_volume, COLD) == ()
    assert unchecked(of_volume, COLD) == ('the image of its volume',)
    of_image = Server('a', 'a', 'ACTIVE', unknown=Texts({'image_properties'}))
    assert caveats(of_image, COLD) == ('the properties of its image',)
    without = Server('a', 'a', 'ACTIVE', unknown=Texts({IMAGE_TRAITS}))
    (words,) = unchecked(without, COLD)
    assert words.startswith('traits that its image required')


@pytest.mark.parametrize(('release', 'may'), [(33, False), (34, True), (None, True)])
def test_a_pinned_zone_is_removed_from_2_104(release, may):
    assert may_unpin(Cloud(nova_release=release)) is may
