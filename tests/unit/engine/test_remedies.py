"""The remedies, row by row; each was planned."""

from collections import Counter

import pytest

from senlin_affinity import engine
from senlin_affinity.engine import what_if
from senlin_affinity.engine.decision import Kind
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.engine.new_hosts import MOST_NEW_HOSTS
from senlin_affinity.model.cloud import Aggregate, Quota
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.verdict import Verdict
from tests.support.asked import plan, resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import CONSTRAINTS, Fence, request_of, rules_of, snapshot_of
from tests.support.tables import rows
from tests.support.values import replace

ROWS = rows('remedies')
OF_SPREAD = ('max_skew', 'max_per_domain')
OF_GROUP = ('max_server_per_host', 'new_group')
ASKERS = (*OF_GROUP, *OF_SPREAD, 'availability_zone', 'any_zone', 'flavor', 'boot_from_volume')
#: They need more hosts, or other ones.
HARDWARE = ('aggregate_hosts', 'host_traits', 'hosts')
GIVEN_UP = ('image', 'rule_given_up', 'soft_policy', 'no_reservation')
EVERY = tuple(constraint() for constraint in OURS)
FIVE = {'VCPU': [5, 0], 'MEMORY_MB': [2560, 0], 'DISK_GB': [5, 0]}
MANY = {name: [10**40, 0] for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}


def answer(row, constraints=CONSTRAINTS):
    return plan(request_of(row), snapshot_of(row), constraints, rules_of(row))


def capacity_of(answer):
    """Return the capacity in the format of a row: a number, or "at most" a number."""
    return f'at most {answer.capacity}' if answer.capacity_is_upper_bound else answer.capacity


@pytest.mark.parametrize('row', ROWS)
def test_remedies(row):
    decision = answer(row)
    found = [[remedy.code, remedy.change, capacity_of(remedy)] for remedy in decision.remedies]
    assert found == row['remedies']
    for remedy in decision.remedies:
        assert remedy.has_operator_note is (' was disabled: ' in remedy.change)
    single = [remedy for remedy in decision.remedies if remedy.code != 'two_changes']
    for codes, kind in ((GIVEN_UP, Kind.GIVEN_UP), (ASKERS, Kind.REQUESTER)):
        # A flavor of less than half the size gives up a requirement.
        others = [remedy for remedy in single if remedy.code != 'flavor']
        assert all((remedy.code in codes) is (remedy.kind is kind) for remedy in others)
    if row['outcome'] == 'enough':
        assert all(remedy.capacity >= decision.wanted for remedy in single)
        # The rows say where a flavor belongs, and a host that was disabled with a reason.
        fixed = [each for each in single if each.code != 'flavor' and not each.has_operator_note]
        stages = [
            0 if each.kind is Kind.REQUESTER else 2 if each.code in HARDWARE else 1
            for each in fixed
        ]
        assert stages == sorted(stages)
        for stage in set(stages):
            sizes = [
                (each.kind is Kind.GIVEN_UP, each.size)
                for each, of_stage in zip(fixed, stages, strict=True)
                if of_stage == stage
            ]
            assert stage == 1 or sizes == sorted(sizes)
    elif row['outcome'] == 'some':
        capacities = [(not remedy.has_operator_note, remedy.capacity) for remedy in single]
        assert all(decision.capacity < capacity < decision.wanted for _, capacity in capacities)
        assert capacities == sorted(capacities, reverse=True)
    assert [str(remedy) for remedy in decision.remedies] == [
        f'{change} (capacity {capacity})' for _code, change, capacity in row['remedies']
    ]


def planned_for(row, monkeypatch):
    """Return the requests that are planned for remedies."""
    resolved, planned = resolve(request_of(row), snapshot_of(row), rules_of(row)), []

    def watched(request, scenario, *others, **more):
        if not request.is_volume_booted:
            planned.append((request.server_group, scenario.hosts))
        return evaluate(request, scenario, *others, **more)

    monkeypatch.setattr(what_if, 'evaluate', watched)
    engine.plan(*resolved.planned, CONSTRAINTS)
    return resolved, planned


@pytest.mark.parametrize('row', [row for row in ROWS if row.values[0]['outcome'] == 'enough'])
def test_a_number_is_guessed(row, monkeypatch):
    """Only the number and the one below are planned, in each of up to four tried domains."""
    resolved, planned = planned_for(row, monkeypatch)
    known, kinds = resolved.cloud.hosts, Counter()
    for group, hosts in planned:
        kind = bool(group and group.rules), hosts != known, len(hosts) > len(known)
        kinds[kind] += any(kind)
    is_tried_again = resolved.request.spread or 'too small' in row['name']
    assert max(kinds.values(), default=0) <= (8 if is_tried_again else 2)


@pytest.mark.parametrize(('used', 'size'), [(2, 4), (3, 5)])
def test_a_larger_quota_includes_the_missing_servers(used, size):
    """RX-07: if the quota is used up, none of them is placed."""
    row = {'hosts': {'cmp-1': {}}, 'quotas': {'instances': [3, used]}, 'request': {'count': 5}}
    (remedy,) = answer(row).remedies
    assert (remedy.code, remedy.size) == ('quota', size)


@pytest.mark.parametrize(
    ('project', 'user', 'limits', 'user_limits'),
    [
        ((3, 2), (3, 1), {'instances': 6}, {'instances': 5}),
        ((9, 2), (3, 1), {}, {'instances': 5}),
        ((3, 2), (9, 1), {'instances': 6}, {}),
    ],
    ids=['of both', 'of the user', 'of the project'],
)
def test_the_quotas_of_the_project_and_of_the_user_are_raised(project, user, limits, user_limits):
    row = {'hosts': {'cmp-1': {}}, 'request': {'count': 4}, 'project': 'web'}
    quotas = {'instances': Quota(*project, of_user=Quota(*user))}
    cloud = replace(snapshot_of(row), quotas=quotas, user_id='amy')
    (remedy,) = plan(request_of(row), cloud, CONSTRAINTS, rules_of(row)).remedies
    of_user = {'user_id': 'amy', 'user_limits': user_limits} if user_limits else {}
    assert remedy.data == {'quotas': {'project_id': 'web', 'limits': limits, **of_user}}
    assert remedy.capacity == 4
    is_own = user[0] != project[0]  # otherwise, the user has the limit of the project
    words = [f'instances of the user: {each}' for each in user_limits.values()]
    assert [each in remedy.change for each in words] == [is_own] * len(words)


@pytest.mark.parametrize(
    ('more', 'described', 'at_most'),
    [
        ({'nested': True}, {'is_nested': True}, ('hosts with nested resource providers',)),
        ({'partial': True}, {'is_partial': True}, ()),
        ({'resources': {name: [*each, 512, 1] for name, each in FIVE.items()}},
         {'units': {name: {'max_unit': 512} for name in FIVE}}, ()),
    ],
    ids=['a provider tree', 'shared providers', 'a largest amount per server'],
)  # fmt: skip
def test_new_hosts_have_the_properties_of_the_old_ones(more, described, at_most):
    row = {'hosts': {'cmp-1': {'resources': FIVE, **more}}, 'request': {'count': 9}}
    (remedy,) = [each for each in answer(row).remedies if 'new_hosts' in each.data]
    new = remedy.data['new_hosts']
    found = {key: new[key] for key in ('is_nested', 'is_partial', 'units') if key in new}
    assert found == described
    changed = resolve(request_of(row), snapshot_of(row), rules_of(row)).changed(remedy.data)
    after = engine.plan(*changed.planned, CONSTRAINTS)
    assert (after.capacity, after.at_most) == (10, at_most)
    assert changed.cloud.hosts[1].host == 'cmp-1-new-1'
    assert changed.cloud.hosts[1].resources == changed.cloud.hosts[0].resources


OFF = {'disabled': True, 'free': 2}


@pytest.mark.parametrize(
    ('row', 'sizes'),
    [
        (
            {
                'hosts': {'cmp-1': {}, 'cmp-2': {}},
                'group': {'policy': 'anti-affinity'},
                'request': {'count': 6},
            },
            {'max_server_per_host: 3': 2, 'policies: soft-anti-affinity': 6},
        ),
        (
            {'hosts': {'cmp-1': OFF, 'cmp-2': OFF}, 'request': {'count': 4}},
            {
                'nova-compute enabled on cmp-1, cmp-2 (2 disabled without a reason: check them '
                'first)': 2,
                '2 more hosts (VCPU 2, MEMORY_MB 1024, DISK_GB 2)': 2,
            },
        ),
    ],
)
def test_the_size_is_the_number_of_things_that_change(row, sizes):
    found = {remedy.change: remedy.size for remedy in answer(row).remedies}
    assert found.items() >= sizes.items()


@pytest.mark.parametrize(
    ('number', 'names', 'more'),
    [(3, 'cmp-1, cmp-2, cmp-3', ''), (5, '5 hosts', '; and 2 more')],
)
def test_at_most_three_disabled_hosts_and_reasons_are_named(number, names, more):
    hosts = {f'cmp-{n}': {**OFF, 'free': 1, 'reason': f'fan {n}'} for n in range(1, number + 1)}
    remedy = answer({'hosts': hosts, 'request': {'count': number}}).remedies[0]
    assert remedy.change == (
        f'nova-compute enabled on {names} (check first: cmp-1 was disabled: fan 1; cmp-2 was '
        f'disabled: fan 2; cmp-3 was disabled: fan 3{more})'
    )
    assert remedy.has_operator_note


@pytest.mark.parametrize(
    ('state', 'done'),
    [
        ({'disabled': True}, 'enabled'),
        ({'down': True}, 'started'),
        ({'disabled': True, 'down': True}, 'enabled and started'),
    ],
)
def test_a_host_is_enabled_or_started_by_name(state, done):
    remedy = answer({'hosts': {'cmp-1': {'free': 0}, 'cmp-2': state}}).remedies[0]
    assert remedy.change.partition(' (')[0] == f'nova-compute {done} on cmp-2'


@pytest.mark.parametrize('count', [10**6, 10**9, 10**30])
@pytest.mark.parametrize('group', [None, {'policy': 'anti-affinity', 'members': ['cmp-1']}])
def test_a_plan_has_no_more_new_hosts_than_the_limit(count, group, monkeypatch):
    """For any request: a thousand new hosts, or as many as there are."""
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}, 'request': {'count': count}}
    if group is not None:
        row |= {'hosts': {'cmp-1': {'resources': MANY}, 'cmp-2': {}}, 'group': group}
    _question, planned = planned_for(row, monkeypatch)
    assert 2 < max(len(hosts) for _group, hosts in planned) <= 2 + MOST_NEW_HOSTS
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
def test_a_missing_reservation_is_removed_from_its_source(specs, properties, data):
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
    (remedy,) = (each for each in answer(row).remedies if each.code == 'no_reservation')
    assert (remedy.data, remedy.capacity) == (data, 4)
    assert any('flavor create' in line for line in remedy.commands) is (
        'removed_extra_specs' in data
    )


def test_a_flavor_without_the_special_resource_comes_after_other_changes_of_its_kind():
    row = {
        'hosts': {'cmp-1': {'free': 4}},
        'flavor': {'extra_specs': {'resources:VGPU': '1', 'trait:CUSTOM_A': 'required'}},
        'flavors': {'no_trait': {'extra_specs': {'resources:VGPU': '1'}}, 'plain': {}},
        'request': {'count': 4},
    }
    assert [str(each) for each in answer(row).remedies] == [
        'flavor: plain, which does not require resources:VGPU=1 and trait:CUSTOM_A=required '
        '(capacity 4)'
    ]


@pytest.mark.parametrize(
    ('more', 'capacity'), [({}, 6), ({'trait:CUSTOM_LICENSED': 'forbidden'}, 2)]
)
def test_without_traits_forbidden_traits_remain(more, capacity):
    """A trait that keeps servers away from licensed hosts protects others."""
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


def test_hosts_that_lack_a_trait_of_a_driver_are_given_no_trait():
    """An administrator can set custom traits only."""
    specs = {'trait:CUSTOM_A': 'required', 'trait:HW_CPU_X86_AVX2': 'required'}
    there = {'traits': ['CUSTOM_A', 'HW_CPU_X86_AVX2']}
    hosts = {'cmp-1': {'free': 1, **there}, 'cmp-2': {'free': 4}}
    row = {'hosts': hosts, 'flavor': {'extra_specs': specs}, 'request': {'count': 3}}
    codes = {each.code for each in answer(row).remedies}
    assert codes
    assert 'host_traits' not in codes
    hosts['cmp-2']['traits'] = there['traits'][1:]
    assert 'host_traits' in {each.code for each in answer(row).remedies}


def test_without_the_comparison_with_aggregates_only_compared_extra_specs_are_removed():
    scoped = 'aggregate_instance_extra_specs:rack'
    specs = {'ssd': 'true', scoped: 'r1', 'hw:cpu_policy': 'shared', 'quota:cpu_shares': '1'}
    row = {
        'hosts': {'cmp-1': {'free': 4, 'aggregates': ['slow']}},
        'aggregates': {'slow': {'metadata': {'ssd': 'false'}}},
        'flavor': {'extra_specs': specs},
        'request': {'enabled_filters': ['AggregateInstanceTypeFilter']},
    }
    (without,) = [each for each in answer(row).remedies if each.code == 'rule_given_up']
    assert without.data == {'removed_extra_specs': [scoped, 'ssd']}


def test_hosts_join_only_an_aggregate_whose_metadata_agrees():
    row = {
        'hosts': {
            'cmp-1': {'free': 4, 'aggregates': ['slow']},
            'cmp-2': {'free': 4},
            'cmp-3': {'free': 1, 'aggregates': ['fast']},
        },
        'aggregates': {
            'slow': {'metadata': {'ssd': 'false'}},
            'plain': {},
            'fast': {'metadata': {'ssd': 'true'}},
        },
        'flavor': {'extra_specs': {'ssd': 'true'}},
        'request': {'count': 5, 'enabled_filters': ['AggregateInstanceTypeFilter']},
    }
    joined = [each.data for each in answer(row).remedies if 'aggregate_hosts' in each.data]
    names = {'name': 'fast', 'uuid': 'fast'}
    assert joined
    assert all(each['aggregate_hosts']['aggregate'] == names for each in joined)


def test_a_host_for_another_project_is_opened_before_hosts_are_added():
    tenant = {'aggregates': ['tenant']}
    used = {name: [each[0], each[0]] for name, each in FIVE.items()}
    row = {
        'hosts': {'cmp-1': {'resources': used}, 'cmp-2': tenant, 'cmp-3': {'aggregates': ['two']}},
        'aggregates': {
            'tenant': {'metadata': {'filter_tenant_id': 'p1'}},
            'two': {'metadata': {'filter_tenant_id2': 'p1'}},
            'elsewhere': {'metadata': {'filter_tenant_id': 'p1'}},
        },
        'request': {
            'project_id': 'p2',
            'enabled_filters': ['AggregateMultiTenancyIsolation'],
        },
    }
    first, *others = answer(row, EVERY).remedies
    assert first.change == (
        'use a project that aggregate tenant accepts, or add this project to its filter_tenant_id'
    )
    assert (first.capacity, first.commands, first.for_tenant) == (10, (), False)
    assert [each.code for each in others] == ['hosts']
    row['hosts']['cmp-2'] = {**tenant, 'free': 0}
    assert 'aggregate two accepts' in answer(row, EVERY).remedies[0].change


def test_hosts_that_were_disabled_with_a_reason_are_started_last():
    row = {
        'hosts': {
            'cmp-1': {'free': 1},
            'cmp-2': {'free': 2, 'disabled': True},
            'cmp-3': {'free': 2, 'down': True},
            'cmp-4': {'free': 2, 'disabled': True, 'down': True, 'reason': 'firmware'},
        },
        'request': {'count': 5},
    }
    found = [each for each in answer(row).remedies if each.code == 'started_hosts']
    assert [each.data for each in found] == [
        {'enabled_hosts': ['cmp-2'], 'started_hosts': ['cmp-3']}
    ]
    row['request']['count'] = 7
    found = [each for each in answer(row).remedies if each.code == 'started_hosts']
    assert found[-1].data == {
        'enabled_hosts': ['cmp-2', 'cmp-4'],
        'started_hosts': ['cmp-3', 'cmp-4'],
    }
    assert 'cmp-4 was disabled: firmware' in str(found[-1])
    row['request']['count'], row['quotas'] = 9, {'instances': [8, 0]}
    found = [each.data for each in answer(row).remedies if each.code == 'started_hosts']
    assert [each['enabled_hosts'] for each in found] == [['cmp-2'], ['cmp-2', 'cmp-4']]


class OnlyGpuHosts(Fence):
    """A constraint on the names of hosts, which proposes one change in two ways."""

    reads = ('host',)

    def check(self, _asked, host, _cloud):
        if host.host.startswith('gpu-'):
            return Verdict.skipped('fence.open')
        return Verdict.rejected('fence.forbidden', aggregates='no GPU')

    def proposals(self, request, scenario, evaluation):
        yield Change('fence', 'no fence', {'given_up': ['fence']})
        yield Change('fence', 'open the fence', {'given_up': ['fence']})


def test_a_new_host_has_all_that_the_constraints_require_and_nothing_else():
    """A constraint may accept only some names; equal proposals are one remedy."""
    of_host = {'aggregates': ['u1', 'u2'], 'traits': ['CUSTOM_A', 'CUSTOM_B', 'OWNER_NOVA']}
    row = {
        'hosts': {'cmp-1': of_host, 'gpu-1': of_host},
        'flavor': {'extra_specs': {'trait:CUSTOM_A': 'required'}},
        'request': {'count': 15, 'member_of': ['ssd']},
    }
    cloud = replace(snapshot_of(row), aggregates=(Aggregate('u1', 'ssd'), Aggregate('u2', 'old')))
    constraints = [OnlyGpuHosts() if each.name == 'fence' else each for each in CONSTRAINTS]
    remedies = plan(request_of(row), cloud, constraints, rules_of(row)).remedies
    assert [each.change for each in remedies] == [
        'no fence',
        'without fence',
        '1 more host (VCPU 10, MEMORY_MB 5120, DISK_GB 10, aggregate ssd, trait CUSTOM_A)',
    ]
    assert remedies[2].data['new_hosts'] == {
        'number': 1,
        'name': 'gpu-1-new',
        'hypervisor_hostname': 'gpu-1-new',
        'hypervisor_type': 'QEMU',
        'availability_zone': 'nova',
        'aggregates': [{'name': 'ssd', 'uuid': 'u1'}],
        'traits': ['CUSTOM_A', 'OWNER_NOVA'],
        'amounts': {'VCPU': 10, 'MEMORY_MB': 5120, 'DISK_GB': 10},
    }


def test_a_request_that_names_its_host_needs_no_other_host():
    row = {'hosts': {'cmp-1': {'free': 1}}, 'request': {'count': 2}}
    assert [each.code for each in answer(row).remedies] == ['hosts']
    row['request']['is_host_named'] = True
    assert answer(row).remedies == ()
