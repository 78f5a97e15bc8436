"""The definition of a cloud: valid keys, and errors."""

import json
from dataclasses import asdict
from pathlib import Path

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
    ImageSpec,
)
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.supervisor import Wanted

CLOUDS = Path(__file__).parents[3] / 'etc/senlin-affinity/clouds'


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
        images: {windows: {properties: {os_type: windows}}}
        default_availability_zone: az1
    """)
    assert Blueprint.from_dict(json.loads(json.dumps(asdict(blueprint)))) == blueprint


@pytest.mark.parametrize(
    ('text', 'path', 'words'),
    [
        ('hosts: 0', 'hosts', '1 to 1000 hosts'),
        ('hosts: true', 'hosts', 'a whole number, a list of names or a mapping'),
        ('hosts: [a, a]', 'hosts', '"a" occurs twice'),
        ('hosts: [a, [b]]', 'hosts', 'is not a name'),
        ('hosts: {1: {}}', 'hosts', '"1" is not a name'),
        ('hosts: {a: 3}', 'hosts.a', 'must be a mapping'),
        ('hosts: {a: {vcpu: 3}}', 'hosts.a.vcpu', 'did you mean "vcpus"?'),
        ('hosts: {a: {zzz: 3}}', 'hosts.a.zzz', 'choose from vcpus, memory_mb'),
        ('hosts: {a: {vcpus: -1}}', 'hosts.a.vcpus', 'a whole number from 0 to 2147483647'),
        ('hosts: {a: {vcpus: true}}', 'hosts.a.vcpus', 'a whole number'),
        ('hosts: {a: {vcpus: 1.5}}', 'hosts.a.vcpus', 'a whole number'),
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
        ('{hosts: 1, flavors: {x: {ram: 0}}}', 'flavors.x.ram', 'number from 1 to 2147483647'),
        ('{hosts: 1, flavors: {x: {id: 1}}}', 'flavors.x.id', 'write "1" in quotes'),
        ('{hosts: 1, quotas: {server_group: 1}}', 'quotas.server_group', '"server_groups"'),
        ('{hosts: 1, filters: ComputeFilter}', 'filters', 'a list of names'),
        ('{hosts: 1, available_filters: [1]}', 'available_filters', 'a string is required'),
        ('{hosts: 1, nova_options: [x]}', 'nova_options', 'must be a mapping'),
        ('{hosts: 1, senlin_options: {affinity: x}}', 'senlin_options.affinity', 'a mapping'),
        ('{hosts: 1, quotas: {cores: -2}}', 'quotas.cores', 'a whole number from -1 to 2147483647'),
        ('{hosts: {a: {availability_zone: az1}}, default_availability_zone: az2}',
         'default_availability_zone', 'no host is in the zone "az2"; did you mean "az1"?'),
        ('{hosts: 1, default_availability_zone: [az1]}', 'default_availability_zone', 'a string'),
        ('hosts: {a: {aggregates: {1: {}}}}', 'hosts.a.aggregates', '"1" is not a name'),
        ('hosts: {a: {inventory: {VCPU: {totl: 1}}}}', 'hosts.a.inventory.VCPU.totl',
         'did you mean "total"?'),
        ('hosts: {a: {inventory: {CUSTOM_A: {reserved: 1}}}}', 'hosts.a.inventory.CUSTOM_A.total',
         'is missing'),
        ('hosts: {a: {inventory: {VCPU: 1}}}', 'hosts.a.inventory.VCPU', 'must be a mapping'),
        ('{hosts: 1, images: {x: {name: y}}}', 'images.x.name', 'choose from min_disk'),
        ('{hosts: 1, images: {x: {properties: {status: killed}}}}', 'images.x.properties.status',
         'is an attribute of images, not a property'),
        ('{hosts: 1, images: {x: {properties: {hw_vif_multiqueue_enabled: true}}}}',
         'images.x.properties.hw_vif_multiqueue_enabled', 'write "True" in quotes'),
    ],
)  # fmt: skip
def test_errors_have_a_path(text, path, words):
    with pytest.raises(InvalidSpec) as caught:
        read(text)
    assert caught.value.path == path
    assert words in caught.value.message


HUGE = 10**99
RATIO = 'inventory.allocation_ratio'
#: A file in which one key of a section has the value VALUE, and the path of the key.
WITH_KEY = {
    'hosts': ('hosts: {a: {KEY: VALUE}}', 'hosts.a.KEY'),
    'inventory': ('hosts: {a: {inventory: {VCPU: {KEY: VALUE}}}}', 'hosts.a.inventory.VCPU.KEY'),
    'aggregates': ('{hosts: 1, aggregates: {x: {KEY: VALUE}}}', 'aggregates.x.KEY'),
    'flavors': ('{hosts: 1, flavors: {f: {KEY: VALUE}}}', 'flavors.f.KEY'),
    'images': ('{hosts: 1, images: {i: {KEY: VALUE}}}', 'images.i.KEY'),
    'quotas': ('{hosts: 1, quotas: {KEY: VALUE}}', 'quotas.KEY'),
}


def with_key(key):
    """Return the template of a file with this key, and the key's path in the file."""
    section, _, name = key.partition('.')
    text, path = WITH_KEY[section]
    return text.replace('KEY', name), path.replace('KEY', name)


@pytest.mark.parametrize('key', [*reader.LIMITS, RATIO])
def test_a_number_has_limits(key):
    text, path = with_key(key)
    smallest, largest = reader.LIMITS.get(key, (0, 3.40282e38))
    for number in (HUGE, -HUGE, smallest - 1, '.inf', '.nan', 'true'):
        with pytest.raises(InvalidSpec) as caught:
            read(text.replace('VALUE', str(number)))
        assert caught.value.path == path
        assert caught.value.message.endswith(f'number from {smallest} to {largest}')
    for number in (smallest, largest):
        assert read(text.replace('VALUE', str(number)))


@pytest.mark.parametrize(
    'key', [f'{section}.{key}' for section in WITH_KEY for key in reader.KEYS[section]]
)
def test_a_key_without_limits_takes_no_number(key):
    """The services check the numbers in nova_options and senlin_options."""
    text, path = with_key(key)
    is_number = key in reader.LIMITS or key == RATIO
    with pytest.raises(InvalidSpec) as caught:
        read(text.replace('VALUE', 'x' if is_number else '7'))
    assert caught.value.path == path


@pytest.mark.parametrize('hosts', [HUGE, 1001, -1, [f'h{n}' for n in range(1001)],
                                   {f'h{n}': {} for n in range(1001)}])  # fmt: skip
def test_too_many_hosts_are_rejected_before_they_are_created(hosts):
    with pytest.raises(InvalidSpec, match='^hosts: there must be 1 to 1000 hosts$'):
        reader.read(hosts)
    assert len(reader.read(1000).hosts) == 1000


def test_images_have_properties_and_cirros_may_have_some():
    images = read("""
        hosts: 1
        images:
          windows: {min_disk: 20, properties: {os_type: windows, 'trait:CUSTOM_WIN': required}}
          cirros: {properties: {hw_architecture: aarch64}}
    """).images
    properties = {'os_type': 'windows', 'trait:CUSTOM_WIN': 'required'}
    arm = ImageSpec('cirros', properties={'hw_architecture': 'aarch64'})
    assert images == (ImageSpec('windows', 20, properties=properties), arm)


@pytest.mark.parametrize('file', sorted(CLOUDS.glob('*.yaml')), ids=lambda file: file.stem)
def test_the_clouds_of_the_package_are_valid(file):
    reader.read(**reader.read_file(file))


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
