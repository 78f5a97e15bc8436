"""The commands of a remedy, in which every name is one word."""

import shlex

import pytest

from senlin_affinity.engine.changes import commands_of
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.nova.host_status import DISABLED
from tests.support.asked import NamedRequest, with_values
from tests.support.small_cloud import flavor_of
from tests.support.values import replace

FLAVOR = flavor_of({'name': 'm1.x', 'extra_specs': {'trait:CUSTOM_A': 'required', 'a b': "c'"}})
HOSTS = tuple(
    Host(name, f'{name}.example.org', traits=frozenset({'HW_CPU_X86_AVX', 'CUSTOM_B'}))
    for name in ('cmp-1', 'cmp-2')
)
STALE = tuple(
    Host(name, name, traits=frozenset({DISABLED, 'CUSTOM_B'}), is_nested=is_nested)
    for name, is_nested in (('cmp-3', False), ('tree', True))
)
GROUP = ServerGroup('g', 'web', 'anti-affinity')
QUESTION = with_values(
    NamedRequest(1, 'f'), Cloud((*HOSTS, *STALE), flavors=(FLAVOR,)), FLAVOR, GROUP
)


def trait_line(provider):
    """Return the command that removes the trait of a disabled service from a provider."""
    trait = 'openstack --os-placement-api-version 1.6 resource provider trait'
    return (
        f'provider="$(openstack resource provider list --name {provider} -f value -c uuid)" && '
        f'traits="$({trait} list "$provider" -f value -c name)" && '
        f"""{trait} set $(echo "$traits" | sed '/^{DISABLED}$/d; s/./--trait &/') "$provider\""""
    )


NEW_GROUP = {
    'server_group': {
        'name': 'web-2',
        'policy': 'anti-affinity',
        'rules': {'max_server_per_host': 2},
    }
}


@pytest.mark.parametrize(
    ('data', 'lines'),
    [
        (
            NEW_GROUP,
            [
                '--os-compute-api-version 2.64 server group create --policy anti-affinity '
                '--rule max_server_per_host=2 web-2'
            ],
        ),
        (
            {'server_group': {**NEW_GROUP['server_group'], 'project_id': 'p'}},
            [
                '--os-project-id p --os-compute-api-version 2.64 server group create '
                '--policy anti-affinity --rule max_server_per_host=2 web-2'
            ],
        ),
        (
            {
                'enabled_hosts': ['cmp-3', 'cmp-1'],
                'host_traits': {'traits': ['CUSTOM_A'], 'hosts': ['cmp-3']},
            },
            [
                'compute service set --enable cmp-1 nova-compute',
                trait_line('cmp-3'),
            ],
        ),
        (
            {'enabled_hosts': ['cmp-1', 'cmp-2'], 'started_hosts': ['cmp-2']},
            [f'compute service set --enable {name} nova-compute' for name in ('cmp-1', 'cmp-2')],
        ),
        ({'enabled_hosts': ['-cmp']}, ['compute service set --enable -- -cmp nova-compute']),
        (
            {'enabled_hosts': ['cmp-3', 'cmp-1', 'tree']},
            [
                'compute service set --enable cmp-1 nova-compute',
                trait_line('cmp-3'),
            ],
        ),
        (
            {'quotas': {'project_id': 'p', 'limits': {'ram': 7, 'metadata_items': 9}}},
            ['quota set --ram 7 --properties 9 p'],
        ),
        (
            {'quotas': {'project_id': 'p', 'limits': {'server_group_members': 9}}},
            ['quota set --server-group-members 9 p'],
        ),
        ({'quotas': {'project_id': None, 'limits': {'ram': 7}}}, []),
        ({'aggregate_hosts': {'aggregate': {'name': 'ssd', 'uuid': 'u'}, 'hosts': ['cmp-2']}}, []),
        ({'host_traits': {'traits': ['CUSTOM_A'], 'hosts': ['cmp-2']}}, []),
        (
            {'removed_extra_specs': ['trait:CUSTOM_A']},
            [
                'flavor create --vcpus 1 --ram 512 --disk 1 --ephemeral 0 --swap 0 '
                """--property 'a b=c'"'"'' m1.x-2"""
            ],
        ),
        ({'removed_extra_specs': []}, []),
        ({'availability_zone': None, 'given_up': ['fence']}, []),
    ],
    ids=lambda value: '-'.join(value) or 'none' if isinstance(value, dict) else None,
)
def test_lines(data, lines):
    lines = (line if line.startswith('provider=') else f'openstack {line}' for line in lines)
    assert commands_of(data, *QUESTION.planned) == tuple(lines)


def test_a_flavor_is_shared_with_the_requesting_project():
    """Like the original flavor, it may be private."""
    big = flavor_of({'id': 'big', 'name': 'm1.x-2', 'vcpus': 2})
    known = replace(QUESTION.cloud, flavors=(FLAVOR, big))
    question = QUESTION.but(project_id='p', cloud=known)
    data = {'removed_extra_specs': ['a b']}
    (line,) = commands_of(data, *question.planned)
    assert line.endswith(' --property trait:CUSTOM_A=required --private --project p m1.x-3')
    (line,) = commands_of({'flavor': {'id': 'big', 'name': 'm1.x-2'}, **data}, *question.planned)
    assert '--vcpus 2' in line
    assert line.endswith(' m1.x-2-2')


def test_a_group_that_an_attach_creates_needs_no_command():
    new = ServerGroup(NOT_YET, 'web', 'anti-affinity')
    question = QUESTION.but(server_group=new)
    assert commands_of(NEW_GROUP, *question.planned) == ()


@pytest.mark.parametrize('name', ['$(reboot)', "a'; reboot; '", '--os-token', 'a\nb', '`x`', '"'])
def test_a_name_is_one_word(name):
    (line,) = commands_of({'enabled_hosts': [name]}, *QUESTION.planned)
    begin = ['openstack', 'compute', 'service', 'set', '--enable']
    words = [*begin, *(['--'] if name[0] == '-' else []), name, 'nova-compute']
    assert shlex.split(line) == words


@pytest.mark.parametrize(
    'data',
    [
        {'enabled_hosts': ['cmp-1']},
        {'quotas': {'project_id': 'p', 'limits': {'ram': 7}}},
        {'removed_extra_specs': ['trait:CUSTOM_A']},
    ],
    ids=lambda data: next(iter(data)),
)
def test_a_user_who_lists_no_hosts_gets_no_command_of_an_administrator(data):
    tenant = QUESTION.but(cloud=replace(QUESTION.cloud, hosts=None))
    assert len(commands_of(data, *QUESTION.planned)) == 1
    assert commands_of(data, *tenant.planned) == ()
    (line,) = commands_of(NEW_GROUP, *tenant.planned)
    assert ' server group create ' in line
