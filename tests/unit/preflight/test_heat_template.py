"""The servers of a Heat template become requests."""

import pytest
import yaml

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.preflight import heat_template
from senlin_affinity.preflight.question import Question

HEAD = 'heat_template_version: 2018-08-31\n'


def read(resources, parameters='', **given):
    text = f'{HEAD}parameters: {{{parameters}}}\nresources:\n{resources}'
    return heat_template.read(yaml.safe_load(text), given)


def one(resources, *more, **given):
    """Return the only question of a template of which everything is read."""
    workload = read(resources, *more, **given)
    assert workload.not_read == ()
    (question,) = workload.questions
    return question


def server(properties, name='web', more=''):
    return f'  {name}: {{type: OS::Nova::Server, properties: {{flavor: f, {properties}}}{more}}}\n'


def members(kind, size, properties='flavor: f'):
    inner = 'resource_def' if kind == 'ResourceGroup' else 'resource'
    member = f'{inner}: {{type: OS::Nova::Server, properties: {{{properties}}}}}'
    return f'  web: {{type: OS::Heat::{kind}, properties: {{{size}, {member}}}}}\n'


def test_a_server():
    properties = 'image: i, availability_zone: z, metadata: {a: 1}, scheduler_hints: {k: v}'
    assert one(server(properties)) == Question(
        1,
        'f',
        name='web',
        image='i',
        availability_zone='z',
        metadata_items=1,
        scheduler_hints={'k': 'v'},
    )


@pytest.mark.parametrize(
    ('resources', 'count'),
    [
        (members('ResourceGroup', 'count: 3'), 3),
        (members('ResourceGroup', 'index_var: x'), 1),
        (members('AutoScalingGroup', 'min_size: 2, max_size: 5'), 2),
        (members('AutoScalingGroup', 'min_size: 2, max_size: 5, desired_capacity: 4'), 4),
        (members('ResourceGroup', 'count: {get_param: size}'), 7),
    ],
)
def test_a_group_of_servers(resources, count):
    question = one(resources, 'size: {type: number, default: 7}')
    assert (question.name, question.count) == ('web', count)


def test_the_index_of_a_member():
    found = read(members('ResourceGroup', 'count: 3', 'flavor: f, availability_zone: "az-%index%"'))
    asked = [(each.name, each.count, each.availability_zone) for each in found.questions]
    assert asked == [('web[0]', 1, 'az-0'), ('web[1]', 1, 'az-1'), ('web[2]', 1, 'az-2')]


@pytest.mark.parametrize(
    ('zone', 'zones'),
    [
        ('{get_param: zone}', ['a-0', 'a-1']),
        ('{get_param: [zones, 1]}', [' y']),
        ('{get_param: [zones, "%index%"]}', [None]),
    ],
)
def test_the_index_replaces_the_variable_in_what_functions_return(zone, zones):
    declared = """
    zone: {type: string, default: "a-%index%"},
    zones: {type: comma_delimited_list, default: "x, y"}
    """
    properties = f'flavor: f, availability_zone: {zone}'
    found = read(members('ResourceGroup', 'count: 2', properties), declared)
    assert [each.availability_zone for each in found.questions] == zones


def test_parameters():
    declared = """
    zone: {type: string, default: a}, names: {type: comma_delimited_list, default: "x,y"},
    map: {type: json, default: {k: i}}
    """
    properties = """
    availability_zone: {get_param: zone}, image: {get_param: [map, k]},
    scheduler_hints: {group: {get_param: [names, 1]}}
    """
    question = one(server(properties), declared, zone='b')
    assert (question.availability_zone, question.image, question.server_group) == ('b', 'i', 'y')
    question = one(server(properties), declared, map='{"k": "j"}')
    assert (question.availability_zone, question.image) == ('a', 'j')


def test_a_group_and_a_flavor_that_are_created():
    resources = """
  all: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity], name: mine,
        rules: {max_server_per_host: 2}}}
  own: {type: OS::Nova::Flavor, properties: {ram: 1024, vcpus: 2, disk: 1}}
  web: {type: OS::Nova::Server, properties: {flavor: {get_resource: own},
        scheduler_hints: {group: {get_resource: all}}}}
"""
    found = read(resources)
    (question,), (group,) = found.questions, found.server_groups
    assert question.server_group is group
    assert (group.name, group.policy, group.max_server_per_host) == ('mine', 'anti-affinity', 2)
    assert question.flavor == Flavor('new flavor own', 'own', 2, 1024, 1)


@pytest.mark.parametrize(
    ('properties', 'expected'),
    [
        ('block_device_mapping_v2: [{boot_index: 0, image: i, volume_size: 1}]', (True, 'i')),
        ('block_device_mapping_v2: [{boot_index: 0, volume_id: {get_resource: v}}]', (True, None)),
        ('image: i, block_device_mapping_v2: [{boot_index: -1, volume_size: 1}]', (False, 'i')),
        ('block_device_mapping: [{device_name: vda, volume_id: v}]', (True, None)),
    ],
)
def test_the_root_disk(properties, expected):
    question = one(server(properties))
    assert (question.is_volume_booted, question.image) == expected


@pytest.mark.parametrize(
    ('resources', 'names', 'not_read'),
    [
        (server('', more=', condition: c'), [], ['web: it has a condition']),
        ('  x: {type: nested.yaml}', [], ['x: a nested stack (nested.yaml)']),
        ('  x: {type: OS::Magnum::Cluster}', [], ['x: its servers (OS::Magnum::Cluster)']),
        ('  x: {type: OS::Cinder::Volume, condition: c}', [], []),
        (server('availability_zone: {get_attr: [a, b]}'), ['web'],
         ['web: availability_zone: the function get_attr']),
        (server('scheduler_hints: {group: {get_resource: x}}'), ['web'],
         ['web: its server group, x']),
        (server('scheduler_hints: {k: {list_join: []}}'), ['web'],
         ['web: the hint k: the function list_join']),
        (members('ResourceGroup', 'count: 2',
                 'flavor: f, scheduler_hints: {group: {get_resource: "x-%index%"}}'), ['web'],
         ['web: its server group, x-%index%']),
        (server('availability_zone: "z:h"'), ['web'], ['web: the host in its zone, h']),
        ('  web: {type: OS::Nova::Server, properties: {flavor: {if: [a, b, c]}}}', [],
         ['web: its flavor: the function if']),
        ('  web: {type: OS::Nova::Server, properties: {flavor: {get_resource: x}}}', [],
         ['web: its flavor: that of x']),
        (members('ResourceGroup', 'count: {get_param: "OS::stack_id"}'), [],
         ['web: the parameter OS::stack_id']),
        ('  x: {type: OS::Heat::ResourceGroup,'
         ' properties: {count: 2, resource_def: {type: a.yaml}}}',
         [], ['x: 2 times a.yaml']),
        ('  x: {type: OS::Nova::ServerGroup, properties: {policies: {get_attr: [a, b]}}}', [],
         ['x: the function get_attr']),
        (server('hibernation: true'), ['web'],
         ['web: the property hibernation of OS::Nova::Server, which is unknown']),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named(resources, names, not_read):
    found = read(resources)
    assert [each.name for each in found.questions] == names
    assert [*found.not_read] == not_read


@pytest.mark.parametrize(
    ('resources', 'declared', 'given', 'message'),
    [
        ('  x: 1', '', {}, 'resources.x: must be a mapping, not 1'),
        ('  x: {}', '', {}, 'resources.x.type: must be the type of a resource'),
        ('  web: {type: OS::Nova::Server}', '', {}, 'resources.web.properties.flavor: is missing'),
        (server('image: {get_param: i}'), '', {}, "resources.web.properties.image: the template "),
        (server('image: {get_param: i}'), 'i: {type: string}', {},
         'parameters.i: has no default: add --parameter i=VALUE'),
        ('  {}', 'image: {type: string}', {'imag': 'x'},
         'parameters.imag: unknown parameter: did you mean image?'),
        (server('image: {get_param: [i, k]}'), 'i: {type: json}', {'i': '{k}'},
         'parameters.i: must be JSON'),
        (members('ResourceGroup', 'count: x'), '', {},
         "resources.web.properties.count: must be an integer of 0 or more, not 'x'"),
        ('  x: {type: OS::Nova::ServerGroup, properties: {policies: [near]}}', '', {},
         'resources.x.properties.policies: must be one of'),
        (server('scheduler_hint: {}'), '', {},
         'resources.web.properties.scheduler_hint: unknown property: did you mean scheduler_hin'),
        (members('ResourceGroup', 'cuont: 9'), '', {},
         'resources.web.properties.cuont: unknown property: did you mean count?'),
        (members('ResourceGroup', 'count: 9', 'flavour: f'), '', {},
         'resources.web.properties.resource_def.properties.flavour: unknown property: did you '),
        ('  web: {type: OS::Nova::Server, propertis: {}}', '', {},
         'resources.web.propertis: unknown key: did you mean properties?'),
        (server('scheduler_hints: {group: {get_resource: webb}}'), '', {},
         'resources.web.properties.scheduler_hints.group: unknown resource: did you mean web?'),
    ],
)  # fmt: skip
def test_mistakes(resources, declared, given, message):
    with pytest.raises(InvalidSpec) as caught:
        read(resources, declared, **given)
    assert str(caught.value).startswith(message)


def test_an_unknown_section_is_a_mistake():
    with pytest.raises(InvalidSpec, match='resource: unknown key: did you mean resources?'):
        heat_template.read(yaml.safe_load(f'{HEAD}resource: {{}}\n'), {})
