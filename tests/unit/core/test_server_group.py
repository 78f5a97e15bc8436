"""Document 002: requests, answers and bodies of server groups."""

import pytest

from senlin_affinity.core.errors import AffinityError
from senlin_affinity.core.server_group import Member, ServerGroup, create_body, parse_create
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('server_group_create'))
def test_parse_create(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            parse_create(row['body'])
        check_error(row, caught.value)
        return
    group = parse_create(row['body'])
    expected = {'name': row['body']['server_group']['name'], **row['group']}
    assert {'name': group.name, 'policy': group.policy, 'rules': dict(group.rules)} == expected
    assert all(type(value) is int for value in group.rules.values())
    assert (group.id, group.members) == ('', ())


def test_parse_create_takes_no_number_that_python_can_not_write():
    """A digit string beyond Python's limit for conversions is an InvalidSpec, too (Q2-2)."""
    body = {'name': 'web', 'policy': 'anti-affinity', 'rules': {'max_server_per_host': '9' * 5000}}
    with pytest.raises(AffinityError) as caught:
        parse_create({'server_group': body})
    assert caught.value.path == 'server_group.rules.max_server_per_host'


@pytest.mark.parametrize('row', rows('server_group_shapes'))
def test_from_api(row):
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            ServerGroup.from_api(row['body'])
        check_error(row, caught.value)
        return
    wanted = row['group']
    members = tuple(Member(each['server'], each.get('host')) for each in wanted['members'])
    group = ServerGroup.from_api(row['body'])
    assert group == ServerGroup(
        wanted['id'],
        wanted['name'],
        wanted['policy'],
        wanted['rules'],
        members,
        wanted.get('project_id'),
    )
    assert group.max_server_per_host == row['max_server_per_host']


@pytest.mark.parametrize('row', rows('server_group_body'))
def test_create_body(row):
    major, minor = row['microversion'].split('.')
    arguments = ('web', row['policy'], row.get('rules', {}), (int(major), int(minor)))
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            create_body(*arguments)
        check_error(row, caught.value)
        return
    assert create_body(*arguments) == row['body']


@pytest.mark.parametrize('row', rows('server_group_slots'))
def test_free_slots(row):
    group = ServerGroup('g', 'web', row['policy'], row['rules'])
    assert group.free_slots(row['members']) == row['slots']
