"""Server groups are created, fetched and deleted at every microversion."""

import pytest

from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.server_group import Member
from tests.support.edge import FAILURES, NO_JSON, UNAUTHORIZED, Edge, Failure
from tests.support.fake_nova import newest

OLD = ['2.1', '2.14', '2.15', '2.63']
NEW = ['2.64', '2.88', newest()]


@pytest.mark.parametrize('offered', [*OLD, *NEW])
def test_a_group_is_created_in_the_format_of_the_microversion(offered):
    """From 2.64 on, policy and rules are sent, at no newer microversion."""
    rules = {'max_server_per_host': 3} if offered in NEW else {}
    with Edge(offered) as edge:
        group = edge.ports.server_groups.create('web', 'anti-affinity', rules)

    (request_sent,) = edge.nova.asked
    assert str(request_sent) == 'POST /os-server-groups'
    shape = {'policies': ['anti-affinity']}
    if offered in NEW:
        shape = {'policy': 'anti-affinity', 'rules': rules}
    assert request_sent.microversion == ('2.64' if offered in NEW else offered)
    assert request_sent.body == {'server_group': {'name': 'web', **shape}}
    limit = 3 if rules else 1
    assert (group.name, group.policy, group.max_server_per_host) == ('web', 'anti-affinity', limit)
    assert group.id == edge.nova.groups[0]['id']


@pytest.mark.parametrize('offered', [*OLD, ''])
@pytest.mark.parametrize('step', ['check', 'create'])
def test_rules_below_2_64_are_rejected_without_a_request(offered, step):
    rules = {'max_server_per_host': 3}
    with Edge(offered) as edge:
        groups = edge.ports.server_groups
        name = ('web',) if step == 'create' else ()
        with pytest.raises(InvalidSpec) as caught:
            getattr(groups, step)(*name, 'anti-affinity', rules)

    assert 'rules need compute microversion 2.64' in str(caught.value)
    assert f'this cloud offers {offered or "2.1"}:' in str(caught.value)
    assert edge.nova.requests() == []


@pytest.mark.parametrize('offered', ['2.1', '2.14', ''])
@pytest.mark.parametrize('policy', ['soft-affinity', 'soft-anti-affinity'])
def test_soft_policies_below_2_15_are_rejected_without_a_request(offered, policy):
    with Edge(offered) as edge, pytest.raises(InvalidSpec) as caught:
        edge.ports.server_groups.check(policy, {})
    assert f'{policy} needs compute microversion 2.15' in str(caught.value)
    assert f'this cloud offers {offered or "2.1"}:' in str(caught.value)
    assert edge.nova.requests() == []


@pytest.mark.parametrize('offered', [*OLD[2:], *NEW])
@pytest.mark.parametrize('policy', ['soft-affinity', 'soft-anti-affinity'])
def test_soft_policies_are_created_from_2_15(offered, policy):
    with Edge(offered) as edge:
        edge.ports.server_groups.check(policy, {})
        assert edge.ports.server_groups.create('web', policy, {}).policy == policy


@pytest.mark.parametrize('offered', [*OLD, *NEW, ''])
def test_a_group_is_parsed_in_every_format(offered):
    with Edge(offered) as edge:
        rules = {'max_server_per_host': 2}
        group_id = edge.nova.add_group('web', rules=rules, members=['server-1', 'server-2'])

        (listed,) = edge.ports.server_groups.named('web')
        fetched = edge.ports.server_groups.get(group_id)

    assert listed == fetched
    assert (fetched.id, fetched.name, fetched.policy) == (group_id, 'web', 'anti-affinity')
    assert fetched.members == (Member('server-1'), Member('server-2'))
    assert fetched.rules == (rules if offered in NEW else {})


@pytest.mark.parametrize('offered', [*OLD, *NEW, ''])
def test_a_missing_group_is_none_and_deleted_once(offered):
    with Edge(offered) as edge:
        groups = edge.ports.server_groups
        group_id = edge.nova.add_group('web')

        assert groups.get('1b1a0af5-3b1c-4a9d-9d5e-2b7d3a2b9f00') is None
        assert groups.delete(group_id) is True
        assert groups.delete(group_id) is False

    assert edge.nova.groups == []
    expected = '2.64' if offered in NEW else offered or '2.1'
    assert {request_sent.microversion for request_sent in edge.nova.asked} == {expected}


@pytest.mark.parametrize(
    ('cap', 'groups', 'offsets'),
    [
        (1000, 0, [0]),
        (1000, 1, [0, 1]),
        (1000, 999, [0, 999]),
        (1000, 1000, [0, 1000]),
        (1000, 1001, [0, 1000]),
        (1000, 2500, [0, 1000, 2000]),
        (100, 120, [0, 100]),
        (100, 200, [0, 100, 200]),
        (10, 11, [0, 10]),
        (1, 2, [0, 1, 2]),
    ],
)
def test_all_pages_of_a_list_are_fetched(edge, cap, groups, offsets):
    """The cloud may limit its pages with ``[api] max_limit``."""
    edge.nova.longest_page = cap
    for number in range(groups):
        edge.nova.add_group(f'group-{number}')

    found = edge.ports.server_groups.named(f'group-{groups - 1}')

    assert [group.name for group in found] == [f'group-{groups - 1}'][:groups]
    assert [request_sent.query for request_sent in edge.nova.asked] == [
        {'limit': '1000', 'offset': str(offset)} for offset in offsets
    ]


def test_all_groups_of_a_name_are_found_in_novas_order(edge):
    ids = [edge.nova.add_group(name) for name in ('web', 'Web', 'web', 'web2', ' web', 'web')]
    found = edge.ports.server_groups.named('web')
    assert [group.id for group in found] == [ids[0], ids[2], ids[5]]


@pytest.mark.parametrize(
    'name', ['good* $%name', 'a/b', '?limit=1', '%2e', 'ä組', "o'hara", 'a&b=c', '#']
)
def test_a_name_with_special_characters_is_unchanged(edge, name):
    created = edge.ports.server_groups.create(name, 'affinity', {})
    assert edge.nova.groups[0]['name'] == name
    assert edge.ports.server_groups.named(name) == (created,)


def test_an_id_is_quoted_in_the_path(edge):
    """The 404 of Nova's router does not mean that the group is missing."""
    with pytest.raises(CloudError, match='the 404 does not come from Nova itself'):
        edge.ports.server_groups.get('../limits?x=1#y')
    assert edge.nova.requests() == ['GET /os-server-groups/..%2Flimits%3Fx%3D1%23y']


def test_a_malformed_group_of_another_name_is_ignored(edge):
    edge.nova.add_group('legacy', policy=None)
    edge.nova.add_group('web')
    assert len(edge.ports.server_groups.named('web')) == 1


@pytest.mark.parametrize(
    'text',
    ['{}', '[]', '{"server_groups": null}', '{"server_groups": {}}', '{"server_groups": [1]}'],
)
def test_a_malformed_list_is_an_error(edge, text):
    edge.fail('GET', '/os-server-groups', Failure('malformed', '', 200, text=text))
    with pytest.raises(CloudError) as caught:
        edge.ports.server_groups.named('web')
    assert str(caught.value) == (
        'could not list the server groups: the answer contains no list of server_groups'
    )


@pytest.mark.parametrize('text', ['{}', '[]', '7', '{"server_group": []}'])
def test_a_malformed_response_to_a_create_is_uncertain(edge, text):
    edge.fail('POST', '/os-server-groups', Failure('malformed', '', 200, text=text))
    with pytest.raises(
        CloudError, match="could not create server group 'web': a server g"
    ) as caught:
        edge.ports.server_groups.create('web', 'affinity', {})
    assert caught.value.is_uncertain


@pytest.mark.parametrize('text', ['{}', '[]', '7', '{"server_group": {"id": 1}}'])
def test_a_malformed_group_is_an_error(edge, text):
    edge.fail('GET', '/os-server-groups/x', Failure('malformed', '', 200, text=text))
    with pytest.raises(CloudError, match='could not get server group x: '):
        edge.ports.server_groups.get('x')


def test_a_page_of_a_proxy_does_not_confirm_a_deletion(edge):
    """Otherwise, the group would be leaked."""
    group_id = edge.nova.add_group('web')
    edge.fail('DELETE', '/os-server-groups/[^/]+', NO_JSON, times=1)
    with pytest.raises(CloudError, match='Nova answered 200 instead of 204') as caught:
        edge.ports.server_groups.delete(group_id)
    assert caught.value.status == 200
    assert edge.ports.server_groups.delete(group_id)


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_a_failed_create_is_uncertain_unless_nova_rejected_it(edge, failure):
    edge.fail('POST', '/os-server-groups', failure)
    with pytest.raises(CloudError) as caught:
        edge.ports.server_groups.create('web', 'anti-affinity', {})
    assert failure.words in str(caught.value)
    assert caught.value.is_uncertain is failure.is_uncertain
    # After a 401, the token is renewed and the request repeated; other failures are not retried.
    sent = edge.nova.requests().count('POST /os-server-groups')
    assert sent == (2 if failure is UNAUTHORIZED else 1)
