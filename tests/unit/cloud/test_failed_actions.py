"""The last failed action of a cluster or a node, from the lists of a Senlin.

The bodies are those of a real Senlin 16 (``tests/engine/test_story_explain.py``).
"""

from urllib.parse import unquote

import pytest

from senlin_affinity.cloud import clients, failed_actions
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.preflight.failed_server import (
    ActionFailure,
    Cause,
    FailedServer,
    SenlinAction,
    question_of,
)
from senlin_affinity.preflight.question import Question
from tests.support.edge import Edge
from tests.unit.cloud.test_failed_servers import FLAVOR, Story, action, server, uuid

REJECTED = "Policy check failure: Failed policy 'web': does not fit: at most 2 of 3"
SPEC = {
    'type': 'os.nova.server',
    'version': '1.0',
    'properties': {'flavor': 'tiny', 'image': 'cirros'},
}
POLICY = {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': {'pin_hosts': True}}


def cluster(number=1, name='web', **more):
    ids = {'id': uuid(number), 'name': name, 'project': 'p', 'user': 'u'}
    return {**ids, 'profile_id': uuid(50), 'nodes': [], 'desired_capacity': 4, **more}


def node(number, status='ERROR', reason='', server_id='', **data):
    return {
        'id': uuid(number), 'name': f'web-{number}', 'status': status, 'status_reason': reason,
        'cluster_id': uuid(1), 'profile_id': uuid(50), 'project': 'p', 'user': 'u',
        'physical_id': server_id, 'data': {'placement': data} if data else {},
    }  # fmt: skip


def acted(name='CLUSTER_SCALE_OUT', status='FAILED', reason=REJECTED, at=1, target=1, **more):
    return {
        'id': uuid(100 * target + at), 'action': name, 'status': status, 'status_reason': reason,
        'created_at': f'2026-11-26T09:00:{at:02}Z', 'start_time': float(at), 'target': uuid(target),
        'cause': 'RPC Request', 'inputs': {}, 'data': {}, **more,
    }  # fmt: skip


def part(target, at=2, reason='no', status='FAILED', name='NODE_CREATE'):
    return acted(name, status, reason, at, target, cause='Derived Action')


def bound(policy='web', group='g', enabled=True, kind='senlin.policy.affinity-1.1'):
    held = {'servergroup_id': group, 'inherited_group': True}
    return {
        'cluster_id': uuid(1), 'policy_id': uuid(60), 'policy_name': policy,
        'policy_type': kind, 'enabled': enabled,
        'data': {'AffinityPolicy': {'version': '1.1', 'data': held}},
    }  # fmt: skip


class Senlin:
    """A Senlin with one cluster, its nodes and its actions; its policy is called web."""

    def __init__(self, *actions, nodes=(), clusters=None, policy='web'):
        self.clusters = [cluster()] if clusters is None else clusters
        self.actions, self.nodes = actions, nodes
        self.bindings = [bound(policy)] if policy else []
        self.asked = []

    def get(self, path, what, microversion=None, params=None):
        self.asked.append((path, microversion, params))
        kind, *rest = map(unquote, path.strip('/').split('/'))
        if rest[1:]:
            return {'cluster_policies': self.bindings}
        specs = {'profiles': SPEC, 'policies': POLICY}
        if kind in specs:
            key = {'profiles': 'profile', 'policies': 'policy'}[kind]
            return {key: {'id': rest[0], 'spec': specs[kind]}}
        listed = list(getattr(self, kind))
        if rest:
            found = [each for each in listed if each['id'] == rest[0]]
            if not found:
                raise CloudError('Senlin answered 404', 404)
            return {kind[:-1]: found[0]}
        for key in {'name', 'target'} & params.keys():
            listed = [each for each in listed if each[key] == params[key]]
        return {kind: listed}


def find(senlin, kind='cluster', named='web'):
    """Search without requests to Nova."""
    with Edge() as edge:
        connected = clients.of(edge.connection())
        found = failed_actions.find(senlin, connected, kind, named, Question(1))
        assert edge.nova.asked == []
        return found


def test_a_rejection_is_repeated_with_the_policy_and_its_group():
    senlin = Senlin(acted(inputs={'count': 3}), clusters=[cluster(profile_id='a/b')])
    failed, given = find(senlin)
    at = '2026-11-26T09:00:01Z'
    assert failed == FailedServer(
        '',
        'CLUSTER_SCALE_OUT of cluster web (3 nodes)',
        'FAILED',
        ActionFailure(Cause.POLICY, REJECTED, at, source='Senlin'),
        'p',
        'u',
        flavor_name='tiny',
        action=SenlinAction('CLUSTER_SCALE_OUT', 'cluster web', Cause.POLICY, REJECTED, at),
    )
    assert given.profile == SPEC
    question = question_of(failed, given)
    assert (question.count, question.flavor, question.server_group) == (3, 'tiny', 'g')
    assert (question.project_id, question.properties.pins_hosts) == ('p', True)
    assert senlin.asked == [
        ('/clusters', None, {'limit': 1000, 'name': 'web'}),
        ('/actions', (1, 14), {'limit': 1000, 'cluster_id': uuid(1), 'sort': 'created_at:desc'}),
        ('/profiles/a%2Fb', None, None),
        (f'/clusters/{uuid(1)}/policies', None, None),
        (f'/policies/{uuid(60)}', None, None),
    ]


@pytest.mark.parametrize(
    ('name', 'inputs', 'data', 'count'),
    [
        ('CLUSTER_SCALE_OUT', {}, {}, 1),
        ('CLUSTER_SCALE_OUT', {'count': '2'}, {}, 2),
        ('CLUSTER_SCALE_OUT', {'count': 2}, {'creation': {'count': 5}}, 5),
        ('CLUSTER_RESIZE', {'adjustment_type': 'EXACT_CAPACITY', 'number': 5}, {}, 3),
        ('CLUSTER_RESIZE', {'adjustment_type': 'EXACT_CAPACITY', 'number': '5'}, {}, 3),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 5}, {}, 5),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 150.0}, {}, 3),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 10.0}, {}, 1),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 175.0}, {}, 3),
        ('CLUSTER_RESIZE', {'adjustment_type': 'EXACT_CAPACITY', 'number': 1}, {}, 1),
        ('CLUSTER_RESIZE', {'adjustment_type': 'CHANGE_IN_CAPACITY', 'count': 2}, {}, 2),
        ('CLUSTER_RESIZE', None, None, 1),
        ('CLUSTER_RESIZE', {'count': 2}, {'creation': None}, 2),
        ('CLUSTER_CREATE', {}, {'creation': {'count': 5}}, 4),
    ],
)
def test_the_number_of_nodes_of_a_rejected_action(name, inputs, data, count):
    two = [cluster(nodes=['a', 'b'])]
    senlin = Senlin(acted(name, reason='no', inputs=inputs, data=data), clusters=two)
    failed, given = find(senlin)
    words = f' ({count} nodes)' if count > 1 else ''
    assert (given.count, failed.name) == (count, f'{name} of cluster web{words}')


@pytest.mark.parametrize(
    ('status', 'reason', 'cause'),
    [
        ('FAILED', 'Failed in locking cluster.', Cause.LOCK),
        ('FAILED', 'Exceeded maximum number of retries (3)', Cause.LOCK),
        ('FAILED', 'CLUSTER_SCALE_OUT [5f80f706] timeout', Cause.TIMEOUT),
        ('CANCELLED', 'CLUSTER_SCALE_OUT [5f80f706] cancelled', Cause.CANCELLED),
        ('FAILED', 'The target capacity (9) is greater than the maximum', Cause.SENLIN),
        ('FAILED', "Policy check failure: Failed policy 'scaling': no", Cause.SENLIN),
    ],
)
def test_a_failure_with_another_cause(status, reason, cause):
    failed, given = find(Senlin(acted(status=status, reason=reason)))
    assert (failed.failure.cause, failed.action.cause, given.policy) == (cause, cause, None)


def find_with_nova(senlin, story):
    with story.edge as edge:
        edge.answer('/servers/detail', story._list)
        edge.answer('/servers/[^/]*', lambda _query: story._show(edge))
        edge.answer('/servers/.*/os-instance-actions', lambda _query: story._actions(edge))
        edge.answer('/servers/.*/os-instance-actions/.*', lambda _query: story._events())
        connected = clients.of(edge.connection())
        return failed_actions.find(senlin, connected, 'cluster', 'web', Question(1))


def test_the_server_of_a_node_that_failed():
    """A deleted server, of which Nova shows a tenant only the actions."""
    placed = {'servergroup': 'own', 'zone': 'az-1'}
    nodes = [node(2, 'ACTIVE'), node(3), node(4, server_id=uuid(9), **placed)]
    parts = [part(2, status='SUCCEEDED'), part(3), part(4), part(5)]
    senlin = Senlin(acted(reason='Failed in creating nodes.'), *parts, nodes=nodes)
    story = Story([], actions={uuid(9): [action('delete', None), action()]})
    failed, given = find_with_nova(senlin, story)
    assert (failed.id, failed.name, failed.status) == (uuid(9), 'web-4', 'DELETED')
    assert (failed.failure.cause, failed.hidden) == (Cause.NOT_SHOWN, {})
    assert (failed.project_id, failed.user_id) == ('p', 'u')
    assert failed.action.nodes == ('web-3', 'web-4')
    question = question_of(failed, given)
    assert (question.count, question.flavor, question.server_group) == (2, 'tiny', 'own')
    assert question.availability_zone == 'az-1'


def test_a_server_that_nova_shows_has_its_name_and_flavor():
    senlin = Senlin(acted(), part(3), nodes=[node(3, server_id=uuid(1))])
    senlin.actions[0]['status_reason'] = 'Failed in creating nodes.'
    shown = server(1, flavor={**FLAVOR, 'original_name': 'small'}, image='')
    failed, _given = find_with_nova(senlin, Story([shown]))
    assert (failed.id, failed.name, failed.flavor_name) == (uuid(1), 'web-1', 'small')
    assert (failed.project_id, failed.user_id, failed.hidden) == ('p', 'u', {})
    assert failed.action.nodes == ('web-3',)


def test_a_server_that_ran_once_does_not_explain_the_failure():
    senlin = Senlin(acted(reason='no'), part(3), nodes=[node(3, reason='no', server_id=uuid(1))])
    failed, _given = find_with_nova(senlin, Story([server(1, 'ACTIVE')]))
    assert (failed.id, failed.name, failed.failure.message) == ('', 'web-3', 'no')


def test_nodes_whose_servers_nova_rejected():
    """There is no server; Senlin calls the action successful, as it sometimes does."""
    reason = 'Failed in creating server: Quota exceeded for instances: Requested 1.'
    nodes = [node(2, reason=reason), node(3, reason=reason)]
    done = acted(status='SUCCEEDED', reason='Action completed successfully.')
    senlin = Senlin(done, part(2, at=1), part(3), nodes=nodes)
    failed, given = find(senlin)
    assert (failed.name, failed.status, failed.failure.cause) == ('web-2', 'ERROR', Cause.QUOTA)
    assert failed.failure.message == 'Quota exceeded for instances: Requested 1.'
    assert (failed.action.nodes, given.count, given.server_group) == (('web-2', 'web-3'), 2, 'g')
    assert senlin.asked[-1] == ('/nodes', None, {'limit': 1000, 'cluster_id': uuid(1)})


def test_parts_of_earlier_actions_and_of_checks_do_not_count():
    earlier = part(2, at=1)
    checked = part(2, at=5, name='NODE_CHECK')
    done = acted(status='SUCCEEDED', at=3)
    with pytest.raises(
        InvalidSpec, match=r'^the last action of cluster web \(CLUSTER_SCALE_OUT\) succ'
    ):
        find(Senlin(earlier, done, checked, nodes=[node(2)]))


def test_actions_that_create_no_node_do_not_hide_a_failure():
    others = ('CLUSTER_ATTACH_POLICY', 'CLUSTER_CHECK', 'CLUSTER_SCALE_IN')
    later = [acted(name, 'SUCCEEDED', at=9 + at) for at, name in enumerate(others)]
    failed_check = acted('CLUSTER_CHECK', at=20)
    assert find(Senlin(acted(), *later, failed_check))[0].action.name == 'CLUSTER_SCALE_OUT'


def test_the_last_action_began_last():
    """A later request may begin earlier; an action without a start waits."""
    early, late = acted(reason='early', at=9), acted(reason='late', at=1)
    early['start_time'], late['start_time'] = 1.0, 2.0
    assert find(Senlin(early, late))[0].failure.message == 'late'
    waiting = acted(status='INIT', at=2, start_time=None)
    with pytest.raises(InvalidSpec, match='is INIT$'):
        find(Senlin(early, late, waiting))


def test_the_group_is_that_of_the_first_enabled_affinity_policy():
    senlin = Senlin(acted())
    others = [bound(group='off', enabled=False), bound(group='other', kind='senlin.policy.x-1.0')]
    senlin.bindings = [*others, *senlin.bindings, bound(group='second')]
    assert find(senlin)[1].server_group == 'g'


def test_a_node_without_a_cluster_has_no_policy():
    alone = node(3, reason='Failed in creating server: No valid host was found.')
    alone['cluster_id'] = ''
    senlin = Senlin(acted('NODE_CREATE', target=3, reason='no'), nodes=[alone])
    failed, given = find(senlin, 'node', 'web-3')
    assert (failed.name, failed.failure.cause, failed.action.nodes) == ('web-3', Cause.NO_HOST, ())
    assert (given.server_group, given.count) == (None, 1)
    assert [path for path, _version, _query in senlin.asked] == [
        '/nodes',
        '/actions',
        f'/profiles/{uuid(50)}',
    ]


def test_a_node_with_its_own_action():
    failed = node(3, 'INIT', reason='does not fit')
    derived = acted('NODE_CREATE', target=3, reason=REJECTED, cause='Derived Action')
    senlin = Senlin(derived, nodes=[node(2), failed])
    for named in ('web-3', uuid(3)):
        found, given = find(senlin, 'node', named)
        assert (found.action.target, found.action.nodes) == ('node web-3', ())
        actions = {'limit': 1000, 'target': uuid(3), 'sort': 'created_at:desc'}
        assert senlin.asked[-4] == ('/actions', (1, 14), actions)
        assert (found.action.cause, given.count, given.server_group) == (Cause.POLICY, 1, 'g')


@pytest.mark.parametrize(
    ('senlin', 'named', 'words'),
    [
        (Senlin(), 'nobody', "^there is no cluster 'nobody'$"),
        (Senlin(), uuid(7), f"^there is no cluster '{uuid(7)}'$"),
        (Senlin(), 'web', '^Senlin has no action of cluster web$'),
        (
            Senlin(clusters=[cluster(1), cluster(2)]),
            'web',
            f"^2 clusters are called 'web': use an id, such as {uuid(1)}, {uuid(2)}$",
        ),
        (
            Senlin(acted(status='RUNNING')),
            'web',
            r'^the last action of cluster web \(CLUSTER_SCALE_OUT\) is RUNNING$',
        ),
        (
            Senlin(acted('CLUSTER_CHECK', 'SUCCEEDED')),
            uuid(1),
            r'^the last action of cluster web \(CLUSTER_CHECK\) succeeded$',
        ),
    ],
)
def test_failures_without_an_explanation(senlin, named, words):
    with pytest.raises(InvalidSpec, match=words):
        find(senlin, named=named)


def test_a_failed_action_that_creates_no_server():
    words = '^{} of cluster web failed: {} .not explained, because this action creates no server.$'
    with pytest.raises(AffinityError, match=words.format('CLUSTER_ATTACH_POLICY', 'no rights')):
        find(Senlin(acted(at=1), acted('CLUSTER_ATTACH_POLICY', reason='no rights', at=2)))
    with pytest.raises(AffinityError, match=words.format('CLUSTER_CHECK', 'timeout')):
        find(Senlin(acted('CLUSTER_CHECK', reason='timeout')))


def test_an_answer_about_another_profile_is_an_error():
    senlin = Senlin(acted())
    get = senlin.get
    senlin.get = lambda path, *more, **query: get(path.replace(uuid(50), uuid(51)), *more, **query)
    words = f'could not get profile {uuid(50)}: the answer is about another object'
    with pytest.raises(CloudError, match=words):
        find(senlin)
