"""A yes by a few hosts of a real Nova and a real Placement, and what Nova then does."""

import pytest

from senlin_affinity.cloud import eyes, narrow
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.policy import hook
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.certificate import SPARE
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.policy.question import Question
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

HOSTS = [f'cmp-{number}' for number in range(SPARE + 4)]
ZONED = HOSTS[: SPARE + 2]


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS) as running:
        admin = running.connection().compute
        zone = admin.create_aggregate(name='zone', availability_zone='az1')
        for host in ZONED:
            admin.add_host_to_aggregate(zone.id, host)
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    return cloud.connection()


def see(cloud, admin, count, group, **wanted):
    flavor = next(iter(admin.compute.flavors())).name
    question = Question(
        count,
        server_group=group.id,
        policy={'type': TYPE, 'version': '1.1', 'properties': wanted},
        profile={'properties': {'flavor': flavor, 'image': cloud.image_id}},
        project_id=admin.session.get_project_id(),
    )
    growth = hook.Growth(question, Binding(group.id, is_inherited=True), load_constraints())
    return narrow.see(eyes.of(admin), hook.needs(growth)).look


@pytest.fixture
def group(admin):
    made = admin.compute.create_server_group(name='web', policy='anti-affinity')
    yield made
    for server in list(admin.compute.servers(details=False)):
        admin.compute.delete_server(server)
    until(lambda: not list(admin.compute.servers(details=False)), what='the servers are gone')
    admin.compute.delete_server_group(made)


@pytest.mark.parametrize(
    ('count', 'zone', 'is_yes'),
    [(4, None, True), (5, None, False), (2, 'az1', True), (3, 'az1', False)],
)
def test_ten_hosts_are_to_spare(cloud, admin, group, count, zone, is_yes):
    wanted = {} if zone is None else {'availability_zone': zone}
    assert (see(cloud, admin, count, group, **wanted) is not None) == is_yes


def test_members_are_counted_and_the_servers_come_up(cloud, admin, group):
    flavor = next(iter(admin.compute.flavors())).id
    boots = 0
    while see(cloud, admin, 1, group) is not None:
        server = admin.compute.create_server(
            name='node',
            flavor_id=flavor,
            image_id=cloud.image_id,
            networks='none',
            scheduler_hints={'group': group.id},
        )
        admin.compute.wait_for_server(server, interval=0.1)
        boots += 1
    assert boots == len(HOSTS) - SPARE
