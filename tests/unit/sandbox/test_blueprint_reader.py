"""The definition of a cloud: valid keys, and errors."""

import json
from dataclasses import asdict

import pytest
import yaml

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.sandbox import blueprint_reader as reader
from senlin_affinity.sandbox import nova_process
from senlin_affinity.sandbox.blueprint import (
    OPERATOR,
    AggregateSpec,
    Blueprint,
    FlavorSpec,
    HostSpec,
)
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.supervisor import Wanted


def read(text):
    """Read the text of a file like SandboxCloud."""
    return reader.read(**yaml.safe_load(text))


@pytest.mark.parametrize(
    'text',
    ['hosts: 2', 'hosts: [cmp-1, cmp-2]', 'hosts: {cmp-1: {}, cmp-2: }'],
    ids=['a number', 'names', 'a mapping'],
)
def test_the_formats_of_hosts_are_equivalent(text):
    assert read(text).hosts == (HostSpec('cmp-1'), HostSpec('cmp-2'))


def test_a_host_has_its_own_size_and_names():
    (host,) = read("""
        hosts:
          drs-1: {vcpus: 8, memory_mb: 4096, disk_gb: 0, disabled: true,
                  hypervisor_hostname: domain-c7.b52f, hypervisor_type: VMware vCenter Server}
    """).hosts
    names = ('domain-c7.b52f', 'VMware vCenter Server')
    assert host == HostSpec('drs-1', 8, 4096, 0, *names, disabled=True)


@pytest.mark.parametrize(
    ('text', 'aggregate'),
    [
        pytest.param('hosts: {a: {availability_zone: az1}, b: {availability_zone: nova}, c: {}}',
            AggregateSpec('az1', ('a',), 'az1'), id='a zone becomes one but not the default zone'),
        pytest.param(
            '{hosts: {a: {availability_zone: az1}, b: {}}, aggregates:'
            " {first: {availability_zone: az1, hosts: [b], metadata: {ssd: 'true'}}}}",
            AggregateSpec('first', ('b', 'a'), 'az1', {'ssd': 'true'}),
            id='a host joins the one that has its zone',
        ),
        pytest.param(
            "{hosts: {a: {aggregates: {ssd: {ssd: 'true'}}}, b: {aggregates: {ssd: {n: 'y'}}}},"
            ' aggregates: {ssd: {metadata: {owner: me}}}}',
            AggregateSpec('ssd', ('a', 'b'), None, {'owner': 'me', 'ssd': 'true', 'n': 'y'}),
            id='hosts name them too',
        ),
    ],
)  # fmt: skip
def test_aggregates(text, aggregate):
    assert read(text).all_aggregates() == (aggregate,)


def test_flavors_and_quotas():
    blueprint = read("""
        hosts: 1
        flavors: {small: {vcpus: 2, ram: 512, disk: 0, id: '7', extra_specs: {'a:b': 'c'}}}
        quotas: {server_groups: 10}
    """)
    assert blueprint.flavors == (FlavorSpec('small', 2, 512, 0, '7', {'a:b': 'c'}),)
    assert blueprint.quotas['server_groups'] == 10
    assert blueprint.quotas['instances'] == -1


def test_a_blueprint_is_passed_to_child_processes_unchanged():
    blueprint = read("""
        hosts: {a: {availability_zone: az1}, b: {aggregates: {ssd: {ssd: 'true'}}}}
        flavors: {small: {extra_specs: {'a:b': 'c'}}}
        default_availability_zone: az1
    """)
    assert Blueprint.from_dict(json.loads(json.dumps(asdict(blueprint)))) == blueprint


@pytest.mark.parametrize(
    ('text', 'path', 'words'),
    [
        ('hosts: 0', 'hosts', 'at least one host'),
        ('hosts: true', 'hosts', 'a number, a list of names or a mapping'),
        ('hosts: [a, a]', 'hosts', '"a" occurs twice'),
        ('hosts: [a, [b]]', 'hosts', 'is not a name'),
        ('hosts: {1: {}}', 'hosts', '"1" is not a name'),
        ('hosts: {a: 3}', 'hosts.a', 'must be a mapping'),
        ('hosts: {a: {vcpu: 3}}', 'hosts.a.vcpu', 'did you mean "vcpus"?'),
        ('hosts: {a: {zzz: 3}}', 'hosts.a.zzz', 'choose from vcpus, memory_mb'),
        ('hosts: {a: {vcpus: 0}}', 'hosts.a.vcpus', 'a whole number of 1 or more'),
        ('hosts: {a: {vcpus: true}}', 'hosts.a.vcpus', 'a whole number of 1 or more'),
        ('hosts: {a: {vcpus: 1.5}}', 'hosts.a.vcpus', 'a whole number of 1 or more'),
        ('hosts: {a: {disabled: 1}}', 'hosts.a.disabled', 'true or false'),
        ('hosts: {a: {availability_zone: 1}}', 'hosts.a.availability_zone', 'write "1" in quotes'),
        ('hosts: {a: {aggregates: [x]}}', 'hosts.a.aggregates', 'must be a mapping'),
        ('hosts: {a: {aggregates: {x: {ssd: true}}}}', 'hosts.a.aggregates.x.ssd',
         'write "True" in quotes'),
        ('hosts: {a: {hypervisor_hostname: b}, b: {}}', 'hosts.b.hypervisor_hostname',
         '"b" is the hypervisor of a already'),
        ('{hosts: 1, aggregates: {x: {hots: []}}}', 'aggregates.x.hots', 'did you mean "hosts"?'),
        ('{hosts: 1, aggregates: {x: {hosts: cmp-1}}}', 'aggregates.x.hosts', 'a list of names'),
        ('{hosts: 1, aggregates: {x: {hosts: [cmp-2]}}}', 'aggregates.x.hosts',
         'no host "cmp-2"; did you mean "cmp-1"?'),
        ('{hosts: 1, aggregates: {x: {metadata: {availability_zone: az1}}}}',
         'aggregates.x.metadata.availability_zone', 'set the key availability_zone'),
        (
            '{hosts: {a: {availability_zone: az1}},'
            ' aggregates: {x: {hosts: [a], availability_zone: az2}}}',
            'hosts.a.availability_zone',
            'are in two zones, "az2" and "az1"',
        ),
        (
            '{hosts: {a: {availability_zone: nova}},'
            ' aggregates: {x: {hosts: [a], availability_zone: az2}}}',
            'hosts.a.availability_zone',
            'must be the zone of its aggregate, "az2"',
        ),
        ('{hosts: 1, flavors: {x: {memory: 1}}}', 'flavors.x.memory', 'choose from vcpus, ram'),
        ('{hosts: 1, flavors: {x: {ram: 0}}}', 'flavors.x.ram', 'a whole number of 1 or more'),
        ('{hosts: 1, flavors: {x: {id: 1}}}', 'flavors.x.id', 'write "1" in quotes'),
        ('{hosts: 1, quotas: {server_group: 1}}', 'quotas.server_group', '"server_groups"'),
        ('{hosts: 1, filters: ComputeFilter}', 'filters', 'a list of names'),
        ('{hosts: 1, available_filters: [1]}', 'available_filters', 'a string is required'),
        ('{hosts: 1, nova_options: [x]}', 'nova_options', 'must be a mapping'),
        ('{hosts: 1, senlin_options: {affinity: x}}', 'senlin_options.affinity', 'a mapping'),
        ('{hosts: 1, quotas: {cores: -2}}', 'quotas.cores', 'a whole number of -1 or more'),
        ('{hosts: {a: {availability_zone: az1}}, default_availability_zone: az2}',
         'default_availability_zone', 'no host is in the zone "az2"; did you mean "az1"?'),
    ],
)  # fmt: skip
def test_errors_have_a_path(text, path, words):
    with pytest.raises(InvalidSpec) as caught:
        read(text)
    assert caught.value.path == path
    assert words in caught.value.message


def test_the_services_of_a_blueprint():
    made = read("""
        hosts: 1
        filters: [ComputeFilter, Mine]
        available_filters: [a.b.Mine]
        api_filters: ['egg:a#b']
        nova_options: {scheduler: {max_placement_results: 3}, DEFAULT: }
        senlin_options:
    """)
    assert (made.filters, made.available_filters) == (('ComputeFilter', 'Mine'), ('a.b.Mine',))
    assert made.api_filters == ('egg:a#b',)
    assert made.nova_options == {'scheduler': {'max_placement_results': 3}, 'DEFAULT': {}}
    assert made.senlin_options == {}


def test_a_file_adds_to_the_options_of_the_engine(tmp_path):
    """The file overrides the caller's options."""
    file = tmp_path / 'cloud.yaml'
    own = 'senlin_options: {affinity: {preflight: warn}, senlin_affinity_cloud: {}}'
    file.write_text(f'{{hosts: 1, {own}}}')
    given = {'affinity': {'preflight': 'off', 'request_timeout': 9}, **OPERATOR}
    made = SandboxCloud.from_file(file, senlin_options=given)._blueprint.senlin_options
    assert made == {'affinity': {'preflight': 'warn', 'request_timeout': 9}, **OPERATOR}


@pytest.mark.parametrize(
    ('wanted', 'options'), [(Wanted(), OPERATOR), (Wanted(operator=False), {})]
)
def test_the_policy_of_sandbox_up_has_operator_credentials(wanted, options):
    assert wanted.made(print)._blueprint.senlin_options == options
    assert SandboxCloud(1)._blueprint.senlin_options == {}


def test_a_paste_file_with_another_format():
    with pytest.raises(LookupError, match='no pipeline'):
        nova_process.with_filters('[pipeline:x]\n', ('egg:a#b',))
