"""The users of server groups, the nodes and the engines, from the lists of a Senlin."""

import threading

import pytest

from senlin_affinity.cloud import senlin
from senlin_affinity.cloud.senlin import UNFINISHED, AbandonedAction, Clustering, Engine, Node
from senlin_affinity.groups.audit import FOREIGN, BindingRecord, GroupReferences
from senlin_affinity.model.errors import CloudError
from senlin_affinity.policy.senlin_data import Binding, reports

OURS = 'senlin.policy.affinity-1.1'
GROUP = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'


def policy(key, name=None, kind=OURS, project='p', **data):
    properties = {'servergroup': {'name': name}} if name else {}
    spec = {'type': kind.rpartition('-')[0], 'version': '1.1', 'properties': properties}
    return {'id': key, 'type': kind, 'project': project, 'spec': spec, 'data': data}


def cluster(key, project='p', **more):
    return {'id': key, 'name': f'web-{key}', 'project': project, 'data': {}, **more}


def profile(key, group, project='p'):
    spec = {'properties': {'scheduler_hints': {'group': group}}}
    return {'id': key, 'project': project, 'spec': spec}


def node(key, server='s', cluster='c', project='p'):
    ids = {'id': key, 'name': f'node-{key}', 'cluster_id': cluster}
    return {**ids, 'physical_id': server, 'project': project}


def action(key, owner, status='RUNNING', target='t', **more):
    ids = {'id': key, 'action': 'NODE_CREATE', 'target': target}
    return {**ids, 'owner': owner, 'status': status, **more}


class Senlin:
    """A Senlin with these lists; ``asked`` are the requests."""

    def __init__(self, **lists):
        self.lists, self.asked = lists, []

    def pick(self, wanted):
        return wanted

    def get(self, path, _what, microversion=None, params=None):
        self.asked.append((path, microversion, params))
        kind, *rest = path.strip('/').split('/')
        if rest:
            held = {'servergroup_id': 'g', 'inherited_group': True}
            binding = {
                'cluster_id': rest[0], 'policy_id': 'p1', 'policy_name': 'ours',
                'policy_type': OURS, 'enabled': True,
                'data': {'AffinityPolicy': {'version': '1.1', 'data': held}},
            }  # fmt: skip
            return {'cluster_policies': [binding]}
        return {kind: self.lists.get(kind, [])}


def everything():
    return Senlin(
        clusters=[
            cluster('c', policies=['b1']),
            cluster('d', policies=[], data={'senlin_affinity': {'kept': 'k'}}),
            cluster('e', 'q', policies=['b2']),
        ],
        policies=[
            policy('p1', 'named'),
            policy('p2', 'attaching'),
            policy('p3', kind='senlin.policy.scaling-1.0'),
            policy('p4', 'foreign', project='q'),
        ],
        actions=[
            {'id': 'a1', 'inputs': {'policy_id': 'p2'}},
            {'id': 'a2', 'inputs': {'policy_id': 'p3'}},
            {'id': 'a3', 'inputs': None},
        ],
        profiles=[
            profile('f1', 'hint'),
            profile('f2', 'hidden', 'q'),
            profile('f3', GROUP, 'q'),
            profile('f4', ''),
            profile('f5', 3),
        ],
        nodes=[
            node('n1'),
            node('n2', server=None),
            node('n3', cluster=''),
            node('n4', project='q'),
        ],
    )


def test_the_users_of_groups_and_the_nodes_of_a_project():
    api = everything()
    found = senlin.fetch(api, 'p', with_foreign_users=True)
    held = Binding('g', True)
    record = ('p1', 'ours', OURS, True, held)
    assert found == Clustering(
        GroupReferences(
            {'c': 'web-c', 'd': 'web-d', 'e': FOREIGN},
            (BindingRecord('c', 'web-c', *record), BindingRecord('e', FOREIGN, *record)),
            {'d': 'k'},
            frozenset({'hint', GROUP}),
            frozenset({'named', 'attaching'}),
            frozenset({'attaching'}),
        ),
        (Node('n1', 'node-n1', 'c', 's'), Node('n3', 'node-n3', '', 's')),
        is_complete=True,
    )
    every = {'limit': 1000, 'global_project': 'True'}
    attaching = {'limit': 1000, 'action': 'CLUSTER_ATTACH_POLICY', 'status': UNFINISHED}
    assert api.asked == [
        ('/clusters', None, every),
        ('/policies', None, every),
        ('/actions', None, attaching),
        ('/clusters/c/policies', None, None),
        ('/clusters/e/policies', None, None),
        ('/profiles', None, every),
        ('/nodes', None, {'limit': 1000}),
    ]


def test_the_policies_of_many_clusters_are_read_at_the_same_time():
    """In the order of the clusters, and with reports of the progress."""
    api = everything()
    api.lists['clusters'] = [cluster(f'c{number}', policies=['b']) for number in range(50)]
    get, numbers, both = api.get, [], threading.Barrier(2)

    def get_slowly(path, *words, **more):
        if path in ('/clusters/c0/policies', '/clusters/c1/policies'):
            both.wait(10)
        return get(path, *words, **more)

    api.get = get_slowly
    found = senlin.fetch(api, 'p', progress=lambda *pair: numbers.append(pair))
    assert [each.cluster for each in found.uses.bound] == [f'c{number}' for number in range(50)]
    assert numbers == [(number, 50) for number in range(1, 51)]


def test_without_affinity_policies_no_action_and_no_binding_is_read():
    api = Senlin(clusters=[cluster('c', policies=['b1'])], policies=[policy('x', kind='x-1.0')])
    assert senlin.fetch(api, 'p') == Clustering(GroupReferences({'c': 'web-c'}))
    page = {'limit': 1000}
    assert [each[0] for each in api.asked] == ['/clusters', '/policies', '/profiles', '/nodes']
    assert {str(query) for _path, _version, query in api.asked} == {str(page)}


def service(key, host, state='up', binary='senlin-engine'):
    return {'id': key, 'host': host, 'state': state, 'binary': binary}


def test_the_latest_report_of_an_engine_that_is_up_counts():
    def report(at, services, release):
        return {'at': at, 'services': services, 'release': release, 'options': f'o{release}'}

    api = Senlin(
        services=[
            service('e1', 'b'),
            service('e2', 'b', 'down'),
            service('e3', 'a', 'down'),
            service('x', 'c', binary='senlin-conductor'),
            service('', 'd'),
        ],
        policies=[
            policy('p1', affinity_engines={'b': report('2', 'e0 e1', '1.1')}),
            policy(
                'p2', affinity_engines={'b': report('1', 'e1', '1.0'), 'a': report('3', 'e3', '9')}
            ),
            policy('p3', affinity_engines={'b': report('4', 'e2', '2.0')}),
        ],
    )
    assert senlin.engines(api) == (Engine('a', False), Engine('b', True, '1.1', 'o1.1'))


def test_the_actions_of_engines_that_are_not_up_are_abandoned():
    api = Senlin(
        services=[service('up', 'a'), service('down', 'a', 'down')],
        actions=[
            action('a1', 'up', target='busy'),
            action('a2', 'down', target='idle'),
            action('a3', 'gone'),
            action('a4', None, 'INIT', cluster_id='idle'),
            action('a5', None, 'INIT', cluster_id='busy'),
            action('a6', None, 'INIT', cluster_id=''),
            action('a7', None, 'INIT'),
            action('a8', None, 'READY', cluster_id='idle'),
        ],
    )
    found = [*senlin.abandoned_actions(api)]
    targets = {'a2': 'idle', 'a3': 't', 'a4': 't'}
    assert found == [AbandonedAction(key, 'NODE_CREATE', each) for key, each in targets.items()]
    query = {'limit': 1000, 'global_project': 'True', 'status': UNFINISHED}
    assert api.asked == [('/actions', (1, 14), query), ('/services', None, None)]


def test_malformed_reports_are_left_out():
    entries = {'a': {'at': 1}, 'b': None, 'c': 'x'}
    assert reports({'affinity_engines': entries}) == {'a': {'at': '1'}}
    assert reports({'affinity_engines': []}) == reports(None) == {}


class Paged:
    """A Senlin with pages of nodes, or with an error for clusters."""

    def __init__(self, sizes=(), status=None, clusters=()):
        self.sizes, self.status, self.clusters = [*sizes], status, clusters
        self.asked = []

    def get(self, path, _what, _microversion=None, params=None):
        self.asked.append((params or {}).get('marker'))
        if path == '/clusters':
            return {'clusters': [{'id': each} for each in self.clusters]}
        if self.status:
            raise CloudError('failed', self.status)
        first = sum(self.sizes[: len(self.asked) - 1])
        size = self.sizes[len(self.asked) - 1]
        return {'nodes': [{'id': f'n{number}'} for number in range(first, first + size)]}


@pytest.mark.parametrize(
    ('sizes', 'markers'),
    [([999], [None]), ([1000, 1], [None, 'n999']), ([1000, 0], [None, 'n999'])],
)
def test_a_full_page_has_a_next_one(sizes, markers):
    api = Paged(sizes)
    assert len([*senlin.list_all(api, 'nodes', None)]) == sum(sizes)
    assert api.asked == markers


@pytest.mark.parametrize(
    ('status', 'clusters', 'is_error'), [(404, [], False), (404, ['c'], True), (500, [], True)]
)
def test_only_a_deleted_cluster_has_no_policies(status, clusters, is_error):
    """A proxy may answer 404, too."""
    api = Paged(status=status, clusters=clusters)
    if is_error:
        with pytest.raises(CloudError, match='^failed$'):
            [*senlin.bindings(api, 'c', 'web', None)]
    else:
        assert [*senlin.bindings(api, 'c', 'web', None)] == []


def test_a_cluster_is_missing_after_a_404():
    assert not senlin.has_cluster(Paged(status=404), 'c')
    assert senlin.has_cluster(Paged([0]), 'c')
    with pytest.raises(CloudError, match='^failed$'):
        senlin.has_cluster(Paged(status=403), 'c')
