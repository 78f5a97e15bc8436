"""What limits the number of servers, in clouds with several kinds of hosts."""

import pytest

from senlin_affinity import engine
from senlin_affinity.answers.headline import limiting_reason, short_sentence
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.flavor import FlavorConstraint
from senlin_affinity.model.host import Leftover
from senlin_affinity.model.verdict import Reason, Verdict, agreeing
from tests.support.asked import plan, resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import granted, request_of, rules_of, snapshot_of
from tests.support.values import replace

CONSTRAINTS = tuple(constraint() for constraint in OURS)
PLAIN = {'VCPU': [8, 0], 'MEMORY_MB': [8192, 0], 'DISK_GB': [80, 0]}
SMALL = {**PLAIN, 'MEMORY_MB': [8192, 0, 8192]}
GPUS = {**PLAIN, 'VGPU': [4, 0]}
USED = {**PLAIN, 'VGPU': [4, 4]}
NOTHING = {'MEMORY_MB': [0, 0]}
GOLD = {**NOTHING, 'CUSTOM_GOLD': [1, 1]}
RESERVED = {**NOTHING, 'CUSTOM_GOLD': {'capacity': 0, 'used': 0, 'reserved': 1}}
FOR_GPUS = {'extra_specs': {'resources:VGPU': '1'}}
FOR_GOLD = {
    'extra_specs': {
        **{f'resources:{name}': '0' for name in PLAIN},
        'resources:CUSTOM_GOLD': '1',
    }
}
SSD = {'extra_specs': {'trait:CUSTOM_SSD': 'required'}}


def headline(row, constraints=CONSTRAINTS):
    decision = plan(request_of(row), snapshot_of(row), constraints, rules_of(row))
    assert decision.fits is False
    return limiting_reason(decision)


def many(number, **host):
    return {f'cmp-{n}': host for n in range(1, number + 1)}


IRONIC = {'type': 'ironic', 'partial': True, 'resources': NOTHING}


@pytest.mark.parametrize(
    ('row', 'words'),
    [
        (
            {
                'flavor': FOR_GPUS,
                'hosts': {
                    **many(6, resources=PLAIN),
                    **{f'gpu-{n}': {'resources': USED} for n in (1, 2)},
                },
            },
            'too little VGPU left (both suitable hosts: gpu-1, gpu-2)',
        ),
        (
            {
                'flavor': FOR_GPUS,
                'hosts': {**many(6, free=0), 'gpu-1': {'resources': USED}},
            },
            'too little VGPU left (the only suitable host: gpu-1)',
        ),
        (
            {
                'flavor': FOR_GPUS,
                'hosts': {
                    **many(4),
                    'gpu-1': {'resources': {**GPUS, 'MEMORY_MB': [8192, 8192]}},
                },
            },
            'too little MEMORY_MB left (the only suitable host: gpu-1; 4 others offer no VGPU)',
        ),
        (
            {
                'hosts': {**many(3, aggregates=['rack']), 's': {'aggregates': ['ssd'], 'free': 0}},
                'aggregates': {
                    'rack': {'metadata': {}},
                    'ssd': {'metadata': {'ssd': 'true'}},
                },
                'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
                'request': {'enabled_filters': ['AggregateInstanceExtraSpecsFilter']},
            },
            'too little VCPU left (the only suitable host: s; 3 others are in no aggregate that '
            'matches ssd "true", which the flavor requires)',
        ),
        (
            {  # no reason of most of the others
                'flavor': SSD,
                'hosts': {
                    'ssd': {'traits': ['CUSTOM_SSD'], 'free': 0, 'zone': 'az-1'},
                    'a': {'zone': 'az-1'},
                    'b': {'traits': ['CUSTOM_SSD'], 'zone': 'az-2'},
                },
                'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}},
                'request': {'availability_zone': 'az-1'},
            },
            'too little VCPU left (the only suitable host in zone az-1: ssd)',
        ),
        (
            {'flavor': FOR_GPUS, 'hosts': many(6, free=0)},
            'no suitable host exists: all 6 hosts offer no VGPU',
        ),
        (
            {
                'flavor': {'ram': 16},
                'hosts': {'a': {'resources': {**PLAIN, 'MEMORY_MB': [512, 0]}}},
                'quotas': {'instances': [100, 0]},
                'request': {'count': 101},
            },
            'too little VCPU left (the only host)',
        ),
        (
            {'hosts': many(1), 'quotas': {'instances': [9, 5]}, 'request': {'count': 5}},
            'the project has 5 of 9 instances: no room for 5 more',
        ),
        (
            {'hosts': many(1, free=4), 'quotas': {'instances': [9, 5]}, 'request': {'count': 5}},
            'the project has 5 of 9 instances: no room for 5 more; too little VCPU left (the only '
            'host)',
        ),
        (
            {
                'hosts': {**many(4), 'cmp-9': {'free': 0}},
                'group': {'policy': 'affinity', 'members': ['cmp-9']},
            },
            'too little VCPU left (the only suitable host: cmp-9; 4 others: group web has the '
            'policy affinity, and its servers are on cmp-9)',
        ),
        (
            {'hosts': {**many(3, free=0), 'bm-1': IRONIC, 'bm-2': IRONIC}},
            'too little VCPU left (all 3 suitable hosts: cmp-1, cmp-2, cmp-3)',
        ),
        (
            {
                'flavor': FOR_GOLD,
                'hosts': {**many(3), 'bm-1': {**IRONIC, 'resources': GOLD}},
            },
            'too little CUSTOM_GOLD left (the only suitable host: bm-1)',
        ),
        (
            {
                'flavor': FOR_GOLD,
                'hosts': {**many(3), 'bm-1': {**IRONIC, 'resources': RESERVED}},
            },
            'all CUSTOM_GOLD reserved, as for a node that is not available in Ironic (the only '
            'suitable host: bm-1)',
        ),
        (
            {
                'flavor': SSD,
                'hosts': {**many(3, disabled=True), 'ssd': {'traits': ['CUSTOM_SSD'], 'free': 0}},
            },
            'too little VCPU left (the only suitable host: ssd; 3 others lack CUSTOM_SSD)',
        ),
        (
            {'flavor': {'ram': 9000}, 'hosts': {**many(2, resources=SMALL), 'bm-1': IRONIC}},
            'no host is large enough (at most 8192 of 9000 MEMORY_MB for one server)',
        ),
        (
            {
                'flavor': {'ram': 9000},
                'hosts': many(1, resources=SMALL),
                'request': {'is_host_named': True},
            },
            'one server cannot have as much MEMORY_MB (cmp-1, which the request names)',
        ),
        (
            {
                'hosts': {'a': {'zone': 'az-1'}, 'b': {'zone': 'az-2', 'free': 0}},
                'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}},
                'request': {'availability_zone': 'az-2'},
            },
            'too little VCPU left (the only suitable host in zone az-2: b)',
        ),
        (
            {'flavor': SSD, 'hosts': {**many(2), 'down': {'down': True}}},
            'no suitable host exists: all 3 hosts lack CUSTOM_SSD; some hosts are rejected for '
            'several reasons',
        ),
        (
            {
                'flavor': SSD,
                'hosts': {
                    'a': {'zone': 'az-1'},
                    'b': {'zone': 'az-2', 'traits': ['CUSTOM_SSD']},
                    'c': {'zone': 'az-2'},
                },
                'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}},
                'request': {'availability_zone': 'az-1'},
            },
            'no suitable host exists: 1 of 3 hosts lacks CUSTOM_SSD; not in zone az-1 (2 of 3 '
            'hosts)',
        ),
        (  # a host counts under its first rejection
            {
                'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
                'hosts': {
                    'a': {'zone': 'west', 'aggregates': ['west']},
                    'b': {'zone': 'west', 'aggregates': ['west', 'rack']},
                    'c': {'zone': 'east', 'aggregates': ['east', 'ssd']},
                    'd': {'zone': 'east', 'aggregates': ['east']},
                    'e': {'zone': 'east', 'aggregates': ['east']},
                },
                'aggregates': {
                    'west': {'zone': 'west'},
                    'east': {'zone': 'east'},
                    'rack': {'metadata': {}},
                    'ssd': {'metadata': {'ssd': 'true'}},
                },
                'request': {
                    'availability_zone': 'west',
                    'enabled_filters': ['AggregateInstanceExtraSpecsFilter'],
                },
            },
            'no suitable host exists: 2 of 5 hosts are in no aggregate that matches ssd "true", '
            'which the flavor requires; not in zone west (3 of 5 hosts)',
        ),
        (
            {'flavor': SSD, 'hosts': many(1), 'request': {'is_host_named': True}},
            'cmp-1, which the request names, lacks CUSTOM_SSD',
        ),
        (
            {'hosts': {'a': {'free': 0}, 'b': {'disabled': True}, 'c': {'down': True}}},
            'b has room, but its compute service is disabled; c has room, but its compute service '
            'is down; too little VCPU left (1 of 3 hosts)',
        ),
        (
            {'hosts': {**many(4, free=0), 'off': {'disabled': True}, 'bm-1': IRONIC}},
            'off has room, but its compute service is disabled; too little VCPU left (4 of 5 '
            'suitable hosts)',
        ),
        (
            {'hosts': {**many(4, free=0), 'off': {'disabled': True, 'free': 0}}},
            'too little VCPU left (4 of 5 hosts)',
        ),
        (
            {'hosts': {**many(3, disabled=True), 'full': {'free': 0}}},
            '3 hosts have room, but their compute service is disabled; too little VCPU left (1 of '
            '4 hosts)',
        ),
        (
            {
                'hosts': {
                    **many(4, free=0),
                    **{name: {'aggregates': ['tenant']} for name in ('own-1', 'own-2')},
                },
                'aggregates': {'tenant': {'metadata': {'filter_tenant_id': 'p1'}}},
                'request': {
                    'project_id': 'p2',
                    'enabled_filters': ['AggregateMultiTenancyIsolation'],
                },
            },
            'own-1 and own-2 have room, but are in aggregate tenant, which does not accept project '
            'p2; too little VCPU left (4 of 6 hosts)',
        ),
        (
            {'hosts': many(1, free=0), 'request': {'is_host_named': True}},
            'too little VCPU left (cmp-1, which the request names)',
        ),
        (
            {
                'hosts': {
                    **{f'cmp-{n}': {'aggregates': [f'rack-{n}']} for n in range(1, 4)},
                    'gpu-1': {'aggregates': ['gpu']},
                },
                'aggregates': {
                    **{f'rack-{n}': {'metadata': {}} for n in range(1, 4)},
                    'gpu': {'metadata': {'gpu': 'true'}},
                },
                'flavor': {'extra_specs': {'gpu': 'True'}},
                'request': {'enabled_filters': ['AggregateInstanceExtraSpecsFilter']},
            },
            'no suitable host exists: all 4 hosts are in no aggregate that matches gpu "True", '
            'which the flavor requires',
        ),
        (
            {
                'hosts': {name: {'aggregates': [name]} for name in ('a', 'b')},
                'aggregates': {
                    name: {'metadata': {'filter_tenant_id': 'p1'}} for name in ('a', 'b')
                },
                'request': {
                    'project_id': 'p2',
                    'enabled_filters': ['AggregateMultiTenancyIsolation'],
                },
            },
            'both hosts are in an aggregate that does not accept project p2',
        ),
        (
            {
                'request': {
                    'image_properties': {'hw_mem_encryption': 'true', 'hw_firmware_type': 'uefi'}
                },
                'hosts': {**many(3), 'bm-1': IRONIC},
            },
            'no suitable host exists: 3 of 4 hosts lack HW_CPU_X86_AMD_SEV; 3 of 4 hosts offer no '
            'MEM_ENCRYPTION_CONTEXT; some hosts are rejected for several reasons',
        ),
        (
            {
                'flavor': {'extra_specs': {'resources:CUSTOM_GOLD': '1'}},
                'hosts': {**many(2), 'bm-1': IRONIC},
            },
            'no suitable host exists: 2 of 3 hosts offer no CUSTOM_GOLD; 1 of 3 hosts offers no '
            'MEMORY_MB',
        ),
        (
            {
                'flavor': FOR_GPUS,
                'hosts': {**many(2, zone='az-1'), 'bm-1': {**IRONIC, 'zone': 'az-1'}},
                'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}},
                'request': {'availability_zone': 'az-2'},
            },
            'no suitable host exists: not in zone az-2 (all 3 hosts)',
        ),
        ({'hosts': many(9, disabled=True)}, 'the compute service is disabled (all 9 hosts)'),
        ({'hosts': {}}, 'there is no host'),
    ],
)
def test_the_headline(row, words):
    assert headline(row) == words


#: Facts that differ between hosts which are rejected for the same reason.
OF_ONE_HOST = {
    'aggregates', 'capacity', 'free', 'host', 'hypervisor', 'max_unit', 'servers', 'step_size',
    'zone',
}  # fmt: skip
#: Reasons that reject no host, or for which these facts are the same for all hosts.
SHARED = {
    'aggregate_metadata.nova_fails',
    'availability_zone.in_zone',
    'availability_zone.only_in_placement',
    'drs.host',
    'member_of.required',
    'host_state.zone_available',
    'host_state.zone_unavailable',
    'reservations.not_reserved',
    'reservations.other_tenant',
    'scheduler_hints.different_host',
    'scheduler_hints.same_host',
    'scheduler_hints.unknown',
    'server_count.room',
    'spread.full',
    'spread.skew',
}


def test_hosts_that_are_rejected_alike_share_a_sentence():
    """Each reason without such a sentence fills the headline with one phrase for each host."""
    row = {'hosts': many(1)}
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    different = {
        code
        for code, reason in decision.reasons.items()
        for words in [
            short_sentence(
                Verdict.rejected(code, **{name: f'<{name}>' for name in reason.facts}), decision
            )
        ]
        if any(f'<{name}>' in words for name in OF_ONE_HOST)
    }
    assert sorted(different - SHARED) == []


def test_a_disabled_host_that_placement_does_not_offer_has_room():
    """Placement guarantees no room there, because Nova's query forbids disabled hosts."""
    hosts = {**many(2, free=0, grants=[]), 'off': {'disabled': True, 'grants': []}}
    row = {'hosts': hosts, 'flavor': {'vcpus': 1}}
    asked = granted(resolve(request_of(row), snapshot_of(row), rules_of(row)), hosts)
    decision = engine.plan(*asked.planned, CONSTRAINTS)
    assert limiting_reason(decision) == (
        'off has room, but its compute service is disabled; too little VCPU left (2 of 3 hosts)'
    )


def test_what_nova_api_would_accept_is_not_advice_where_hosts_are_known():
    row = {'hosts': many(1), 'flavor': {'extra_specs': {'hw:cpu_thread_policy': 'require'}}}
    constraints = (FlavorConstraint(), *CONSTRAINTS)
    assert 'use hw:' not in headline(row, constraints)
    assert 'use hw:cpu_policy=dedicated' in headline(row | {'hosts': None}, constraints)


def test_a_reserved_node_is_made_available_in_ironic():
    row = {'flavor': FOR_GOLD, 'hosts': {'bm-1': {**IRONIC, 'resources': RESERVED}}}
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    assert decision.advice() == (
        'make the node available in Ironic (maintenance, cleaning, provision state)',
    )
    words = (
        'reserved nodes of bm-1 made available in Ironic (check their maintenance, cleaning and '
        'provision state first)'
    )
    assert [(each.change, each.capacity) for each in decision.remedies] == [(words, 1)]


def test_an_available_node_comes_before_a_flavor_for_virtual_machines():
    others = {'plain': {'vcpus': 1}}
    hosts = {**many(2), 'bm-1': {**IRONIC, 'resources': RESERVED}}
    row = {'flavor': FOR_GOLD, 'flavors': others, 'hosts': hosts}
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    codes = [each.code for each in decision.remedies]
    assert codes[0] == 'available_nodes'
    assert any('flavor: plain' in each.change for each in decision.remedies)


@pytest.mark.parametrize(
    ('note', 'codes'),
    [
        ('', ['started_hosts', 'rule_given_up']),
        ('firmware', ['rule_given_up', 'started_hosts']),
    ],
)
def test_a_host_that_is_enabled_comes_before_a_requirement_given_up(note, codes):
    """Unless somebody disabled it with a reason."""
    gpu = {'resources': GPUS, 'disabled': True, **({'reason': note} if note else {})}
    row = {'flavor': FOR_GPUS, 'flavors': {'plain': {}}, 'hosts': {**many(2), 'gpu-1': gpu}}
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    assert [each.code for each in decision.remedies][:2] == codes


LEFT = Leftover('gone', {'VCPU': 6})


@pytest.mark.parametrize(
    ('number', 'count', 'words'),
    [
        (1, 4, 'allocations that belong to no server take the room on cmp-1; too little VCPU left '
               '(both hosts)'),
        (1, 7, 'too little VCPU left (both hosts)'),
        (4, 20, 'allocations that belong to no server take the room on 4 hosts; too little VCPU '
                'left (all 5 hosts)'),
    ],
)  # fmt: skip
def test_leftovers_come_first_if_the_servers_fit_without_them(number, count, words):
    hosts = {**many(number + 1, resources={**PLAIN, 'VCPU': [8, 8]})}
    row = {'hosts': hosts, 'request': {'count': count}}
    cloud = snapshot_of(row)
    left = (each.but(leftovers=(LEFT,)) for each in cloud.hosts[:number])
    cloud = replace(cloud, hosts=(*left, *cloud.hosts[number:]))
    decision = plan(request_of(row), cloud, CONSTRAINTS, rules_of(row))
    assert limiting_reason(decision) == words


class Moody(Constraint):
    """A constraint of another package, with one reason of each kind."""

    name, order, summary, needs = 'moody', 3, 'the host is in a good mood', ()
    reads = ('host',)
    reasons = {
        'moody.good': Reason('is in a good mood'),
        'moody.tired': Reason('is tired', is_state=True),
        'moody.grim': Reason('is grim'),
    }

    def check(self, asked, host, cloud):
        mood = host.host.partition('-')[0]
        return Verdict.passed('moody.good') if mood == 'good' else Verdict.rejected(f'moody.{mood}')


def test_an_image_for_another_hypervisor_is_the_remedy():
    row = {
        'hosts': many(2, type='QEMU'),
        'request': {
            'image_properties': {'hw_architecture': 'x86_64', 'img_hv_type': 'vmware'},
            'enabled_filters': ['ImagePropertiesFilter'],
        },
    }
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    assert [each.change for each in decision.remedies] == [
        'another image, which does not require img_hv_type=vmware'
    ]


@pytest.mark.parametrize(
    ('is_capacity_rule', 'words'),
    [
        (False, 'the only suitable host (tired-1) is tired; 2 others are grim'),
        (True, '2 of 3 hosts are grim'),
    ],
)
def test_a_constraint_of_another_package_declares_which_reasons_are_of_state(
    is_capacity_rule, words
):
    """By default, a rejection is of state if the constraint rejects full hosts only."""
    moody = Moody()
    moody.is_capacity_rule = is_capacity_rule
    row = {'hosts': {name: {} for name in ('grim-1', 'grim-2', 'tired-1')}}
    assert headline(row, [moody, *CONSTRAINTS]) == words


@pytest.mark.parametrize(
    ('words', 'number', 'found'),
    [
        ('is in a, which is reserved', 1, 'is in a, which is reserved'),
        ('is in a, which is reserved', 2, 'are in a, which is reserved'),
        ('offers no VGPU', 3, 'offer no VGPU'),
        ('too little VCPU left', 2, 'too little VCPU left'),
        ('', 2, ''),
    ],
)
def test_a_sentence_agrees_with_the_number_of_hosts(words, number, found):
    assert agreeing(words, number) == found
