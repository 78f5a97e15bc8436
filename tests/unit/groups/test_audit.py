"""The owners of server groups, and violations of their policies."""

import pytest

from senlin_affinity.groups import audit, steps
from senlin_affinity.groups.audit import (
    BY_OTHERS,
    BY_POLICY,
    PERHAPS_BY_POLICY,
    BindingRecord,
    GroupReferences,
)
from senlin_affinity.model.server_group import Member, Place, ServerGroup
from senlin_affinity.policy.senlin_data import Binding
from tests.support.fake_cloud import FakeCloud
from tests.support.values import replace

GONE, C1, C2 = (f'{n}bbcc3c4-1da2-4437-a48a-66f15b1b13f9' for n in (5, 6, 7))
CLUSTERS = {C1: 'web', C2: 'db'}


def bound(cluster, group, policy='p1', kind='senlin.policy.affinity-1.1', **binding):
    return BindingRecord(
        cluster, CLUSTERS[cluster], policy, f'policy {policy}', kind, True,
        Binding(group, **{'is_inherited': False, **binding}),
    )  # fmt: skip


def uses(**more):
    return GroupReferences(CLUSTERS, **more)


def empty(name):
    return ServerGroup('g1', name, 'anti-affinity')


ORPHAN, WEB = empty(f'senlin-affinity-{GONE}'), empty('web')
FULL = ServerGroup('g1', ORPHAN.name, 'anti-affinity', members=(Member('s1'),))


@pytest.mark.parametrize(
    ('group', 'known', 'made_by', 'users', 'is_orphan'),
    [
        (WEB, uses(), BY_OTHERS, (), False),
        (WEB, uses(named=frozenset({'web'})), PERHAPS_BY_POLICY, (), False),
        (WEB, uses(named=frozenset({'g1'})), PERHAPS_BY_POLICY, (), False),
        (WEB, uses(named=frozenset({'web'}), hints=frozenset({'web'})), BY_OTHERS, (), False),
        (WEB, uses(bound=(bound(C1, 'g1'),)), BY_POLICY, ('web',), False),
        (WEB, uses(bound=(bound(C1, 'g1', is_inherited=True),)), BY_OTHERS, ('web',), False),
        (WEB, uses(kept={C1: 'g1'}), BY_POLICY, ('web',), False),
        (WEB, uses(bound=(bound(C1, 'g2'),), kept={C2: 'g2'}), BY_OTHERS, (), False),
        (ORPHAN, uses(), BY_POLICY, (), True),
        (FULL, uses(), BY_POLICY, (), False),
        (empty(f'senlin-affinity-{C1}'), uses(), BY_POLICY, (), False),
        (empty(f'ours-{GONE}'), uses(), BY_OTHERS, (), False),
        (ORPHAN, uses(bound=(bound(C2, 'g1', is_inherited=True),)), BY_POLICY, ('db',), False),
        (ORPHAN, uses(kept={C2: 'g1'}), BY_POLICY, ('db',), False),
        (ORPHAN, uses(hints=frozenset({'g1'})), BY_POLICY, (), False),
        (ORPHAN, uses(hints=frozenset({ORPHAN.name})), BY_POLICY, (), False),
        (ORPHAN, uses(attaching=frozenset({ORPHAN.name})), BY_POLICY, (), False),
        (ORPHAN, uses(attaching=frozenset({'g1'})), BY_POLICY, (), False),
    ],
)
def test_the_state_of_a_group(group, known, made_by, users, is_orphan):
    (status,) = audit.statuses([group], known)
    assert (status.made_by, status.users, status.is_orphan) == (made_by, users, is_orphan)


def test_an_own_prefix_of_group_names():
    (status,) = audit.statuses([empty(f'ours-{GONE}')], uses(), 'ours-')
    assert status.is_orphan


@pytest.mark.parametrize(
    ('group_id', 'known', 'is_cluster', 'left'),
    [
        ('g2', uses(), False, ['g1', 'g3']),
        ('g2', uses(), True, ['g1', 'g2', 'g3']),
        ('g2', uses(hints=frozenset({'g2'})), False, ['g1', 'g2', 'g3']),
        ('g3', uses(), False, ['g1', 'g2', 'g3']),
        ('g4', uses(), False, ['g1', 'g2', 'g3']),
    ],
    ids=['an orphan', 'a new cluster', 'a new user', 'no orphan', 'an unknown group'],
)
def test_a_group_is_deleted_if_it_is_still_an_orphan(group_id, known, is_cluster, left):
    groups = [replace(ORPHAN, id=each) for each in ('g1', 'g2')]
    cloud = FakeCloud([*groups, replace(WEB, id='g3')])

    def perform(effect):
        match effect:
            case audit.ReadUses():
                return known
            case audit.HasCluster(cluster):
                assert cluster == GONE
                return is_cluster
        return steps.ask_nova(effect, cloud)

    deleted = steps.run(audit.DeleteOrphan(group_id).step(), perform)
    assert deleted == (groups[1] if 'g2' not in left else None)
    assert [each.id for each in cloud.groups] == left


def test_a_group_with_two_owners():
    one, two = (bound(C1, 'g1'),), (bound(C1, 'g1'), bound(C2, 'g1'))
    assert list(audit.shared_ownership([WEB], uses(bound=one))) == []
    assert list(audit.shared_ownership([WEB], uses(bound=two))) == [('web', 'web, db')]
    kept = uses(bound=one, kept={C2: 'g1'})
    assert list(audit.shared_ownership([WEB], kept)) == [('web', 'web, db')]


def group(policy, places, rules=()):
    members = tuple(Member(server, host) for server, host in places.items())
    return ServerGroup('g1', 'web', policy, dict(rules), members)


@pytest.mark.parametrize(
    ('policy', 'rules', 'places', 'violated'),
    [
        ('anti-affinity', {}, {'s1': 'a', 's2': 'a', 's3': 'b'}, ['a']),
        ('anti-affinity', {'max_server_per_host': 2}, {'s1': 'a', 's2': 'a'}, []),
        ('anti-affinity', {'max_server_per_host': 2}, {'s1': 'a', 's2': 'a', 's3': 'a'}, ['a']),
        ('affinity', {}, {'s1': 'a', 's2': 'a', 's3': 'b'}, ['b']),
        ('affinity', {}, {'s1': 'a', 's2': 'a', 's3': None}, []),
        ('soft-anti-affinity', {}, {'s1': 'a', 's2': 'a'}, []),
        ('soft-affinity', {}, {'s1': 'a', 's2': 'b'}, []),
        ('anti-affinity', {}, {'s1': None, 's2': None}, []),
    ],
)
def test_the_violations_of_a_group(policy, rules, places, violated):
    found = audit.places(group(policy, places, rules))
    assert [place.host for place in found if place.is_violated] == violated
    assert sorted(each for place in found for each in place.servers) == sorted(places)
    for place in found:
        assert {places[server] for server in place.servers} == {place.host}


def test_a_hidden_host_is_identified_by_its_host_id():
    members = (Member('s1', host_id='h'), Member('s2', host_id='h'))
    hidden = ServerGroup('g1', 'web', 'anti-affinity', members=members)
    assert audit.places(hidden) == (Place('h', ('s1', 's2'), is_violated=True),)


def test_two_policies_with_two_groups():
    old = 'senlin.policy.affinity-1.0'
    bindings = [bound(C1, 'g1'), bound(C1, 'g2', 'p2', old), bound(C2, 'g3')]
    (found,) = audit.conflicting_policies(uses(bound=tuple(bindings)))
    assert found == ('web', f'policy p2 ({old}): g2; policy p1 (senlin.policy.affinity-1.1): g1')
    bindings[1] = bound(C1, 'g1', 'p2', old)
    assert not list(audit.conflicting_policies(uses(bound=tuple(bindings))))


def test_conflicting_policies_are_sorted_by_the_names_and_ids_of_their_clusters():
    clusters = {GONE: 'web', C2: 'web', C1: 'db'}
    bindings = tuple(
        BindingRecord(each, name, 'p', f'{kind} of {each[0]}', kind, True, Binding(kind, False))
        for each, name in clusters.items()
        for kind in ('1.0', '1.1')
    )
    for order in (clusters, dict(reversed(clusters.items()))):
        found = [*audit.conflicting_policies(GroupReferences(order, bound=bindings))]
        assert [(name, words.partition(' (')[0]) for name, words in found] == [
            ('db', '1.0 of 6'),
            ('web', '1.0 of 5'),
            ('web', '1.0 of 7'),
        ]
