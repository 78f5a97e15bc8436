"""What holds of server groups: whose they are, and where their rules do not hold."""

import pytest

from senlin_affinity.groups import audit
from senlin_affinity.groups.audit import BY_OTHERS, BY_POLICY, PERHAPS_BY_POLICY, Place
from senlin_affinity.groups.ownership_records import CREATING, KEPT, Record
from senlin_affinity.groups.ownership_records import MADE as NOTED
from senlin_affinity.groups.registry import BindingRecord, GroupRegistry
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.properties import Properties

CLUSTERS = {'c1': 'web', 'c2': 'db'}


def bound(cluster, group, policy='p1', kind='senlin.policy.affinity-1.1', **binding):
    return BindingRecord(
        cluster, CLUSTERS[cluster], policy, f'policy {policy}', kind, True,
        Binding(group, **{'is_inherited': False, **binding}),
    )  # fmt: skip


def store(*notes, bindings=(), attaching=(), **more):
    return GroupRegistry(
        CLUSTERS, tuple(bindings), {'p1': notes}, is_attaching=attaching.__contains__, **more
    )


EMPTY = ServerGroup('g1', 'g-name', 'anti-affinity')
FULL = ServerGroup('g1', 'g-name', 'anti-affinity', members=(Member('s1'),))


@pytest.mark.parametrize(
    ('group', 'known', 'made_by', 'users', 'is_orphan'),
    [
        (EMPTY, store(), BY_OTHERS, (), False),
        (EMPTY, store(Record('gone', NOTED, 'g1')), BY_POLICY, (), True),
        (FULL, store(Record('gone', NOTED, 'g1')), BY_POLICY, (), False),
        (EMPTY, store(Record('c1', NOTED, 'g1')), BY_POLICY, (), True),
        (EMPTY, store(Record('c1', NOTED, 'g1'), attaching=['c1']), BY_POLICY, ('web',), False),
        (EMPTY, store(Record('gone', KEPT, 'g1')), BY_POLICY, (), True),
        (EMPTY, store(Record('c1', KEPT, 'g1')), BY_POLICY, ('web',), False),
        (EMPTY, store(kept=(Record('c1', KEPT, 'g1'),)), BY_POLICY, ('web',), False),
        (EMPTY, store(Record('gone', CREATING, 'g-name')), PERHAPS_BY_POLICY, (), True),
        (EMPTY, store(Record('c1', CREATING, 'g-name'), attaching=['c1']), BY_OTHERS, (), False),
        (EMPTY, store(bindings=[bound('c1', 'g1')]), BY_POLICY, ('web',), False),
        (EMPTY, store(bindings=[bound('c1', 'g1', is_inherited=True)]), BY_OTHERS, ('web',), False),
        (
            EMPTY, store(bindings=[bound('c1', 'g1', is_inherited=True, is_policy_made=True)]),
            BY_POLICY, ('web',), False,
        ),
    ],
)  # fmt: skip
def test_where_a_group_stands(group, known, made_by, users, is_orphan):
    (status,) = audit.statuses([group], known)
    assert (status.made_by, status.users, status.is_orphan) == (made_by, users, is_orphan)


def test_of_two_groups_of_a_noted_name_none_is_known_to_be_ours():
    twin = ServerGroup('g2', 'g-name', 'affinity')
    known = store(Record('gone', CREATING, 'g-name'))
    assert [each.is_orphan for each in audit.statuses([EMPTY, twin], known)] == [False] * 2
    used = store(Record('gone', CREATING, 'g-name'), bindings=[bound('c2', 'g2')])
    assert [each.is_orphan for each in audit.statuses([EMPTY, twin], used)] == [True, False]


@pytest.mark.parametrize(
    ('asked', 'is_candidate'),
    [
        ({'policy': 'anti-affinity'}, True),
        ({'policy': 'anti-affinity', 'rules': {'max_server_per_host': 1}}, True),
        ({'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2}}, False),
        ({'policy': 'affinity'}, False),
    ],
)
def test_a_group_that_the_policy_would_not_have_created_is_none_of_a_noted_name(
    asked, is_candidate
):
    known = store(Record('gone', CREATING, 'g-name'))
    specs = {'p1': Properties('1.1', **asked)}
    (status,) = audit.statuses([EMPTY], known, specs=specs)
    assert status.is_orphan is is_candidate
    twin = ServerGroup('g2', 'g-name', 'soft-affinity')
    both = audit.statuses([EMPTY, twin], known, specs=specs)
    assert [each.is_orphan for each in both] == [is_candidate, False]


@pytest.mark.parametrize('hint', ['g1', 'g-name'])
def test_a_group_that_a_profile_names_is_not_left_behind(hint):
    (status,) = audit.statuses([EMPTY], store(Record('gone', NOTED, 'g1')), {hint})
    assert (status.made_by, status.is_orphan) == (BY_POLICY, False)


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
def test_which_rule_is_violated_where(policy, rules, places, violated):
    found = audit.places(group(policy, places, rules))
    assert [place.host for place in found if place.is_violated] == violated
    assert sorted(each for place in found for each in place.servers) == sorted(places)
    for place in found:
        assert {places[server] for server in place.servers} == {place.host}


def test_a_host_that_is_hidden_is_told_by_its_host_id():
    members = (Member('s1', host_id='h'), Member('s2', host_id='h'))
    hidden = ServerGroup('g1', 'web', 'anti-affinity', members=members)
    assert audit.places(hidden) == (Place('h', ('s1', 's2'), is_violated=True),)


def test_since_when():
    place, arrived = Place('a', ('s1', 's2', 's3')), {'s1': '3', 's2': '1', 's3': '2'}
    assert audit.violated_since(group('anti-affinity', {}), place, arrived) == '2'
    two = group('anti-affinity', {}, {'max_server_per_host': 2})
    assert audit.violated_since(two, place, arrived) == '3'
    assert audit.violated_since(group('affinity', {}), place, arrived) == '1'
    for policy in ('affinity', 'anti-affinity'):
        assert audit.violated_since(group(policy, {}), place, {'s1': '3'}) is None, 'not all known'


@pytest.mark.parametrize(
    ('sizes', 'most', 'fits'),
    [([3, 2, 1], 3, [1, 2]), ([3, 2, 1], 6, [1, 2, 3]), ([3, 2], 2, [2]), ([3], 2, [])],
)
def test_the_most_hosts_that_fit(sizes, most, fits):
    places = [Place(f'cmp-{size}', ('s',) * size) for size in sizes]
    assert [len(place.servers) for place in audit.up_to(places, most)] == fits


def test_servers_outside():
    assert audit.servers_outside(FULL, ['s3', 's1', 's2']) == ('s2', 's3')


def test_two_policies_with_two_groups():
    old = 'senlin.policy.affinity-1.0'
    bindings = [bound('c1', 'g1'), bound('c1', 'g2', 'p2', old), bound('c2', 'g3')]
    (found,) = audit.conflicting_policies(store(bindings=bindings))
    assert found == ('web', f'policy p2 ({old}): g2; policy p1 (senlin.policy.affinity-1.1): g1')
    bindings[1] = bound('c1', 'g1', 'p2', old)
    assert not list(audit.conflicting_policies(store(bindings=bindings)))
