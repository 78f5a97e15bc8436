"""The servers of a Terraform plan become requests."""

import pytest

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.preflight import terraform_plan
from senlin_affinity.preflight.question import Question
from tests.support.terraform import (
    BIG,
    FLAVOR,
    GROUP,
    INSTANCE,
    VOLUME,
    change,
    configured,
    group,
    in_group,
    plan,
    refs,
    server,
    servers,
)


def read(*changes, **more):
    return terraform_plan.read(plan(*changes, **more))


def one(*changes, **more):
    """Return the only question of a plan of which everything is read."""
    workload = read(*changes, **more)
    assert workload.not_read == ()
    (question,) = workload.questions
    return question


def test_equal_instances_are_one_request():
    assert one(servers(3)) == Question(3, 'm1.tiny', name='web', image='cirros')


def test_instances_that_differ_are_requests_of_their_own():
    found = read(servers(2), server('web', 2, **BIG), server('web', 'a', availability_zone='z'))
    assert [
        (each.name, each.count, each.flavor, each.availability_zone) for each in found.questions
    ] == [
        ('web[0] and 1 more', 2, 'm1.tiny', None),
        ('web[2]', 1, 'm1.big', None),
        ('web["a"]', 1, 'm1.tiny', 'z'),
    ]


def test_only_what_is_created_or_replaced_is_read():
    actions = (
        ['no-op'],
        ['read'],
        ['update'],
        ['delete'],
        ['create', 'delete'],
        ['delete', 'create'],
    )
    found = read([server(str(at), actions=each) for at, each in enumerate(actions)])
    assert [each.name for each in found.questions] == ['4', '5']
    assert found.removed == ('3', '5')


def test_a_resize_is_not_read():
    resized = server('web', actions=['update'])
    resized['change']['before'] = {'flavor_name': 'm1.nano'}
    assert read(resized).not_read == ('web: the server is resized',)


def test_ids_of_image_and_flavor_come_before_names():
    question = one(server('web', image_id='i', flavor_id='f'))
    assert (question.image, question.flavor) == ('i', 'f')


def test_metadata_and_hints():
    hints = {'group': 'g', 'same_host': ['s'], 'query': ['>=', '$free_ram_mb', '1'],
             'additional_properties': {'k': 'v'}, 'different_host': []}  # fmt: skip
    question = one(server('web', metadata={'a': '1', 'b': '2'}, scheduler_hints=[hints]))
    assert (question.server_group, question.metadata_items) == ('g', 2)
    assert question.scheduler_hints == {
        'same_host': ['s'],
        'query': '[">=", "$free_ram_mb", "1"]',
        'k': 'v',
    }


def test_hosts_are_not_read():
    found = read(server('web', availability_zone='az-1:cmp-1', hypervisor_hostname='node-1'))
    assert found.questions[0].availability_zone == 'az-1'
    assert found.not_read == ('web: the host in its zone, cmp-1', 'web: hypervisor_hostname node-1')


@pytest.mark.parametrize(
    ('device', 'expected'),
    [
        ({'source_type': 'image', 'destination_type': 'volume', 'uuid': 'i'}, (True, 'i')),
        ({'source_type': 'image', 'destination_type': 'local', 'uuid': 'i'}, (False, 'i')),
        ({'source_type': 'volume', 'destination_type': 'volume', 'uuid': 'v'}, (True, None)),
        ({'source_type': 'snapshot', 'destination_type': 'volume', 'uuid': 'v'}, (True, None)),
        (
            {'source_type': 'blank', 'destination_type': 'volume', 'boot_index': 1},
            (False, 'cirros'),
        ),
    ],
)
def test_the_root_disk(device, expected):
    question = one(server('web', block_device=[{'boot_index': 0, **device}]))
    assert (question.is_volume_booted, question.image) == expected


def test_the_image_of_a_volume_that_is_created():
    volume = change(VOLUME, 'root', size=10, image_id='i')
    device = {'source_type': 'volume', 'destination_type': 'volume', 'boot_index': 0}
    own = configured(INSTANCE, 'web', block_device=[{'uuid': refs(f'{VOLUME}.root.id')}])
    question = one(volume, server('web', block_device=[device]), resources=[own])
    assert (question.is_volume_booted, question.image) == (True, 'i')


def test_a_flavor_that_is_created():
    made = change(FLAVOR, 'own', name='big', ram=2048, vcpus=2, disk=10, extra_specs={'a': '1'})
    expected = Flavor(f'new flavor {FLAVOR}.own', 'big', 2, 2048, 10, extra_specs={'a': '1'})
    assert one(made, server('web', flavor_name='big')).flavor == expected
    own = configured(INSTANCE, 'web', flavor_id=refs(f'{FLAVOR}.own.id'))
    found = one(made, server('web', flavor_name=None), resources=[own])
    assert found.flavor == expected


def test_a_flavor_that_is_not_known():
    found = read(server('web', flavor_name=None), server('db'))
    assert [each.name for each in found.questions] == ['db']
    assert found.not_read == ('web: its flavor is not known until apply',)


def groups_of(*changes, **more):
    """Return the id of the group of each question."""
    found = read(*changes, **more)
    assert found.not_read == ()
    return [each.server_group and each.server_group.id for each in found.questions]


def test_a_group_that_is_created():
    made = group('all', 'anti-affinity', 2)
    found = one(made, servers(2, group=True), resources=[in_group('web', f'{GROUP}.all.id')])
    made = found.server_group
    assert (made.policy, made.rules, made.is_planned) == (
        'anti-affinity',
        {'max_server_per_host': 2},
        True,
    )


@pytest.mark.parametrize(
    ('references', 'expected'),
    [
        ((f'{GROUP}.by[0].id', f'{GROUP}.by[0]', f'{GROUP}.by'), [0, 0]),
        ((f'{GROUP}.by', 'count.index'), [0, 1]),
    ],
)
def test_the_instance_of_a_group(references, expected):
    made = [group('by', 'affinity', index=index) for index in range(2)]
    own = configured(INSTANCE, 'web', scheduler_hints=[{'group': {'references': [*references]}}])
    found = read(made, servers(2, group=True), resources=[own])
    asked = [each.server_group.id for each in found.questions for _server in range(each.count)]
    assert asked == [f'new-server-group:{GROUP}.by[{index}]' for index in expected]


@pytest.mark.parametrize(
    'references', [('local.group',), (f'{GROUP}.by',), (f'{GROUP}.one.id', f'{GROUP}.by[0].id'), ()]
)
def test_a_group_that_is_not_known(references):
    """A local value is not in the configuration, and two groups are ambiguous."""
    made = [*(group('by', 'affinity', index=index) for index in range(2)), group('one', 'affinity')]
    own = configured(INSTANCE, 'web', scheduler_hints=[{'group': {'references': [*references]}}])
    found = read(made, server('web', group=True), resources=[own])
    assert found.questions[0].server_group is None
    assert found.not_read == ('web: its server group is not known until apply',)
    assert len(found.server_groups) == 3


def test_a_group_of_a_module_with_several_instances():
    modules = ['module.m[0]', 'module.m[1]']
    made = [group('all', 'affinity', module=each) for each in modules]
    new = [server('web', group=True, module=each) for each in modules]
    calls = {'m': {'module': {'resources': [in_group('web', f'{GROUP}.all.id')]}}}
    assert groups_of(made, new, calls=calls) == [
        f'new-server-group:{each}.{GROUP}.all' for each in modules
    ]


def test_other_resources_that_create_servers_are_named():
    found = read(change('openstack_containerinfra_cluster_v1', 'k8s'), change('aws_instance', 'x'))
    assert found.not_read == (
        'openstack_containerinfra_cluster_v1.k8s: the servers of a Magnum cluster',
    )


@pytest.mark.parametrize(
    ('document', 'message'),
    [
        ({'format_version': '2.0'}, "format_version: must be 0.x or 1.x, not '2.0'"),
        ({'format_version': '1.0', 'values': {}}, 'is a Terraform state'),
        ({'format_version': '1.0', 'errored': True}, 'errored: terraform plan failed'),
        ({'format_version': '1.0', 'resource_changes': {}}, 'resource_changes: must be a list'),
        ({'format_version': '1.0', 'resource_changes': [1]}, 'resource_changes[0]: must be a'),
        (plan(group('g', 'near')), f'{GROUP}.g.policies: must be one of'),
        (plan(server('a', region='r1'), server('b', region='r2')), 'has servers in 2 regions: r1'),
    ],
)
def test_mistakes(document, message):
    with pytest.raises(InvalidSpec) as caught:
        terraform_plan.read(document)
    assert str(caught.value).startswith(message)
