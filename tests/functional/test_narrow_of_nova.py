"""A yes by a few hosts of a real Nova and a real Placement, and what Nova then does."""

import pytest
from openstack.exceptions import ResourceFailure

from senlin_affinity import api
from senlin_affinity.cloud import eyes, narrow
from senlin_affinity.cloud.eyes import CloudsEyes, Eyes, OwnersEyes
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.policy import hook
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.certificate import SPARE
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.policy.question import Question
from senlin_affinity.sandbox.blueprint import HostSpec
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

HOSTS = [f'cmp-{number}' for number in range(SPARE + 4)]
ZONED = HOSTS[: SPARE + 2]
PLAIN = 'm1.tiny'


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS) as running:
        admin = running.connection().compute
        zone = admin.create_aggregate(name='zone', availability_zone='az1')
        other = admin.create_aggregate(name='other', availability_zone='az2')
        for host in HOSTS:
            admin.add_host_to_aggregate(zone.id if host in ZONED else other.id, host)
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    return cloud.connection()


def growth_of(cloud, owner, count, group, flavor=PLAIN, **wanted):
    question = Question(
        count,
        server_group=group.id,
        policy={'type': TYPE, 'version': '1.1', 'properties': wanted},
        profile={'properties': {'flavor': flavor, 'image': cloud.image_id}},
        project_id=owner.session.get_project_id(),
    )
    return hook.Growth(question, Binding(group.id, is_inherited=True), load_constraints())


def see(cloud, admin, count, group, **wanted):
    growth = growth_of(cloud, admin, count, group, **wanted)
    return narrow.see(eyes.of(admin), hook.needs(growth)).look


@pytest.fixture
def group(admin):
    made = admin.compute.create_server_group(name='web', policy='anti-affinity')
    yield made
    clear(admin, made)


def clear(owner, group):
    for server in list(owner.compute.servers(details=False)):
        owner.compute.delete_server(server)
    until(lambda: not list(owner.compute.servers(details=False)), what='the servers are gone')
    owner.compute.delete_server_group(group)


def boot(cloud, owner, flavor, group):
    server = owner.compute.create_server(
        name='node',
        flavor_id=flavor,
        image_id=cloud.image_id,
        networks='none',
        scheduler_hints={'group': group.id},
    )
    return owner.compute.wait_for_server(server, interval=0.1)


@pytest.mark.parametrize(
    ('count', 'zone', 'is_yes'),
    [(4, None, True), (5, None, False), (2, 'az1', True), (3, 'az1', False)],
)
def test_ten_hosts_are_to_spare(cloud, admin, group, count, zone, is_yes):
    wanted = {} if zone is None else {'availability_zone': zone}
    assert (see(cloud, admin, count, group, **wanted) is not None) == is_yes


def test_members_are_counted_and_the_servers_come_up(cloud, admin, group):
    flavor = admin.compute.find_flavor(PLAIN).id
    boots = 0
    while see(cloud, admin, 1, group) is not None:
        boot(cloud, admin, flavor, group)
        boots += 1
    assert boots == len(HOSTS) - SPARE


# -- a no by all hosts that Placement has

RARE, RARE_HOSTS = 'CUSTOM_RARE', 3


@pytest.fixture(scope='module')
def rare(admin):
    """A flavor that few hosts have the trait for."""
    placement, more = admin.placement, {'microversion': '1.6'}
    assert placement.put(f'/traits/{RARE}', **more).ok
    for provider in placement.get('/resource_providers', **more).json()['resource_providers']:
        if provider['name'] in HOSTS[:RARE_HOSTS]:
            path = f'/resource_providers/{provider["uuid"]}/traits'
            has = placement.get(path, **more).json()
            assert placement.put(path, json={**has, 'traits': [*has['traits'], RARE]}, **more).ok
    flavor = admin.compute.create_flavor(name='rare', ram=64, vcpus=1, disk=1)
    admin.compute.create_flavor_extra_specs(flavor, {f'trait:{RARE}': 'required'})
    return flavor.id


def same_words(cloud, admin, demo, group, count, flavor=PLAIN, **wanted):
    """The hosts of the look that refuses, in the words of the whole look; and these words."""
    both = Eyes(OwnersEyes(demo), CloudsEyes(admin))
    growth = growth_of(cloud, demo, count, group, flavor, **wanted)
    needed = hook.needs(growth)
    look = narrow.see(both, needed).look
    said = hook.decide(growth, look)
    assert isinstance(said.answer, Refusal)
    assert said.answer == hook.decide(growth, api.see(both, needed)).answer
    return {host.host for host in look.snapshot.hosts}, said.answer.reason


@pytest.mark.parametrize('disabled', [[], HOSTS[:1]], ids=['all', 'one is disabled'])
@pytest.mark.parametrize('members', [0, 1, 2])
def test_a_no_says_what_the_whole_look_says(cloud, admin, rare, members, disabled):
    demo = cloud.connection('demo')
    group = demo.compute.create_server_group(name='web', policy='anti-affinity')
    for _ in range(members):
        boot(cloud, demo, rare, group)
    services = [each for each in admin.compute.services() if each.host in disabled]
    for each in services:
        admin.compute.disable_service(each)
    try:
        hosts, _words = same_words(cloud, admin, demo, group, RARE_HOSTS + 1, rare)
        assert hosts <= {*HOSTS[:RARE_HOSTS]}
    finally:
        for each in services:
            admin.compute.enable_service(each)
        clear(demo, group)


def test_a_member_that_an_administrator_moves_counts_on_both_hosts(cloud, admin, rare):
    """The migration is of the project of who started it."""
    demo, left = cloud.connection('demo'), RARE_HOSTS - 2
    group = demo.compute.create_server_group(name='web', policy='anti-affinity')
    try:
        moved = boot(cloud, demo, rare, group)
        admin.compute.migrate_server(moved)
        admin.compute.wait_for_server(moved, 'VERIFY_RESIZE', interval=0.1)
        _hosts, words = same_words(cloud, admin, demo, group, RARE_HOSTS, rare)
        assert f'at most {left} of {RARE_HOSTS}' in words
        for _ in range(left):
            boot(cloud, demo, rare, group)
        with pytest.raises(ResourceFailure):
            boot(cloud, demo, rare, group)
    finally:
        clear(demo, group)


@pytest.fixture
def most(admin):
    """A flavor of which no host takes two, and half of it."""
    size = HostSpec('any').memory_mb
    made = [
        admin.compute.create_flavor(name=f'of-{ram}', ram=ram, vcpus=1, disk=1)
        for ram in (size * 3 // 5, size * 3 // 10)
    ]
    for each in made:
        admin.compute.create_flavor_extra_specs(each, {f'trait:{RARE}': 'required'})
    yield made[0].id
    for each in made:
        admin.compute.delete_flavor(each)


def test_a_smaller_flavor(cloud, admin, rare, most):
    demo = cloud.connection('demo')
    group = demo.compute.create_server_group(name='web', policy='soft-anti-affinity')
    try:
        _hosts, words = same_words(cloud, admin, demo, group, RARE_HOSTS + 1, most)
        assert f'at most {RARE_HOSTS} of {RARE_HOSTS + 1}' in words
        assert 'would help: flavor: of-' in words
    finally:
        clear(demo, group)


def test_another_zone(cloud, admin):
    demo = cloud.connection('demo')
    group = demo.compute.create_server_group(name='web', policy='anti-affinity')
    try:
        hosts, words = same_words(cloud, admin, demo, group, 3, availability_zone='az2')
        assert hosts > {*HOSTS} - {*ZONED}
        assert 'at most 2 of 3; they must be in zone az2' in words
    finally:
        clear(demo, group)


def test_affinity_on_a_host_that_is_full(cloud, admin, rare, most):
    demo = cloud.connection('demo')
    group = demo.compute.create_server_group(name='web', policy='affinity')
    try:
        boot(cloud, demo, most, group)
        _hosts, words = same_words(cloud, admin, demo, group, 2, most)
        assert 'at most 0 of 2; the servers of server group web must share a host' in words
    finally:
        clear(demo, group)
