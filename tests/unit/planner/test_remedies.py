"""What would help, row by row; and that nothing is proposed that was not planned."""

import re
from collections import Counter

import pytest

from senlin_affinity.planner import what_if
from senlin_affinity.planner.decision import Kind
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.planner.new_hosts import MOST_NEW_HOSTS
from senlin_affinity.planner.planner import decide, plan
from senlin_affinity.planner.resolution import resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of
from tests.support.tables import rows

ROWS = rows('remedies')
OF_SPREAD = ('max_skew', 'max_per_domain')
OF_GROUP = ('max_server_per_host', 'new_group')
ASKERS = (*OF_GROUP, *OF_SPREAD, 'availability_zone', 'any_zone', 'flavor')
GIVEN_UP = ('rule_given_up', 'soft_policy', 'no_reservation')
MANY = {name: [10**40, 0] for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}


def answer(row, constraints=CONSTRAINTS):
    return plan(request_of(row), snapshot_of(row), constraints, rules_of(row))


def capacity_of(answer):
    """As a row has it: a number, or "at most" it."""
    return f'at most {answer.capacity}' if answer.capacity_is_upper_bound else answer.capacity


@pytest.mark.parametrize('row', ROWS)
def test_remedies(row):
    decision = answer(row)
    found = [[remedy.code, remedy.change, capacity_of(remedy)] for remedy in decision.remedies]
    assert found == row['remedies']
    single = [remedy for remedy in decision.remedies if remedy.code != 'two_changes']
    for codes, kind in ((GIVEN_UP, Kind.GIVEN_UP), (ASKERS, Kind.ASKERS)):
        assert all((remedy.code in codes) is (remedy.kind is kind) for remedy in single)
    if row['outcome'] == 'enough':
        assert all(remedy.capacity >= decision.wanted for remedy in single)
        sizes = [(remedy.is_held_back, remedy.size) for remedy in single]
        assert sizes == sorted(sizes)
    elif row['outcome'] == 'some':
        capacities = [(not remedy.is_held_back, remedy.capacity) for remedy in single]
        assert all(decision.capacity < capacity < decision.wanted for _, capacity in capacities)
        assert capacities == sorted(capacities, reverse=True)
    assert [str(remedy) for remedy in decision.remedies] == [
        f'{change} (capacity {capacity})' for _code, change, capacity in row['remedies']
    ]


def by_room(hosts):
    """The names of the hosts, that with most room first."""
    return sorted(hosts, key=lambda name: -hosts[name].get('free', 10))


def changed(row, code, change):
    """The row with a remedy made, the way a person would."""
    group, asked, hosts = row.get('group'), row.get('request', {}), row['hosts']
    value = change.rpartition(' ')[2]
    if code == 'new_group':
        return row | {'group': group | {'members': []}}
    if code == 'max_server_per_host':
        new = group | {'members': [], 'rules': {'max_server_per_host': int(value)}}
        return row | {'group': new}
    if code == 'soft_policy':
        return row | {'group': group | {'members': [], 'policy': value, 'rules': {}}}
    if code in ('availability_zone', 'any_zone'):
        zone = value if code == 'availability_zone' else None
        return row | {'request': asked | {'availability_zone': zone}}
    if code in OF_SPREAD:
        (spread,) = asked['spread']
        return row | {'request': asked | {'spread': [spread | {code: int(value)}]}}
    if code == 'flavor':
        return row | {'flavor': row['flavors'][value]}
    if code == 'no_reservation':
        flavor = row['flavor']
        gone = change.split()[3]
        left = {key: each for key, each in flavor['extra_specs'].items() if key != gone}
        return row | {'flavor': flavor | {'extra_specs': left}}
    if code == 'quota':
        limits = dict(each.split(': ') for each in change.removeprefix('quota ').split(', '))
        quotas = row['quotas']
        raised = {name: [int(limit), quotas[name][1]] for name, limit in limits.items()}
        return row | {'quotas': quotas | raised}
    number = int(change.split()[0])
    if code == 'hosts':
        said = [each.split() for each in change.partition('(')[2].rstrip(')').split(', ')]
        one = {'type': next(iter(hosts.values())).get('type', 'QEMU')}
        one['resources'] = {
            name: [int(int(size) * float(ratio[-1] if ratio else 1)), 0]
            for name, size, *ratio in said
            if name.isupper()
        }
        one |= {name: size for name, size, *_ in said if name == 'zone'}
        for name in ('aggregate', 'trait'):
            one[f'{name}s'] = [size for kind, size, *_ in said if kind == name]
        for name, aggregate in row.get('aggregates', {}).items():
            if aggregate.get('zone', '') == one.get('zone'):
                one['aggregates'].append(name)
        new = {f'new-{each}': one for each in range(number)}
        return row | {'hosts': hosts | new}
    if code == 'aggregate_hosts':
        zone = row['aggregates'][value].get('zone')
        busy = [name for name in hosts if 'resources' in hosts[name]]
        known = {name: hosts[name].get('aggregates', []) for name in by_room(hosts)}
        best = [name for name in known if not {value, 'theirs'} & {*known[name]}]
        for name in [name for name in best if name not in busy][:number]:
            new = {'aggregates': [*known[name], value]}
            hosts = hosts | {name: hosts[name] | new | ({'zone': zone} if zone else {})}
        return row | {'hosts': hosts}
    if code == 'host_traits':
        best = [name for name in by_room(hosts) if value not in hosts[name].get('traits', ())]
        new = {name: hosts[name] | {'traits': [value]} for name in best[:number]}
        return row | {'hosts': hosts | new}
    assert code == 'started_hosts'
    idle = [name for name, each in hosts.items() if {'disabled', 'down'} & set(each)]
    best = by_room({name: hosts[name] for name in idle})
    best = sorted(best, key=lambda name: 'reason' in hosts[name])[:number]
    on = {name: hosts[name] | {'disabled': False, 'down': False} for name in best}
    return row | {'hosts': hosts | on}


@pytest.mark.parametrize('row', ROWS)
def test_a_remedy_s_capacity_is_what_planning_with_it_gives(row):
    for code, change, capacity in row['remedies']:
        if code == 'two_changes':
            continue  # of which tests/property judges
        if change == 'without fence':
            others = [constraint for constraint in CONSTRAINTS if constraint.name != 'fence']
            assert capacity_of(answer(row, others)) == capacity
        elif code == 'rule_given_up':
            asked = {'member_of': [], 'spread': []}
            bare = row | {'request': row['request'] | asked, 'flavor': {}}
            assert capacity_of(answer(bare)) == capacity
        else:
            assert capacity_of(answer(changed(row, code, change))) == capacity


def planned_for(row, monkeypatch):
    """The questions that are planned for remedies."""
    resolved, planned = resolve(request_of(row), snapshot_of(row), rules_of(row)), []

    def watched(changed, *others):
        planned.append(changed)
        return evaluate(changed, *others)

    monkeypatch.setattr(what_if, 'evaluate', watched)
    decide(resolved, CONSTRAINTS)
    return resolved, planned


@pytest.mark.parametrize('row', [row for row in ROWS if row.values[0]['outcome'] == 'enough'])
def test_a_number_is_the_smallest_that_is_enough_and_is_guessed(row, monkeypatch):
    """One less of it does not do; it and the one below are planned, and no others, in each of the
    domains that are tried.
    """
    for code, change, _capacity in row['remedies']:
        if code in ('max_server_per_host', 'hosts', 'started_hosts'):
            number = int(re.findall(r'^\d+|(?<=: )\d+$', change)[0])
            less = change.replace(str(number), str(number - 1), 1)
            assert answer(changed(row, code, less)).fits is False
    resolved, planned = planned_for(row, monkeypatch)
    known, kinds = resolved.snapshot.hosts, Counter()
    for each in planned:
        group, hosts = each.server_group, each.snapshot.hosts
        kind = bool(group and group.rules), hosts != known, len(hosts) > len(known)
        kinds[kind] += any(kind)
    is_tried_again = resolved.request.spread or 'too small' in row['name']
    assert max(kinds.values(), default=0) <= (4 if is_tried_again else 2)


@pytest.mark.parametrize(('used', 'size'), [(2, 4), (3, 5)])
def test_the_size_of_a_larger_quota_is_the_servers_that_it_lacks(used, size):
    """RX-07: none of them has a place where the quota is used up."""
    row = {'hosts': {'cmp-1': {}}, 'quotas': {'instances': [3, used]}, 'request': {'count': 5}}
    (remedy,) = answer(row).remedies
    assert (remedy.code, remedy.size) == ('quota', size)


@pytest.mark.parametrize('count', [10**6, 10**9, 10**30])
@pytest.mark.parametrize('group', [None, {'policy': 'anti-affinity', 'members': ['cmp-1']}])
def test_no_plan_is_larger_than_the_hosts_that_may_be_proposed(count, group, monkeypatch):
    """Whatever is asked for: a thousand new hosts, or as many as there are."""
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}, 'request': {'count': count}}
    if group is not None:
        row |= {'hosts': {'cmp-1': {'resources': MANY}, 'cmp-2': {}}, 'group': group}
    _question, planned = planned_for(row, monkeypatch)
    assert 2 < max(len(each.snapshot.hosts) for each in planned) <= 2 + MOST_NEW_HOSTS
    assert len(planned) < 300


@pytest.mark.parametrize(
    ('specs', 'properties', 'data'),
    [
        ({'reserved:us': '1'}, {}, {'flavor': {'id': 'bare', 'name': 'bare'}}),
        ({}, {'reserved:us': '1'}, {'removed_image_properties': ['reserved:us']}),
        ({'reserved:us': '1', 'a': 'b'}, {}, {'removed_extra_specs': ['reserved:us']}),
        (
            {'reserved:us': '1'},
            {'reserved:us': '1'},
            {
                'removed_image_properties': ['reserved:us'],
                'flavor': {'id': 'bare', 'name': 'bare'},
            },
        ),
    ],
    ids=['of the flavor', 'of the image', 'no flavor is the same otherwise', 'of both'],
)
def test_a_reservation_that_nobody_has_is_taken_out_where_it_is(specs, properties, data):
    row = {
        'hosts': {'cmp-1': {'free': 4}},
        'flavor': {'extra_specs': specs},
        'flavors': {'bare': {}},
        'rules': {
            'required_member_prefix': 'reserved:',
            'forbidden_member_prefixes': ['reserved:'],
        },
        'request': {'count': 4, 'image_properties': properties},
    }
    (remedy,) = answer(row).remedies
    assert (remedy.code, remedy.data, remedy.capacity) == ('no_reservation', data, 4)
    assert any('flavor create' in line for line in remedy.commands) is (
        'removed_extra_specs' in data
    )


@pytest.mark.parametrize(
    ('more', 'capacity'), [({}, 6), ({'trait:CUSTOM_LICENSED': 'forbidden'}, 2)]
)
def test_without_traits_nothing_is_required_and_the_same_is_forbidden(more, capacity):
    """What keeps servers off licensed hosts protects others."""
    specs = {'trait:CUSTOM_FAST': 'required', **more}
    hosts = {'cmp-1': {'free': 2}, 'cmp-2': {'free': 4, 'traits': ['CUSTOM_LICENSED']}}
    asked = {'count': 4, 'image_properties': {'trait:HW_CPU_X86_AVX2': 'required'}}
    row = {'hosts': hosts, 'flavor': {'extra_specs': specs}, 'request': asked}
    (without,) = [each for each in answer(row).remedies if each.code == 'rule_given_up']
    assert without.capacity == capacity
    assert without.data == {
        'removed_extra_specs': ['trait:CUSTOM_FAST'],
        'removed_image_properties': ['trait:HW_CPU_X86_AVX2'],
    }
