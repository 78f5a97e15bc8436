"""A file of requests is a list of servers, a Terraform plan or a Heat template."""

import pytest
import yaml

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import NONE
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.preflight import stack_file
from senlin_affinity.preflight.question import Question
from tests.support.terraform import plan, servers

LIST = """
server_groups:
  web: {policy: anti-affinity, rules: {max_server_per_host: 2}}
flavors:
  own: {vcpus: 2, ram: 1024, disk: 10, extra_specs: {'hw:cpu_policy': dedicated}}
servers:
  - name: web
    count: 6
    flavor: m1.small
    image: none
    server_group: web
    availability_zone: az-1
    hints: {same_host: [s]}
  - {flavor: own, server_group: old, boot_from_volume: true, metadata_items: 2, member_of: ['!a']}
"""


def read(text, **parameters):
    return stack_file.read(yaml.safe_load(text), parameters)


def test_a_list_of_servers():
    group = ServerGroup.planned('web', 'anti-affinity', {'max_server_per_host': 2})
    own = Flavor('new flavor own', 'own', 2, 1024, 10, extra_specs={'hw:cpu_policy': 'dedicated'})
    found = read(LIST)
    assert found.server_groups == (group,)
    assert found.questions == (
        Question(
            6,
            'm1.small',
            name='web',
            image=NONE,
            server_group=group,
            availability_zone='az-1',
            scheduler_hints={'same_host': ['s']},
        ),
        Question(
            1,
            own,
            name='request 2',
            server_group='old',
            is_volume_booted=True,
            metadata_items=2,
            member_of=('!a',),
        ),
    )


@pytest.mark.parametrize(
    ('text', 'mistakes'),
    [
        ('servers: 1', ['servers: must be a list, not 1']),
        ('servers: [1]', ['servers[0]: must be a mapping, not 1']),
        ('servers: [{}]', ['servers[0].flavor: is missing']),
        ('{servers: [], server: []}', ['server: unknown key: did you mean servers?']),
        (
            'servers: [{flavor: 1, count: -1, images: x}, {flavor: f, count: 2000000}]',
            [
                'servers[0].images: unknown key: did you mean image?',
                'servers[1].count: must be at most 1,000,000, not 2,000,000',
            ],
        ),
        (
            'servers: [{flavor: 1, count: -1, hints: a}]',
            [
                'servers[0].flavor: must be a string, not 1: put it in quotes',
                'servers[0].count: must be an integer of 0 or more, not -1',
                "servers[0].hints: must be a mapping, not 'a'",
            ],
        ),
        ('servers: [{flavor: f, name: a}, {flavor: f, name: a}]',
         ["servers: 'a' is the name of several requests"]),
        ('servers: [{flavor: f, boot_from_volume: 1}]',
         ['servers[0].boot_from_volume: must be true or false, not 1']),
        ('servers: [{flavor: f, image_properties: {a: [1]}}]',
         ['servers[0].image_properties.a: must be a string, not [1]']),
        ('servers: [{flavor: f, member_of: [","]}]', ['servers[0].member_of[0]: ']),
        ('{servers: [], server_groups: {g: {policy: near}}}',
         ['server_groups.g.policy: must be one of ']),
        ('{servers: [], server_groups: {1: {}}}',
         ['server_groups: must have texts as keys, not 1: put it in quotes']),
        ('{servers: [], flavors: {f: {ram: 1, vcpus: 1}}}', ['flavors.f.disk: is missing']),
        ('{format: 1, hosts: []}', ['is a snapshot of a cloud: use --snapshot']),
        ('[]', ['must be a list of servers (with the key servers)']),
    ],
)  # fmt: skip
def test_mistakes_of_a_list(text, mistakes):
    with pytest.raises(InvalidSpec) as caught:
        read(text)
    found = [str(each) for each in caught.value.mistakes]
    assert len(found) == len(mistakes)
    assert all(map(str.startswith, found, mistakes)), found


def test_a_terraform_plan():
    (question,) = stack_file.read(plan(servers(2)), {}).questions
    assert (question.name, question.count) == ('web', 2)


def test_only_a_heat_template_has_parameters():
    with pytest.raises(InvalidSpec, match='only a Heat template has'):
        read('servers: []', size='1')
