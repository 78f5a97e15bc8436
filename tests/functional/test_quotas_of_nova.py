"""The quota of a group's members, asked of a real Nova: whose servers it counts."""

import pytest
from openstack import exceptions as sdk

from senlin_affinity import preflight
from senlin_affinity.core.objects import PlacementRequest
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.waiting import until


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(2, quotas={'server_group_members': 1}) as running:
        yield running


@pytest.fixture(scope='module')
def group(cloud):
    """A group of demo's project, full of demo's servers."""
    demo = cloud.connection('demo')
    made = demo.compute.create_server_group(name='web', policy='soft-anti-affinity')
    boot(cloud, demo, made)
    return made


def boot(cloud, connection, group):
    server = connection.compute.create_server(
        name='s',
        flavor_id=next(connection.compute.flavors()).id,
        image_id=cloud.image_id,
        networks='none',
        **({} if group is None else {'scheduler_hints': {'group': group.id}}),
    )
    until(
        lambda: connection.compute.get_server(server.id).status == 'ACTIVE',
        what=f'the server is there\n{cloud.logs()}',
    )
    return server


def of_demo_s_project(cloud):
    """An administrator in the project of another user."""
    auth = {**cloud.auth('admin'), 'project_name': 'demo'}
    return cloud.connection(auth=auth)


def decision(connection, group):
    taken = preflight.take_snapshot(connection, server_groups=(group.id,))
    flavor = taken.flavors[0].id
    return preflight.plan(PlacementRequest(1, flavor, group.id, image_properties={}), taken)


def test_rx_07_the_asker_s_own_servers_are_counted(cloud, group):
    demo = cloud.connection('demo')
    said = decision(demo, group)
    assert said.fits is False
    assert said.request['quota'].code == 'quota.server_group_members'
    with pytest.raises(sdk.ForbiddenException, match='too many servers in group'):
        boot(cloud, demo, group)


def test_rx_07_another_user_s_servers_are_not(cloud, group):
    """By Nova's own driver; with unified limits they would be, so that nothing is promised."""
    admin = of_demo_s_project(cloud)
    said = decision(admin, group)
    assert (said.fits, said.capacity) == (None, 1)
    assert said.at_most == ("quotas, which Nova's drivers count in two ways",)
    server = boot(cloud, admin, group)
    said = decision(admin, group)
    assert said.fits is False
    admin.compute.delete_server(server, ignore_missing=False)


def test_rx_07_a_user_may_have_less_than_the_project(cloud):
    """What GET /limits does not tell: the snapshot does, and Nova holds to it."""
    demo = cloud.connection('demo')
    project, user = demo.session.get_project_id(), demo.session.get_user_id()
    taken = preflight.take_snapshot(demo, server_groups=())
    used = taken.quotas['instances'].of_user.used
    path = f'/os-quota-sets/{project}?user_id={user}'
    body = {'quota_set': {'instances': used + 1, 'force': True}}
    assert cloud.connection().compute.put(path, json=body).status_code == 200

    taken = preflight.take_snapshot(demo, server_groups=())
    request = PlacementRequest(2, taken.flavors[0].id, image_properties={})
    said = preflight.plan(request, taken)

    assert (said.fits, said.request['quota'].room) == (False, 1)
    assert said.request['quota'].code == 'quota.user_instances'
    boot(cloud, demo, None)
    with pytest.raises(sdk.ForbiddenException, match='Quota exceeded for instances'):
        boot(cloud, demo, None)
