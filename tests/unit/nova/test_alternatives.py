"""Changes of a request: a new server group, another flavor, an aggregate of hosts."""

import pytest

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.nova import alternatives
from tests.support.asked import resolve
from tests.support.small_cloud import flavor_of, request_of, rules_of, snapshot_of


def test_a_new_group_has_a_name_that_no_group_has():
    group, taken = ServerGroup('g1', 'web', 'anti-affinity'), ServerGroup('g2', 'web-2', 'affinity')
    snapshot = Cloud(server_groups=(group, taken))
    request = Request(1, project_id='p1')
    found = alternatives.new_group(request, snapshot, group, rules={'max_server_per_host': 2})
    assert found == {
        'name': 'web-3',
        'policy': 'anti-affinity',
        'rules': {'max_server_per_host': 2},
        'project_id': 'p1',
    }


@pytest.mark.parametrize(
    ('identity', 'quotas', 'owner', 'expected'),
    [
        ('g1', {'server_groups': [1, 1]}, 'ours', False),
        (NOT_YET, {'server_groups': [1, 1]}, 'ours', True),
        ('g1', {'server_groups': [1, 1]}, 'theirs', True),
        ('g1', {'server_groups': [2, 1]}, 'ours', True),
        ('g1', None, 'ours', True),
    ],
)
def test_another_group_needs_quota_of_its_project(identity, quotas, owner, expected):
    row = {'quotas': quotas, 'project': 'ours', 'request': {'project_id': owner}}
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    group = ServerGroup(identity, 'web', 'anti-affinity')
    assert alternatives.may_create_group(*resolved, group) is expected


def test_the_change_to_a_flavor_names_it():
    found = alternatives.flavor_change(flavor_of({'id': '2', 'name': 'm1.small'}))
    data = {'flavor': {'id': '2', 'name': 'm1.small'}}
    assert found == Change('flavor', 'flavor: m1.small', data)


@pytest.mark.parametrize('prefix', ['', 'soft-'])
@pytest.mark.parametrize('kind', ['affinity', 'anti-affinity'])
def test_a_soft_group_has_the_soft_policy_and_no_rules(kind, prefix):
    group = ServerGroup('g1', 'web', f'{prefix}{kind}', {'max_server_per_host': 2})
    expected = {'name': 'web', 'policy': f'soft-{kind}', 'rules': {}}
    assert alternatives.soft_group(group) == expected


def test_of_several_flavors_without_an_extra_spec_the_first_by_name_is_used():
    now = flavor_of({'extra_specs': {'a': '1', 'b': '2'}})
    others = [
        ('f1', 'x', {'b': '2'}),
        ('f3', 'm', {'b': '2'}),
        ('f2', 'n', {'b': '2'}),
        ('f0', 'c', {}),
    ]
    known = [
        flavor_of({'id': key, 'name': name, 'extra_specs': specs}) for key, name, specs in others
    ]
    data = {'removed_extra_specs': ['a'], 'given_up': ['traits']}
    flavor = {'id': 'f3', 'name': 'm'}
    request, cloud = Request(1, now), Cloud(flavors=tuple(known))
    change = Change('rule_given_up', 'without a', data)
    found = alternatives.with_existing_flavor(request, cloud, change)
    assert found.data == {'given_up': ['traits'], 'flavor': flavor}
    assert found.change == 'without a (flavor: m)'
    change = Change('rule_given_up', 'without a', {'removed_extra_specs': ['a']})
    found = alternatives.with_existing_flavor(request, cloud, change)
    assert found.data == {'flavor': flavor}
    assert found.change == 'flavor: m, which does not require a=1'


def flavors(*vcpus):
    return [flavor_of({'id': f'f{each}', 'vcpus': each, 'ram': 512 * each}) for each in vcpus]


def test_smaller_flavors_have_at_least_half_of_the_amounts_the_largest_first():
    (now,) = flavors(8)
    found = alternatives.smaller_flavors(flavors(3, 5, 9, 4, 8, 6), now)
    assert [each.vcpus for each in found] == [6, 5, 4][: alternatives._MOST_SMALLER]


def test_flavors_that_keep_three_quarters_come_before_larger_ones():
    wide, close = (
        flavor_of({'id': name, 'vcpus': vcpus, 'ram': ram})
        for name, vcpus, ram in (('wide', 4, 8 * 512), ('close', 6, 6 * 512))
    )
    (now,) = flavors(8)
    assert alternatives.smaller_flavors([wide, close], now) == [close, wide]
    assert [alternatives.part_kept(each, now) for each in (wide, close, now)] == [0.5, 0.75, 1]


def test_larger_flavors_are_ordered_from_the_smallest():
    (now,) = flavors(8)
    found = alternatives.larger_flavors(flavors(20, 4, 9, 16), now)
    assert [each.vcpus for each in found] == [9, 16, 20]


@pytest.mark.parametrize(
    ('offered', 'kept', 'aggregate', 'hosts'),
    [
        (['two'], [], 'two', ['cmp-2']),
        (['ssd'], [], 'ssd', ['cmp-1', 'cmp-2', 'cmp-3']),
        (['two', 'ssd', 'deleted'], [], 'ssd', ['cmp-1', 'cmp-2', 'cmp-3']),
        (['two', 'ssd'], ['ssd'], 'two', ['cmp-2']),
        (['two'], ['one'], 'two', ['cmp-2']),
        (['ssd'], ['one'], 'ssd', ['cmp-2', 'cmp-3']),
        (['deleted'], [], None, []),
    ],
)
def test_hosts_join_the_aggregate_that_most_of_them_may_join(offered, kept, aggregate, hosts):
    """A host with servers, or in an aggregate that carries its zone, does not change its zone."""
    used = {name: [9, 1] for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    row = {
        'hosts': {
            'cmp-1': {'zone': 'az-1', 'aggregates': ['one']},
            'cmp-2': {},
            'cmp-3': {'resources': used},
            'cmp-4': {'aggregates': ['ssd', 'two'], 'zone': 'az-2'},
        },
        'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}, 'ssd': {}},
    }
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    found = alternatives.joining(resolved.cloud, resolved.cloud.hosts, offered, kept)
    named = {'name': aggregate, 'uuid': aggregate}
    assert [(each.data, [host.host for host in each.hosts]) for each in found] == (
        [({'aggregate_hosts': {'aggregate': named, 'hosts': []}}, hosts)] if aggregate else []
    )
