"""Policies and policy types through Senlin's own API: accepted specs, and the messages of a 400."""

import pytest

from tests.support.cloud_fixtures import asked

#: Senlin's API can validate from 1.2, and lists the versions of a type from 1.5.
NEW = '1.5'
ZONE_UNKNOWN = "The specified availability_zone 'nowhere' could not be found."


def spec(properties, version='1.1'):
    return {'type': 'senlin.policy.affinity', 'version': version, 'properties': properties}


def ask(user, body, what='policies'):
    """Create or validate a policy; return the status, and the message of an error."""
    known = {'name': 'p'} if what == 'policies' else {}
    response = user.clustering.post(
        f'/{what}', json={'policy': {**known, 'spec': body}}, microversion=NEW
    )
    return response.status_code, response.json().get('error', {}).get('message', '')


@pytest.mark.parametrize(
    ('properties', 'words'),
    [
        ({'server_group': {}}, 'properties.server_group: unknown key'),
        ({'servergroup': 'web'}, 'properties.servergroup: must be a mapping'),
        ({'servergroup': {'name': 1}}, 'properties.servergroup.name: must be a'),
        ({'enable_drs_extension': 'perhaps'}, 'properties.enable_drs_extension: must be'),
        (
            {'servergroup': {'rules': {'max_server_per_host': 2.0}}},
            'properties.servergroup.rules.max_server_per_host: must be an integer of 1 or more',
        ),
        ({'member_of': ['in:a,!b'], 'availability_zone': 'nova'}, 'properties.member_of[0]: '),
        ({'availability_zone': None}, 'properties.availability_zone: must not be null'),
    ],
)
def test_r3_05_bad_spec_is_a_400_with_the_propertys_path(demo, properties, words):
    for what in ('policies', 'policies/validate'):
        status, message = ask(demo, spec(properties), what)
        assert (status, words in message) == (400, True), message


def test_r3_26_unknown_zone_is_a_400(demo, cloud):
    """Also for a tenant, whose aggregates are not read."""
    for more, asked_for in (({}, ['/v2.1/os-availability-zone']), ({'member_of': ['!a']}, None)):
        cloud.clear_requests()
        status, message = ask(demo, spec({'availability_zone': 'nowhere', **more}))
        assert (status, ZONE_UNKNOWN in message) == (400, True), message
        assert 'properties.availability_zone' in message
        assert asked_for in (None, [path for _method, path, _query in asked(cloud)])


@pytest.mark.parametrize(
    ('who', 'path', 'properties'),
    [
        ('demo', '/os-availability-zone$', {'availability_zone': 'nova'}),
        ('admin', '/os-aggregates$', {'member_of': ['!vsphere']}),
        ('demo', '/os-aggregates$', {'member_of': ['!vsphere']}),
    ],
)
def test_a_failed_lookup_is_not_a_400(request, cloud, who, path, properties):
    user = request.getfixturevalue(who)
    cloud.faults.add(path, status=503, times=None)
    status, message = ask(user, spec(properties))
    assert (status, 'Nova answered 503' in message) == (500, True), message
    assert 'the spec could not be checked: could not list the a' in message
    cloud.faults.clear()
    assert ask(user, spec(properties))[0] == 201


def test_member_of_is_resolved_for_users_who_may_list_aggregates(admin, demo):
    """R1-17: a misspelled name is a 400 for an administrator; a tenant gets the error at attach."""
    right, wrong = spec({'member_of': ['!vsphere']}), spec({'member_of': ['in:vsphere,vshpere']})
    assert ask(admin, right) == ask(demo, right) == ask(demo, wrong) == (201, '')
    status, message = ask(admin, wrong)
    assert (status, 'properties.member_of[0]: ' in message) == (400, True), message
    # Senlin's call to validate a spec sends no request to a cloud, for any user.
    assert ask(admin, wrong, 'policies/validate') == (200, '')


def test_r1_17_a_tenants_attach_reports_that_hosts_cannot_be_chosen(demo, cloud):
    policy = demo.policy(member_of=['!vsphere'])
    why = demo.attach(demo.cluster(), policy).failed()
    assert (
        'for member_of, the policy must choose the host of every node, but Nova does not let the '
        'owner of the cluster choose hosts (rule os_compute_api:servers:create:forced_host)'
    ) in why
    name = demo.clustering.get_policy(policy).name
    (line,) = (each for each in cloud.logs(1000).splitlines() if f'affinity policy {name}:' in each)
    assert ' INFO ' in line
    assert 'the aggregates of member_of are not looked up before attach: ' in line


def test_q3_7_version_1_0_is_senlins_own(demo):
    """It has no rules, and its entry point is Senlin's."""
    status, message = ask(demo, spec({'servergroup': {'rules': {}}}, '1.0'), 'policies/validate')
    assert status != 200
    assert 'properties.' not in message
    made = demo.clustering.create_policy(name='own', spec=spec({'servergroup': {}}, '1.0'))
    assert made.type == 'senlin.policy.affinity-1.0'
    assert ask(demo, spec({}, '1.2'))[0] == 404


def test_policy_types_contain_ours_with_its_schema(demo):
    listed = demo.clustering.get('/policy-types', microversion=NEW).json()['policy_types']
    names = {f'{item["name"]}-{item["version"]}' for item in listed}
    assert {'senlin.policy.affinity-1.0', 'senlin.policy.affinity-1.1'} <= names
    shown = demo.clustering.get('/policy-types/senlin.policy.affinity-1.1').json()['policy_type']
    schema, group = shown['schema'], shown['schema']['servergroup']['schema']
    assert group['policies']['default'] == 'anti-affinity'
    assert [item['type'] for item in group['policies']['constraints']] == ['AllowedValues']
    assert schema['member_of']['schema']['*']['type'] == 'String'
    assert schema['spread']['schema']['*']['schema']['mode']['default'] == 'hard'
    assert group['rules']['schema']['max_server_per_host']['type'] == 'Integer'
    assert all(item['description'] for item in (*schema.values(), *group.values()))
