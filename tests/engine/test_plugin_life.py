"""The policy class as the engine sees it, and its attach and detach on the engine's own objects."""

import json
from importlib import metadata
from types import SimpleNamespace

import pytest
from senlin import objects
from senlin.common import consts
from senlin.common import exception as senlin_exception
from senlin.engine import senlin_lock
from senlin.policies import base

from senlin_affinity.plugins.senlin_policy import AffinityPolicy, converted
from senlin_affinity.policy.declared import Property
from tests.engine.support import HEAT_PROFILE, PROJECT, SERVER_PROFILE, Desk, binding, spec
from tests.support.edge import (
    FAILURES,
    FORBIDDEN,
    NO_JSON,
    NOT_FOUND,
    PROXY_PAGE,
    SERVER_ERROR,
    TIMEOUT,
    UNAVAILABLE,
    Edge,
)
from tests.support.fake_nova import FakeFlavor

ACTIONS = sorted({*consts.CLUSTER_ACTION_NAMES, *consts.NODE_ACTION_NAMES})
TRIGGERS = [
    ('BEFORE', 'CLUSTER_RESIZE'),
    ('BEFORE', 'CLUSTER_SCALE_OUT'),
    ('BEFORE', 'NODE_CREATE'),
]


def profile(**properties):
    """A server profile with more properties."""
    return {**SERVER_PROFILE, 'properties': {**SERVER_PROFILE['properties'], **properties}}


def hinted(group):
    """One that names a group."""
    return profile(scheduler_hints={'group': group})


def test_r3_01_name_priority_and_versions():
    assert AffinityPolicy.__name__ == 'AffinityPolicy'
    assert AffinityPolicy.PRIORITY == 300
    assert AffinityPolicy.VERSION in AffinityPolicy.VERSIONS
    assert AffinityPolicy.VERSIONS['1.0'] == [{'status': 'SUPPORTED', 'since': '2016.10'}]
    assert AffinityPolicy.PROFILE_TYPE == ['os.nova.server-1.0']
    assert issubclass(AffinityPolicy, base.Policy)


def test_a_property_in_senlins_form():
    """What ``GET /policy-types`` shows of it; a list as those of Senlin's own policies."""
    kinds = {'string': 'String', 'integer': 'Integer', 'boolean': 'Boolean', 'list': 'List'}
    children = [Property(kind, kind, f'A {kind}.', default=False) for kind in kinds]
    choice = Property('choice', 'string', 'A choice.', '1.1', 'a', ('a', 'b'))
    shown = converted(Property('map', 'map', 'A map.', children=(*children, choice)))
    plain = {'required': False, 'updatable': False}
    schema = {
        kind: {'type': name, 'description': f'A {kind}.', 'default': False, **plain}
        for kind, name in kinds.items()
    }
    schema['list']['schema'] = {'*': {'type': 'String', 'description': 'One of them.', **plain}}
    schema['choice'] = {
        **plain,
        'type': 'String',
        'description': 'A choice.',
        'default': 'a',
        'constraints': [{'type': 'AllowedValues', 'constraint': ['a', 'b']}],
    }
    assert dict(shown) == {'type': 'Map', 'description': 'A map.', 'schema': schema, **plain}
    assert [each.min_version for each in shown.schema.values()] == [*[None] * 4, '1.1']


def test_entry_point_is_installed_and_leaves_senlins_own_name_alone():
    ours = [
        (found.name, found.value)
        for found in metadata.entry_points(group='senlin.policies')
        if found.value.startswith('senlin_affinity')
    ]
    assert ours == [
        ('senlin.policy.affinity-1.1', 'senlin_affinity.plugins.senlin_policy:AffinityPolicy')
    ]


def test_r3_03_target_exactly(desk):
    assert sorted(AffinityPolicy.TARGET) == TRIGGERS
    policy = desk.policy()
    checked = [
        (when, action)
        for when in ('BEFORE', 'AFTER')
        for action in ACTIONS
        if policy.need_check(when, SimpleNamespace(action=action))
    ]
    assert sorted(checked) == TRIGGERS


def test_r3_02_other_profile_type_is_not_applicable(desk):
    cluster = desk.cluster(profile=HEAT_PROFILE)
    assert desk.policy().attach(cluster) == (
        False,
        'Policy not applicable on profile type: os.heat.stack-1.0',
    )
    assert desk.edge.nova.requests() == []


def test_a_profile_with_a_zone_is_not_spread_over_the_zones(desk):
    done, why = desk.policy(spec(spread=[{'by': 'availability_zone', 'mode': 'soft'}])).attach(
        desk.cluster(profile=profile(availability_zone='nova:cmp-1'))
    )
    assert (done, why.partition(',')[0]) == (
        False,
        "properties.availability_zone: the profile names 'nova:cmp-1'",
    )
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize(
    ('mode', 'specs', 'refusal'),
    [
        ('strict', {'hw:cpu_policy': 'shared'}, None),
        ('strict', {'foo': 'bar'}, "flavor 'm1.tiny': foo: no extra spec of this name is known"),
        ('permissive', {'foo': 'bar'}, None),
        ('permissive', {'hw:cpu_policy': 'x'}, "flavor 'm1.tiny': hw:cpu_policy: must be one of"),
        ('off', {'hw:cpu_policy': 'x'}, None),
    ],
)
def test_the_flavor_of_the_profile(_database, caplog, mode, specs, refusal):
    """R4-07 to R4-09: refused with nothing made; what is let through is told once, at INFO."""
    with Edge(flavors=[FakeFlavor('tiny', 'm1.tiny', specs)]) as edge:
        desk = Desk(edge)
        policy = desk.policy(spec(extra_specs=mode))
        with caplog.at_level('INFO'):
            is_attached, answer = policy.attach(desk.cluster())
        told = [line for line in caplog.messages if 'no extra spec of this name' in line]
        assert is_attached == (refusal is None)
        assert bool(edge.nova.groups) == is_attached
        if refusal is not None:
            assert answer.startswith(refusal)
        assert len(told) == ('foo' in specs)
        assert {record.levelname for record in caplog.records} == {'INFO'}


@pytest.mark.parametrize('version', ['1.0', 1.0])
def test_q3_7_spec_1_0_stores_exactly_the_documents_binding(desk, version):
    group = desk.edge.nova.add_group('XYZ-ABCD', id='XYZ-ABCD')
    cluster = desk.cluster(profile=hinted('XYZ-ABCD'))
    policy = desk.policy(spec(version))
    is_attached, data = policy.attach(cluster)
    assert is_attached, data
    assert data == json.loads(
        '{"AffinityPolicy": {"version": "1.0",'
        ' "data": {"servergroup_id": "XYZ-ABCD", "inherited_group": true}}}'
    )
    desk.bind(cluster, policy, data)
    is_detached, said = policy.detach(cluster)
    assert is_detached, said
    assert [known['id'] for known in desk.edge.nova.groups] == [group]


def test_q3_7_spec_1_0_creates_and_deletes_a_group(desk):
    cluster, policy = desk.cluster(), desk.policy(spec('1.0'))
    is_attached, data = policy.attach(cluster)
    assert is_attached, data
    (group,) = desk.edge.nova.groups
    assert (group['policy'], group['rules']) == ('anti-affinity', {})
    assert data == binding(group['id'], inherited=False)
    desk.bind(cluster, policy, data)
    assert policy.detach(cluster)[0]
    assert desk.edge.nova.groups == []


def test_rx_06_spec_1_1_remembers_policy_and_rules(desk):
    group = desk.edge.nova.add_group('web', rules={'max_server_per_host': 2})
    cluster, policy = desk.cluster(), desk.policy(spec(servergroup={'name': 'web'}))
    assert policy.attach(cluster) == (
        True,
        {
            'AffinityPolicy': {
                'version': '1.1',
                'data': {
                    'servergroup_id': group,
                    'inherited_group': True,
                    'policy': 'anti-affinity',
                    'rules': {'max_server_per_host': 2},
                },
            }
        },
    )


@pytest.mark.parametrize(
    'data',
    [None, {}, {'AffinityPolicy': {}}, {'AffinityPolicy': {'data': {}}}, {'Other': {'a': 1}}],
)
def test_r3_28_detach_without_our_data_deletes_nothing(desk, data):
    desk.edge.nova.add_group('web')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, data)
    is_detached, said = policy.detach(cluster)
    assert is_detached, said
    assert desk.edge.nova.requests() == []


def test_r3_28_detach_without_binding_deletes_nothing(desk):
    is_detached, said = desk.policy().detach(desk.cluster())
    assert is_detached, said
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize('version', [1.0, '1.0', '1.1', '2.7'])
def test_d3_08_detach_reads_every_version_and_leaks_nothing(desk, version):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False, version=version))
    is_detached, said = policy.detach(cluster)
    assert is_detached, said
    assert desk.edge.nova.groups == []


@pytest.mark.parametrize(('project', 'stays'), [(PROJECT, True), ('elsewhere', False)])
def test_q3_9_group_of_another_clusters_binding_stays(desk, project, stays):
    """Of the same project: a group of Nova's belongs to one."""
    group = desk.edge.nova.add_group('shared')
    cluster, policy = desk.cluster(), desk.policy()
    other, others = desk.cluster(project=project), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))
    desk.bind(other, desk.policy(), {'AffinityPolicy': 'odd'})
    desk.bind(other, others, binding(group))
    is_detached, said = policy.detach(cluster)
    assert is_detached, said
    assert said.endswith('stays: cluster cluster uses it') is stays
    assert [known['id'] for known in desk.edge.nova.groups] == [group] * stays


def test_detach_takes_the_group_out_of_the_nodes_data(desk):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))
    placed = desk.node(cluster, {'placement': {'servergroup': group, 'zone': 'az1'}, 'other': 1})
    foreign = desk.node(cluster, {'placement': {'servergroup': 'another'}})
    plain = desk.node(cluster)
    assert policy.detach(desk.load_cluster(cluster.id))[0]
    assert desk.node_data(placed.id) == {'placement': {'zone': 'az1'}, 'other': 1}
    assert desk.node_data(foreign.id) == {'placement': {'servergroup': 'another'}}
    assert desk.node_data(plain.id) == {}


def test_inherited_group_stays_in_the_nodes_data(desk):
    group = desk.edge.nova.add_group('web')
    cluster, policy = desk.bound(group=group)
    node = desk.node(cluster, {'placement': {'servergroup': group}})
    assert policy.detach(desk.load_cluster(cluster.id))[0]
    assert desk.node_data(node.id) == {'placement': {'servergroup': group}}


def test_policies_of_other_types_are_left_alone(desk):
    cluster, policy = desk.cluster(), desk.policy()
    scaling = SimpleNamespace(id='scaling', name='grow', type='senlin.policy.scaling-1.0')
    cluster.rt['policies'] = [policy, scaling]
    assert policy.attach(cluster)[0]


def test_second_affinity_policy_is_refused_whatever_its_version(desk):
    cluster, first = desk.cluster(), desk.policy()
    cluster.rt['policies'] = [first]
    for version in ('1.0', '1.1'):
        is_attached, why = desk.policy(spec(version)).attach(cluster)
        assert not is_attached
        assert 'has an affinity policy already: web (senlin.policy.affinity-1.1)' in why
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize('failure', FAILURES, ids=str)
def test_r3_27_attach_never_raises_and_keeps_novas_words(desk, failure):
    desk.edge.fail('GET', '/os-server-groups', failure)
    is_attached, why = desk.policy(spec(servergroup={'name': 'web'})).attach(desk.cluster())
    assert not is_attached
    assert why.startswith("Failed in retrieving servergroup 'web'.")
    assert failure.words in why


@pytest.mark.parametrize(
    'failure',
    # Nova's own 404 says that somebody else has deleted it, which is as good.
    [failure for failure in FAILURES if failure not in (NO_JSON, NOT_FOUND)],
    ids=str,
)
def test_r3_17_detach_never_raises_and_keeps_novas_words(desk, failure):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))
    desk.edge.fail('DELETE', f'/os-server-groups/{group}', failure)
    is_detached, why = policy.detach(cluster)
    assert not is_detached, why
    assert why.startswith('Failed in deleting servergroup.')
    assert failure.words in why


@pytest.mark.parametrize('method', ['GET', 'DELETE'])
def test_r3_17_a_404_of_a_proxy_does_not_leak_the_group(desk, method):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))
    node = desk.node(cluster, {'placement': {'servergroup': group}})
    desk.edge.fail(method, f'/os-server-groups/{group}', PROXY_PAGE, times=1)
    is_detached, why = policy.detach(desk.load_cluster(cluster.id))
    assert not is_detached
    assert why.startswith('Failed in deleting servergroup. could not ')
    assert "the answer 404 is not Nova's own" in why
    assert PROXY_PAGE.words in why
    assert [known['id'] for known in desk.edge.nova.groups] == [group]
    assert desk.node_data(node.id) == {'placement': {'servergroup': group}}
    is_detached, said = policy.detach(cluster)
    assert is_detached, said
    assert desk.edge.nova.groups == []


@pytest.mark.parametrize('error', [KeyError('odd'), senlin_exception.TrustNotFound(trustor='odd')])
def test_attach_and_detach_turn_every_exception_into_words(desk, monkeypatch, error):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))

    def driver(*_arguments):
        raise error

    monkeypatch.setattr(policy, 'nova', driver)
    for answer in (policy.attach(cluster), policy.detach(cluster)):
        assert answer[0] is False
        assert 'odd' in answer[1]


@pytest.mark.parametrize('properties', [{'servergroup': {'policies': ['affinity']}}, {'x': 1}])
def test_validate_raises_senlins_own_error(desk, properties):
    with pytest.raises(senlin_exception.InvalidSpec, match=r'^properties\.'):
        AffinityPolicy('bad', spec(**properties)).validate(desk.context)


def test_r3_26_unknown_zone(desk):
    policy = desk.policy(spec(availability_zone='nowhere'))
    assert policy.validate(desk.context)
    words = "The specified availability_zone 'nowhere' could not be found."
    with pytest.raises(senlin_exception.InvalidSpec, match=words):
        policy.validate(desk.context, validate_props=True)


@pytest.mark.parametrize(('failure', 'code'), [(UNAVAILABLE, 503), (TIMEOUT, 500)], ids=str)
def test_zone_that_can_not_be_looked_up_is_not_an_invalid_spec(_database, failure, code):
    with Edge() as edge:
        desk = Desk(edge)
        edge.fail('GET', '/os-availability-zone', failure)
        policy = desk.policy(spec(availability_zone='nova'))
        with pytest.raises(senlin_exception.InternalError, match='could not be checked') as caught:
            policy.validate(desk.context, validate_props=True)
        assert failure.words in str(caught.value)
        assert caught.value.code == code


def test_q3_09_what_an_attach_left_is_not_deleted_under_another_cluster(desk):
    """A group of the cluster's own, of an earlier spec; another cluster has inherited it."""
    made, policy = desk.cluster(), desk.policy(spec(servergroup={'policies': 'affinity'}))
    left = desk.edge.nova.add_group(f'senlin-affinity-{made.id}')
    desk.bound(group=left)
    is_attached, data = policy.attach(made)
    assert is_attached, data
    assert data['AffinityPolicy']['data']['servergroup_id'] != left
    assert left in [group['id'] for group in desk.edge.nova.groups]
    assert not [asked for asked in desk.edge.nova.requests() if asked.startswith('DELETE')]


def test_a_named_group_whose_creation_broke_off_is_the_policys_own_again(desk):
    """The answer is lost, and the list after it, too: the cluster's data remember the name."""
    made, policy = desk.cluster(), desk.policy(spec(servergroup={'name': 'web'}))
    desk.edge.fail('POST', '/os-server-groups', SERVER_ERROR, times=1, is_applied=True)
    desk.edge.fail('GET', '/os-server-groups', SERVER_ERROR, times=1, skip=1)
    is_attached, why = policy.attach(made)
    assert not is_attached
    assert "whether server group 'web' was created is not known" in why
    again = desk.load_cluster(made.id)
    assert again.data == {'senlin_affinity': {'creating': 'web'}}
    is_attached, data = policy.attach(again)
    assert is_attached, data
    assert data['AffinityPolicy']['data']['inherited_group'] is False
    assert again.data == {}
    assert len(desk.edge.nova.groups) == 1


def test_a_refused_creation_is_not_remembered(desk):
    made, policy = desk.cluster(), desk.policy(spec(servergroup={'name': 'web'}))
    desk.edge.fail('POST', '/os-server-groups', FORBIDDEN, times=1)
    assert policy.attach(made)[0] is False
    assert desk.load_cluster(made.id).data == {}


def kept(desk, wanted=None, metadata=None):
    """A cluster with a node in a group of its own, from which the policy was detached again."""
    cluster = desk.cluster(metadata=metadata or {})
    policy = desk.policy(wanted)
    is_attached, data = policy.attach(cluster)
    assert is_attached, data
    desk.bind(cluster, policy, data)
    group = data['AffinityPolicy']['data']['servergroup_id']
    server = desk.edge.nova.boot(group)
    node = desk.node(cluster, {'placement': {'servergroup': group}}, physical_id=server)
    bound = desk.load_cluster(cluster.id)
    is_detached, said = policy.detach(bound)
    assert is_detached, said
    # The engine deletes the binding and then stores the cluster: it may die before either.
    assert desk.load_cluster(cluster.id).data == {'senlin_affinity': {'kept': group}}
    objects.ClusterPolicy.delete(desk.context, cluster.id, policy.id)
    bound.store(desk.context)
    return cluster, group, node


KEPT = spec(servergroup={'on_detach': 'keep'})


@pytest.mark.parametrize(
    ('wanted', 'metadata'), [(KEPT, None), (spec(), {'senlin_affinity_on_detach': 'keep'})]
)
def test_q3_12_a_kept_group_is_noted_and_taken_up_again(desk, wanted, metadata):
    cluster, group, node = kept(desk, wanted, metadata)
    again = desk.load_cluster(cluster.id)
    assert again.data == {'senlin_affinity': {'kept': group}}
    assert desk.node_data(node.id) == {'placement': {'servergroup': group}}
    again.data['other'] = 1
    is_attached, data = desk.policy().attach(again)
    assert is_attached, data
    assert data['AffinityPolicy']['data']['servergroup_id'] == group
    assert data['AffinityPolicy']['data']['inherited_group'] is False
    assert again.data == {'other': 1}
    assert len(desk.edge.nova.groups) == 1


def test_q3_12_a_kept_group_that_does_not_match_is_an_error_and_stays(desk):
    cluster, group, _node = kept(desk, KEPT)
    again = desk.load_cluster(cluster.id)
    is_attached, why = desk.policy(spec(servergroup={'policies': 'affinity'})).attach(again)
    assert not is_attached
    assert why.startswith("Policies specified (affinity) doesn't match")
    assert f'openstack server group delete {group}' in why
    assert desk.load_cluster(cluster.id).data == {'senlin_affinity': {'kept': group}}
    assert [each['id'] for each in desk.edge.nova.groups] == [group]


@pytest.mark.parametrize('is_deleted_here', [False, True])
def test_q3_12_a_kept_group_that_is_gone_is_forgotten_by_the_nodes(desk, is_deleted_here):
    """Otherwise a later RECREATE of such a node deletes its server and can not boot it again."""
    cluster, group, node = kept(desk, KEPT)
    if is_deleted_here:  # by the attach, as it is empty and does not match
        (known,) = desk.edge.nova.groups
        known['members'].clear()
    else:
        desk.edge.nova.groups.clear()
    again = desk.load_cluster(cluster.id)
    is_attached, data = desk.policy(spec(servergroup={'policies': 'affinity'})).attach(again)
    assert is_attached, data
    assert group not in [each['id'] for each in desk.edge.nova.groups]
    assert desk.node_data(node.id) == {'placement': {}}
    assert again.data == {}


def test_a_named_group_that_is_about_to_be_created_does_not_hide_the_kept_one(desk):
    cluster, group, node = kept(desk, KEPT)
    desk.edge.nova.groups.clear()
    desk.edge.fail('POST', '/os-server-groups', SERVER_ERROR, times=1)
    again, policy = desk.load_cluster(cluster.id), desk.policy(spec(servergroup={'name': 'web'}))
    assert not policy.attach(again)[0]
    again = desk.load_cluster(cluster.id)
    assert again.data == {'senlin_affinity': {'creating': 'web', 'kept': group}}
    assert policy.attach(again)[0]
    assert desk.node_data(node.id) == {'placement': {}}


@pytest.mark.parametrize(
    ('metadata', 'said'),
    [
        ({'senlin_affinity_on_detach': 'delete'}, None),
        ({'senlin_affinity_on_detach': 'no'}, 'metadata.senlin_affinity_on_detach: must be'),
    ],
)
def test_q3_12_the_metadata_go_before_the_spec(desk, metadata, said):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(metadata=metadata), desk.policy(KEPT)
    desk.bind(cluster, policy, binding(group, inherited=False))
    is_detached, why = policy.detach(desk.load_cluster(cluster.id))
    assert is_detached == (said is None)
    assert bool(desk.edge.nova.groups) == (said is not None)
    if said:
        assert why.startswith(said)


@pytest.mark.parametrize(
    ('action', 'is_gone'), [('CLUSTER_DELETE', True), ('CLUSTER_DETACH_POLICY', False)]
)
def test_q3_12_a_cluster_that_is_deleted_keeps_no_group(desk, action, is_gone):
    """The action that holds the cluster's lock tells; what the metadata say is not even read."""
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(metadata={'senlin_affinity_on_detach': 'keep'}), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False))
    desk.action(cluster, 'CLUSTER_DELETE')  # one that holds nothing
    running = desk.action(cluster, action)
    assert senlin_lock.cluster_lock_acquire(desk.context, cluster.id, running.id)
    try:
        is_detached, said = policy.detach(desk.load_cluster(cluster.id))
    finally:
        senlin_lock.cluster_lock_release(cluster.id, running.id, senlin_lock.CLUSTER_SCOPE)
    assert is_detached, said
    assert (desk.edge.nova.groups == []) is is_gone


def test_a_disabled_attach_says_in_the_clusters_status_what_it_means(desk):
    cluster, policy = desk.cluster(), desk.policy()
    is_attached, data = policy.attach(cluster, enabled=False)
    assert is_attached, data
    group = data['AffinityPolicy']['data']['servergroup_id']
    cluster.store(desk.context)  # as the engine does
    reason = desk.load_cluster(cluster.id).status_reason
    assert reason.startswith("the affinity policy 'web' was attached disabled: nodes")
    assert group in reason


def test_an_enabled_attach_leaves_the_clusters_status_alone(desk):
    cluster = desk.cluster()
    before = cluster.status_reason
    assert desk.policy().attach(cluster)[0]
    assert cluster.status_reason == before


def test_each_decision_is_one_line(desk, caplog):
    cluster, policy = desk.cluster(), desk.policy()
    with caplog.at_level('INFO', logger='senlin_affinity'):
        _done, data = policy.attach(cluster)
        desk.bind(cluster, policy, data)
        policy.pre_op(cluster.id, desk.action(cluster, 'CLUSTER_SCALE_OUT'))
        policy.detach(cluster)
    assert [line.split(': ')[0].split(', ') for line in caplog.messages] == [
        ['affinity policy web', f'cluster {cluster.id}', what]
        for what in ('attach', 'CLUSTER_SCALE_OUT', 'detach')
    ]


def test_an_option_names_the_groups(desk, option):
    option('group_name_prefix', 'ours-')
    cluster = desk.cluster()
    assert desk.policy().attach(cluster)[0]
    assert [group['name'] for group in desk.edge.nova.groups] == [f'ours-{cluster.id}']


def test_an_ordinary_refusal_is_one_line_and_no_traceback(desk, caplog):
    """Only what the policy does not know is logged with a traceback."""
    desk.edge.nova.add_group('web', policy='affinity')
    cluster, policy = desk.cluster(), desk.policy(spec(servergroup={'name': 'web'}))
    hook = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': 'many'})
    with caplog.at_level('INFO', logger='senlin_affinity'):
        assert not policy.attach(cluster)[0]
        policy.pre_op(cluster.id, hook)
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [
        ('INFO', None),
        ('INFO', None),
    ]


def test_an_unknown_error_is_logged_with_its_traceback(desk, monkeypatch, caplog):
    def driver(*_arguments):
        raise KeyError('odd')

    cluster, policy = desk.bound(spec('1.0', enable_drs_extension=True))
    monkeypatch.setattr(policy, 'nova', driver)
    with caplog.at_level('ERROR', logger='senlin_affinity'):
        assert not policy.attach(cluster)[0]
        policy.pre_op(cluster.id, desk.action(cluster, 'CLUSTER_SCALE_OUT'))
    assert [type(record.exc_info[1]) for record in caplog.records] == [KeyError] * 2
