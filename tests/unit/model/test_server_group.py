"""Document 002: requests, answers and bodies of server groups."""

import pytest

from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.server_group import Member, ServerGroup, create_body, parse_create
from tests.support.tables import check_error, rows

MAX = 'max_server_per_host'


def group_of(row):
    """Return the server_group of a row of ``server_group_create``."""
    if 'max' in row:
        return {'name': 'test', 'policy': 'anti-affinity', 'rules': {MAX: row['max']}}
    if 'group' in row:
        return {'name': 'test', **row['group']}
    return {'name': row['called'] if 'called' in row else 'a' * row['length'], 'policy': 'affinity'}


@pytest.mark.parametrize('row', rows('server_group_create'))
def test_parse_create(row):
    body = row['body'] if 'body' in row else {'server_group': group_of(row)}
    if 'path' in row:
        with pytest.raises(InvalidSpec) as caught:
            parse_create(body)
        check_error({'outcome': 'InvalidSpec', **row}, caught.value)
        return
    given = body['server_group']
    policy, rules = given['policy'], given.get('rules', {})
    if isinstance(policy, dict):
        policy, rules = policy['name'], policy.get('rules', {})
    if 'reads' in row:
        rules = {MAX: row['reads']}
    group = parse_create(body)
    assert group == ServerGroup('', given['name'], policy, rules)
    assert all(type(value) is int for value in group.rules.values())


def test_parse_create_rejects_a_number_that_python_cannot_convert():
    """A string of digits beyond Python's limit for conversions is an InvalidSpec, too (Q2-2)."""
    with pytest.raises(InvalidSpec) as caught:
        parse_create({'server_group': group_of({'max': '9' * 5000})})
    assert caught.value.path == 'server_group.rules.max_server_per_host'


@pytest.mark.parametrize('row', rows('server_group_shapes'))
def test_from_api(row):
    if 'max' not in row:
        with pytest.raises(CloudError) as caught:
            ServerGroup.from_api(row['body'])
        check_error({'outcome': 'CloudError', **row}, caught.value)
        return
    body = {**row['body'].get('server_group', row['body']), **row.get('reads', {})}
    members = [
        Member(**{'server': each} if isinstance(each, str) else each)
        for each in body.get('members') or ()
    ]
    group = ServerGroup.from_api(row['body'])
    rules = body.get('rules') or {}
    creator = body.get('project_id'), body.get('user_id')
    assert group == ServerGroup(
        body['id'], body['name'], body['policy'], rules, tuple(members), *creator
    )
    assert group.max_server_per_host == row['max']


@pytest.mark.parametrize('row', rows('server_group_body'))
def test_create_body(row):
    major, minor = row['microversion'].split('.')
    arguments = ('web', row['policy'], row.get('rules', {}), (int(major), int(minor)))
    if 'path' in row:
        with pytest.raises(InvalidSpec) as caught:
            create_body(*arguments)
        path = f'properties.servergroup.{row["path"]}'
        check_error({**row, 'outcome': 'InvalidSpec', 'path': path}, caught.value)
        return
    assert create_body(*arguments) == {'server_group': {'name': 'web', **row['sent']}}


@pytest.mark.parametrize('row', rows('server_group_slots'))
def test_free_slots(row):
    group = ServerGroup('g', 'web', row['policy'], row['rules'])
    assert group.free_slots(row['members']) == row['slots']
