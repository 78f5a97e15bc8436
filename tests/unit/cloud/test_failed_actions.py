"""The last failed action of a cluster or a node, from the lists of a Senlin.

The bodies are those of a real Senlin 16 (``tests/engine/test_story_explain.py``).
"""

import pytest

from senlin_affinity.cloud import clients, failed_actions
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.preflight.failed_server import Cause, SenlinAction, question_of
from senlin_affinity.preflight.question import Question
from tests.support.edge import Edge
from tests.unit.cloud.test_failed_servers import Story, action, uuid

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


class Senlin:
    """A Senlin with one cluster, its nodes and its actions; its policy is called web."""

    def __init__(self, *actions, nodes=(), clusters=None, policy='web'):
        self.clusters = [cluster()] if clusters is None else clusters
        self.actions, self.nodes, self.policy = actions, nodes, policy
        self.asked = []

    def get(self, path, what, microversion=None, params=None):
        self.asked.append((path, microversion, params))
        kind, *rest = path.strip('/').split('/')
        if rest[1:]:
            held = {'servergroup_id': 'g', 'inherited_group': True}
            binding = {
                'cluster_id': rest[0], 'policy_id': uuid(60), 'policy_name': self.policy,
                'policy_type': 'senlin.policy.affinity-1.1', 'enabled': True,
                'data': {'AffinityPolicy': {'version': '1.1', 'data': held}},
            }  # fmt: skip
            return {'cluster_policies': [binding] if self.policy else []}
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
    senlin = Senlin(acted(inputs={'count': 3}))
    failed, given = find(senlin)
    assert failed.action == SenlinAction(
        'CLUSTER_SCALE_OUT', 'cluster web', Cause.POLICY, REJECTED, '2026-11-26T09:00:01Z'
    )
    assert (failed.id, failed.name) == ('', 'CLUSTER_SCALE_OUT of cluster web (3 nodes)')
    assert (failed.failure.cause, failed.failure.source) == (Cause.POLICY, 'Senlin')
    question = question_of(failed, given)
    assert (question.count, question.flavor, question.server_group) == (3, 'tiny', 'g')
    assert (question.project_id, question.properties.pins_hosts) == ('p', True)
    assert ('/actions', (1, 14)) in [each[:2] for each in senlin.asked]
    assert len(senlin.asked) <= 7


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
        ('CLUSTER_CREATE', {}, {}, 4),
    ],
)
def test_the_number_of_nodes_of_a_rejected_action(name, inputs, data, count):
    two = [cluster(nodes=['a', 'b'])]
    senlin = Senlin(acted(name, reason='no', inputs=inputs, data=data), clusters=two)
    assert find(senlin)[1].count == count


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


def test_the_server_of_a_node_that_failed():
    """A deleted server, of which Nova shows a tenant only the actions."""
    nodes = [node(2, 'ACTIVE'), node(3, server_id=uuid(9), servergroup='own', zone='az-1')]
    senlin = Senlin(
        acted(reason='Failed in creating nodes.'),
        part(2, status='SUCCEEDED'),
        part(3),
        nodes=nodes,
    )
    story = Story([], actions={uuid(9): [action('delete', None), action()]})
    with story.edge as edge:
        edge.answer('/servers/detail', story._list)
        edge.answer('/servers/[^/]*', lambda _query: story._show(edge))
        edge.answer('/servers/.*/os-instance-actions', lambda _query: story._actions(edge))
        edge.answer('/servers/.*/os-instance-actions/.*', lambda _query: story._events())
        connected = clients.of(edge.connection())
        failed, given = failed_actions.find(senlin, connected, 'cluster', 'web', Question(1))
    assert (failed.id, failed.name, failed.status) == (uuid(9), 'web-3', 'DELETED')
    assert (failed.failure.cause, failed.hidden) == (Cause.NOT_SHOWN, {})
    assert failed.action.nodes == ('web-3',)
    question = question_of(failed, given)
    assert (question.count, question.flavor, question.server_group) == (1, 'tiny', 'own')
    assert question.availability_zone == 'az-1'


def test_nodes_whose_servers_nova_rejected():
    """There is no server; Senlin calls the action successful, as it sometimes does."""
    reason = 'Failed in creating server: Quota exceeded for instances: Requested 1.'
    nodes = [node(2, reason=reason), node(3, reason=reason)]
    done = acted(status='SUCCEEDED', reason='Action completed successfully.')
    failed, given = find(Senlin(done, part(2), part(3), nodes=nodes))
    assert (failed.name, failed.failure.cause) == ('web-2', Cause.QUOTA)
    assert failed.failure.message == 'Quota exceeded for instances: Requested 1.'
    assert (failed.action.nodes, given.count, given.server_group) == (('web-2', 'web-3'), 2, 'g')


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


def test_a_node_with_its_own_action():
    failed = node(3, 'INIT', reason='does not fit')
    senlin = Senlin(acted('NODE_CREATE', target=3, reason=REJECTED), nodes=[node(2), failed])
    for named in ('web-3', uuid(3)):
        found, given = find(senlin, 'node', named)
        assert (found.action.target, found.action.nodes) == ('node web-3', ())
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
    words = '^CLUSTER_ATTACH_POLICY of cluster web failed: no rights .not explained, because'
    with pytest.raises(AffinityError, match=words):
        find(Senlin(acted(at=1), acted('CLUSTER_ATTACH_POLICY', reason='no rights', at=2)))
    with pytest.raises(AffinityError, match='^CLUSTER_CHECK of cluster web failed: timeout .not'):
        find(Senlin(acted('CLUSTER_CHECK', reason='timeout')))
