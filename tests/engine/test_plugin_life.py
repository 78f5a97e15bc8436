"""The attributes of the policy class, and attach and detach on the engine's own objects."""

from types import SimpleNamespace

import pytest
from senlin import objects
from senlin.common import consts
from senlin.common import exception as senlin_exception
from senlin.engine import senlin_lock
from senlin.policies import base

from senlin_affinity.plugins.senlin import clients
from senlin_affinity.plugins.senlin.policy import AffinityPolicy, converted
from senlin_affinity.policy.properties import Property
from tests.engine.support import HEAT_PROFILE, Desk, binding, done, profile, refused, spec
from tests.support.edge import SERVER_ERROR, Edge
from tests.support.fake_nova import FakeFlavor


def test_r3_01_r3_03_attributes_for_the_engine(desk):
    assert AffinityPolicy.__name__ == 'AffinityPolicy'
    assert AffinityPolicy.PRIORITY == 300
    assert AffinityPolicy.VERSION in AffinityPolicy.VERSIONS
    assert AffinityPolicy.VERSIONS['1.0'] == [{'status': 'SUPPORTED', 'since': '2016.10'}]
    assert AffinityPolicy.PROFILE_TYPE == ['os.nova.server-1.0']
    assert issubclass(AffinityPolicy, base.Policy)
    policy = desk.policy()
    checked = [
        (when, action)
        for when in ('BEFORE', 'AFTER')
        for action in {*consts.CLUSTER_ACTION_NAMES, *consts.NODE_ACTION_NAMES}
        if policy.need_check(when, SimpleNamespace(action=action))
    ]
    triggers = [('BEFORE', name) for name in ('CLUSTER_RESIZE', 'CLUSTER_SCALE_OUT', 'NODE_CREATE')]
    assert sorted(checked) == sorted(AffinityPolicy.TARGET) == triggers


def test_properties_have_senlins_format():
    """``GET /policy-types`` shows lists like those of Senlin's own policies."""
    kinds = {'string': 'String', 'integer': 'Integer', 'boolean': 'Boolean', 'list': 'List'}
    children = [Property(kind, f'A {kind}.', kind, default=False) for kind in kinds]
    choice = Property('choice', 'A choice.', 'string', '1.1', 'a', ('a', 'b'))
    shown = converted(Property('map', 'A map.', 'map', children=(*children, choice)))
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


def test_r3_02_other_profile_type_is_not_applicable(desk):
    why = refused(desk.policy().attach(desk.cluster(profile=HEAT_PROFILE)))
    assert why == 'Policy not applicable on profile type: os.heat.stack-1.0'
    assert desk.edge.nova.requests() == []


def test_a_profile_with_a_zone_is_not_spread_over_the_zones(desk):
    policy = desk.policy(spec(spread=[{'by': 'availability_zone', 'mode': 'soft'}]))
    why = refused(policy.attach(desk.cluster(profile=profile(availability_zone='nova:cmp-1'))))
    assert why.startswith("properties.availability_zone: the profile names 'nova:cmp-1',")
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize(
    ('mode', 'specs', 'refusal'),
    [
        ('strict', {'foo': 'bar'}, "flavor 'm1.tiny': foo: no extra spec of this name is known"),
        ('permissive', {'foo': 'bar'}, None),
        ('permissive', {'hw:cpu_policy': 'x'}, "flavor 'm1.tiny': hw:cpu_policy: must be one of"),
        ('off', {'hw:cpu_policy': 'x'}, None),
    ],
)
def test_the_flavor_of_the_profile(_database, caplog, mode, specs, refusal):
    """R4-07 to R4-09: an invalid flavor is rejected without a group; unknown names are logged at
    INFO.
    """
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


@pytest.mark.parametrize('version', [1.0, '1.0', '1.1', '2.7'])
def test_d3_08_detach_reads_every_version_and_leaks_nothing(desk, version):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=False, version=version))
    done(policy.detach(cluster))
    assert desk.groups() == []


@pytest.mark.parametrize('inherited', [False, True])
def test_detach_removes_a_deleted_group_from_the_nodes_data(desk, inherited):
    group = desk.edge.nova.add_group('mine')
    cluster, policy = desk.cluster(), desk.policy()
    desk.bind(cluster, policy, binding(group, inherited=inherited))
    before = [
        {'placement': {'servergroup': group, 'zone': 'az1'}, 'other': 1},
        {'placement': {'servergroup': 'another'}},
        {},
    ]
    nodes = [desk.node(cluster, data) for data in before]
    done(policy.detach(desk.load_cluster(cluster.id)))
    first = before[0] if inherited else {'placement': {'zone': 'az1'}, 'other': 1}
    assert [desk.node_data(node.id) for node in nodes] == [first, *before[1:]]


@pytest.mark.parametrize('error', [KeyError('odd'), senlin_exception.TrustNotFound(trustor='odd')])
def test_attach_and_detach_report_every_exception(desk, monkeypatch, caplog, error):
    """Only unexpected exceptions are logged with a traceback."""
    cluster, policy, _group = desk.owned(spec('1.0', enable_drs_extension=True))

    def driver(*_arguments):
        raise error

    monkeypatch.setattr(policy, 'nova', driver)
    with caplog.at_level('ERROR', logger='senlin_affinity'):
        assert 'odd' in refused(policy.attach(cluster))
        assert 'odd' in refused(policy.detach(cluster))
        policy.pre_op(cluster.id, desk.action(cluster, 'CLUSTER_SCALE_OUT'))
    logged = [type(record.exc_info[1]) for record in caplog.records]
    assert logged == [KeyError] * (3 * isinstance(error, KeyError))


KEPT = spec(servergroup={'on_detach': 'keep'})
AFFINITY = spec(servergroup={'policies': 'affinity'})
BY_METADATA = {'senlin_affinity_on_detach': 'keep'}


def kept(desk, wanted=KEPT, **cluster):
    """Return a cluster with a node in its own group, from which the policy was detached."""
    cluster, policy, group = desk.owned(wanted, **cluster)
    server = desk.edge.nova.boot(group)
    node = desk.node(cluster, {'placement': {'servergroup': group}}, physical_id=server)
    bound = desk.load_cluster(cluster.id)
    done(policy.detach(bound))
    # The engine deletes the binding and then stores the cluster: it may die before either.
    assert desk.load_cluster(cluster.id).data == {'senlin_affinity': {'kept': group}}
    objects.ClusterPolicy.delete(desk.context, cluster.id, policy.id)
    bound.store(desk.context)
    assert desk.node_data(node.id) == {'placement': {'servergroup': group}}
    return desk.load_cluster(cluster.id), group, node


@pytest.mark.parametrize(('wanted', 'metadata'), [(KEPT, {}), (spec(), BY_METADATA)])
def test_q3_12_a_kept_group_is_recorded_and_adopted(desk, wanted, metadata):
    again, group, _node = kept(desk, wanted, metadata=metadata)
    assert again.data == {'senlin_affinity': {'kept': group}}
    again.data['other'] = 1
    policy = desk.policy(wanted)
    bound = done(policy.attach(again))
    data = bound['AffinityPolicy']['data']
    assert (data['servergroup_id'], data['inherited_group']) == (group, False)
    assert again.data == {'other': 1}
    desk.bind(again, policy, bound)
    done(policy.detach(again))
    assert again.data == {'other': 1, 'senlin_affinity': {'kept': group}}
    assert desk.groups() == [group]


def test_q3_12_a_kept_group_that_does_not_match_is_an_error_and_remains(desk):
    again, group, _node = kept(desk)
    why = refused(desk.policy(AFFINITY).attach(again))
    assert why.startswith("Policies specified (affinity) doesn't match")
    assert f'openstack server group delete {group}' in why
    assert desk.load_cluster(again.id).data == {'senlin_affinity': {'kept': group}}
    assert desk.groups() == [group]


@pytest.mark.parametrize('is_deleted_here', [False, True])
def test_q3_12_a_deleted_kept_group_is_removed_from_the_nodes_data(desk, is_deleted_here):
    """Otherwise a later RECREATE of such a node would delete its server and could not create a new
    one.
    """
    again, group, node = kept(desk)
    if is_deleted_here:  # deleted by the attach, because it is empty and does not match
        desk.edge.nova.groups[0]['members'].clear()
    else:
        desk.edge.nova.groups.clear()
    done(desk.policy(AFFINITY).attach(again))
    assert group not in desk.groups()
    assert desk.node_data(node.id) == {'placement': {}}
    assert again.data == {}


def test_a_named_group_to_be_created_does_not_hide_the_kept_one(desk):
    again, group, node = kept(desk)
    desk.edge.nova.groups.clear()
    desk.edge.fail('POST', '/os-server-groups', SERVER_ERROR, times=1)
    policy = desk.policy(spec(servergroup={'name': 'web'}))
    refused(policy.attach(again))
    again = desk.load_cluster(again.id)
    assert again.data == {'senlin_affinity': {'kept': group}}
    done(policy.attach(again))
    assert desk.node_data(node.id) == {'placement': {}}


@pytest.mark.parametrize(
    ('action', 'is_gone'), [('CLUSTER_DELETE', True), ('CLUSTER_DETACH_POLICY', False)]
)
def test_q3_12_a_cluster_deletion_keeps_no_group(desk, action, is_gone):
    """The action that holds the cluster's lock reveals the deletion; the metadata are not read."""
    cluster, policy, _group = desk.owned(metadata=BY_METADATA)
    desk.action(cluster, 'CLUSTER_DELETE')  # one that holds nothing
    running = desk.action(cluster, action)
    assert senlin_lock.cluster_lock_acquire(desk.context, cluster.id, running.id)
    try:
        done(policy.detach(desk.load_cluster(cluster.id)))
    finally:
        senlin_lock.cluster_lock_release(cluster.id, running.id, senlin_lock.CLUSTER_SCOPE)
    assert (desk.groups() == []) is is_gone


@pytest.mark.parametrize('enabled', [True, False])
def test_the_clusters_status_explains_a_disabled_attach(desk, caplog, enabled):
    cluster = desk.cluster()
    before = cluster.status_reason
    with caplog.at_level('INFO'):
        data = done(desk.policy().attach(cluster, enabled=enabled))
    assert ('was attached disabled' in caplog.text) is not enabled
    cluster.store(desk.context)  # as the engine does
    reason = desk.load_cluster(cluster.id).status_reason
    if enabled:
        assert reason == before
    else:
        assert reason.startswith("the affinity policy 'web' was attached disabled: nodes")
        assert data['AffinityPolicy']['data']['servergroup_id'] in reason


def test_an_option_sets_the_prefix_of_group_names(desk, option):
    option('group_name_prefix', 'ours-')
    cluster = desk.cluster()
    assert desk.policy().attach(cluster)[0]
    assert [group['name'] for group in desk.edge.nova.groups] == [f'ours-{cluster.id}']


def test_beyond_the_quota_of_the_project_no_group_is_created(desk):
    desk.edge.nova.quota = 0
    assert 'quota' in refused(desk.policy().attach(desk.cluster()))
    assert 'POST /os-server-groups' not in desk.edge.nova.requests()


def test_rules_that_nova_is_too_old_for_are_rejected_before_a_group_is_searched(_database):
    with Edge(newest_microversion='2.63') as edge:
        wanted = spec(servergroup={'name': 'web', 'rules': {'max_server_per_host': 2}})
        assert '2.64' in refused(Desk(edge).policy(wanted).attach(Desk(edge).cluster()))
        assert 'GET /os-server-groups' not in edge.nova.requests()


def test_the_option_limits_the_responses_to_the_owners_connection(desk, option):
    option('max_answer_size', 7)
    policy = desk.policy()
    done(policy.attach(desk.cluster()))
    adapters = policy._novaclient.conn.session.session.adapters
    assert [7 * 2**20 in vars(each).values() for each in adapters.values()] == [True] * 2


def test_a_refusal_is_logged_in_one_line_without_a_traceback(desk, caplog):
    desk.edge.nova.add_group('web', policy='affinity')
    cluster, policy = desk.cluster(), desk.policy(spec(servergroup={'name': 'web'}))
    hook = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': 'many'})
    clients.log_identity()  # logs once in a process
    with caplog.at_level('INFO', logger='senlin_affinity'):
        refused(policy.attach(cluster))
        policy.pre_op(cluster.id, hook)
    assert [(each.levelname, each.exc_info) for each in caplog.records] == [('INFO', None)] * 2
    attached, hooked = caplog.messages
    assert ', attach: rejected: ' in attached
    assert ', CLUSTER_SCALE_OUT: rejects: inputs.count: ' in hooked


def test_a_second_affinity_policy_of_any_version_is_rejected(desk):
    cluster, first = desk.cluster(), desk.policy()
    scaling = SimpleNamespace(id='scaling', name='grow', type='senlin.policy.scaling-1.0')
    cluster.rt['policies'] = [scaling, first]
    for version in ('1.0', '1.1'):
        why = refused(desk.policy(spec(version)).attach(cluster))
        assert 'has an affinity policy already: web (senlin.policy.affinity-1.1)' in why
    assert desk.edge.nova.requests() == []
    done(first.attach(cluster))
