"""Every failure of Nova at every step of attach and detach.

What holds after each: the error names what was tried and holds Nova's own words; no group is
leaked, and none that others use is deleted; a POST is sent once; without the failure, the same
attach succeeds and leaves exactly one group.
"""

from dataclasses import replace

import pytest

from senlin_affinity.core.errors import CloudError, PolicyMismatch
from senlin_affinity.policy import affinity, properties
from senlin_affinity.policy.binding import Binding
from tests.support import edge as at_edge
from tests.support.edge import FAILURES, REFUSALS, UNCERTAIN

GROUPS = '/os-server-groups'
ONE_GROUP = f'{GROUPS}/[^/]+'
POST = f'POST {GROUPS}'
LIST = f'GET {GROUPS}'
CLUSTER = affinity.Cluster('c1')
OWN_NAME = 'senlin-affinity-c1'


def spec(**group):
    return properties.load(
        {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': {'servergroup': group}}
    )


def attach(edge, cluster=CLUSTER, **group):
    cloud = edge.ports
    return affinity.attach(spec(**group), cluster, cloud.server_groups, cloud.inventory)


def attach_error(edge, cluster=CLUSTER, **group):
    with pytest.raises(CloudError) as caught:
        attach(edge, cluster, **group)
    return caught.value


def detach(edge, group_id, *, own_servers=()):
    """What a detach of a cluster whose policy created the group says."""
    binding = Binding(group_id, is_inherited=False)
    cluster = affinity.Cluster('c1', own_servers=own_servers)
    return affinity.detach(binding, cluster, lambda: edge.ports.server_groups).said


def posts(edge):
    return edge.nova.requests().count(POST)


def check_that_it_can_be_tried_again(edge, cluster=CLUSTER, **group):
    edge.mend()
    attached = attach(edge, cluster, **group)
    assert [item['id'] for item in edge.nova.groups] == [attached.group.id]
    return attached


NAMED = [pytest.param({}, id='own group'), pytest.param({'name': 'web'}, id='named group')]


@pytest.mark.parametrize('failure', FAILURES, ids=str)
@pytest.mark.parametrize('group', NAMED)
@pytest.mark.parametrize(
    ('url', 'tried'),
    [
        (GROUPS, 'could not list the server groups: '),
        ('/limits', 'could not read the limits of the project: '),
    ],
    ids=['list', 'limits'],
)
def test_a_read_fails_before_anything_is_created(edge, url, tried, group, failure):
    edge.fail('GET', url, failure)
    error = attach_error(edge, **group)
    assert tried in str(error)
    assert failure.words in str(error)
    assert edge.nova.groups == []
    assert posts(edge) == 0
    check_that_it_can_be_tried_again(edge, **group)


@pytest.mark.parametrize('failure', FAILURES, ids=str)
@pytest.mark.parametrize('group', NAMED)
def test_the_create_fails_and_nova_did_nothing(edge, group, failure):
    edge.fail('POST', GROUPS, failure)

    error = attach_error(edge, **group)

    name = group.get('name', OWN_NAME)
    assert str(error).startswith(
        f"Failed in creating servergroup. could not create server group '{name}': "
    )
    assert failure.words in str(error)
    assert edge.nova.groups == []
    # A 401 is the door's answer: the token is renewed, and the request sent with it, once.
    assert posts(edge) == (2 if failure is at_edge.UNAUTHORIZED else 1)
    # Where it is not known what Nova did, the groups are listed to find out.
    assert edge.nova.requests().count(LIST) == (2 if failure.is_uncertain else 1)
    check_that_it_can_be_tried_again(edge, **group)


@pytest.mark.parametrize('failure', UNCERTAIN, ids=str)
@pytest.mark.parametrize('group', NAMED)
def test_the_create_fails_but_nova_did_it_and_the_group_is_adopted(edge, group, failure):
    edge.fail('POST', GROUPS, failure, is_applied=True)
    attached = attach(edge, **group)
    assert [item['id'] for item in edge.nova.groups] == [attached.group.id]
    assert not attached.binding.is_inherited
    assert edge.nova.requests() == [LIST, 'GET /limits', POST, LIST, LIST]
    check_that_it_can_be_tried_again(edge, **group)


@pytest.mark.parametrize('again', FAILURES, ids=lambda failure: f'list: {failure}')
@pytest.mark.parametrize('failure', UNCERTAIN, ids=lambda failure: f'create: {failure}')
def test_the_create_and_the_look_after_it_fail_and_the_next_attach_adopts(edge, failure, again):
    edge.fail('POST', GROUPS, failure, is_applied=True)
    edge.fail('GET', GROUPS, again, skip=1)

    noted = []
    error = attach_error(edge, replace(CLUSTER, note=noted.append))

    assert noted == [OWN_NAME]
    assert failure.words in str(error)
    assert again.words in str(error)
    assert f"whether server group '{OWN_NAME}' was created is not known" in str(error)
    assert posts(edge) == 1
    (left_behind,) = edge.nova.groups
    attached = check_that_it_can_be_tried_again(edge, replace(CLUSTER, pending=noted))
    assert attached.group.id == left_behind['id']
    assert not attached.binding.is_inherited, 'detach has to delete it'
    assert posts(edge) == 0


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_an_inherited_group_that_can_not_be_read(edge, failure):
    group_id = edge.nova.add_group('web')
    cluster = affinity.Cluster('c1', group_hint=group_id)
    edge.fail('GET', ONE_GROUP, failure)

    if failure is at_edge.NOT_FOUND:
        with pytest.raises(PolicyMismatch, match=f"'{group_id}' that the profile's scheduler_hin"):
            attach(edge, cluster)
    else:
        error = attach_error(edge, cluster)
        tried = f"Failed in retrieving servergroup '{group_id}'. could not get server group"
        assert str(error).startswith(tried)
        assert failure.words in str(error)

    assert posts(edge) == 0
    edge.mend()
    assert attach(edge, cluster).binding.is_inherited
    assert len(edge.nova.groups) == 1


# -- detach


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_detach_can_not_read_the_group(edge, failure):
    group_id = edge.nova.add_group('web')
    edge.fail('GET', ONE_GROUP, failure)

    if failure is at_edge.NOT_FOUND:
        assert 'is gone already' in detach(edge, group_id)
    else:
        with pytest.raises(CloudError) as caught:
            detach(edge, group_id)
        tried = f'Failed in deleting servergroup. could not get server group {group_id}: '
        assert str(caught.value).startswith(tried)
        assert failure.words in str(caught.value)

    assert len(edge.nova.groups) == 1
    edge.mend()
    assert detach(edge, group_id).endswith(' deleted')
    assert edge.nova.groups == []


DELETE_FAILURES = [
    failure for failure in FAILURES if failure not in (at_edge.NOT_FOUND, at_edge.NO_JSON)
]


@pytest.mark.parametrize('is_applied', [False, True], ids=['not done', 'done'])
@pytest.mark.parametrize('failure', DELETE_FAILURES, ids=str)
def test_detach_can_not_delete_the_group(edge, failure, is_applied):
    if is_applied and failure in REFUSALS:
        is_applied = False
    group_id = edge.nova.add_group('web')
    edge.fail('DELETE', ONE_GROUP, failure, is_applied=is_applied)

    with pytest.raises(CloudError) as caught:
        detach(edge, group_id)

    tried = f'Failed in deleting servergroup. could not delete server group {group_id}: '
    assert str(caught.value).startswith(tried)
    assert failure.words in str(caught.value)
    edge.mend()
    assert detach(edge, group_id).endswith(' is gone already' if is_applied else ' deleted')
    assert edge.nova.groups == []


@pytest.mark.parametrize('is_applied', [True, False])
def test_a_page_of_somebody_else_after_a_delete_is_no_success(edge, is_applied):
    """A load balancer's 200, say: believed, it would leak the group."""
    group_id = edge.nova.add_group('web')
    edge.fail('DELETE', ONE_GROUP, at_edge.NO_JSON, times=1, is_applied=is_applied)
    with pytest.raises(CloudError, match='Nova answered 200 in place of 204') as caught:
        detach(edge, group_id)
    assert caught.value.status == 200
    assert detach(edge, group_id).endswith(' is gone already' if is_applied else ' deleted')
    assert edge.nova.groups == []
