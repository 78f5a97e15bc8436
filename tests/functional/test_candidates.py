"""What the real Placement admits for a policy's member_of, and for a reservation."""

import pytest

from senlin_affinity.cloud.connection import ports
from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.reservations import constrain
from senlin_affinity.policy import affinity, properties
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support import command

HOSTS = {
    'cmp-1': {},
    'cmp-2': {'hypervisor_hostname': 'domain-c7.b52f8d4c'},
    'win-1': {},
    'win-2': {},
}
AGGREGATES = {
    'rack-1': {'hosts': ['cmp-1', 'win-1']},
    'rack-2': {'hosts': ['cmp-2', 'win-2']},
    'windows': {'hosts': ['win-1', 'win-2'], 'metadata': {'licence:windows': 'true'}},
    'nobody': {},
}
ROOM = {'VCPU': 1, 'MEMORY_MB': 64, 'DISK_GB': 1}
OLD = '1.31'


@pytest.fixture(scope='module')
def running():
    with SandboxCloud(HOSTS, aggregates=AGGREGATES) as running:
        yield running


@pytest.fixture(scope='module')
def cloud(running):
    """What an administrator may ask."""
    return ports(running.connection())


@pytest.fixture(scope='module')
def old_cloud():
    """The same for a Placement that knows no forbidden aggregates."""
    racks = {'rack-1': {'hosts': ['cmp-1']}}
    with SandboxCloud(['cmp-1'], aggregates=racks, placement_max_version=OLD) as old:
        yield ports(old.connection())


def of_policy(cloud, values):
    """The spec's member_of, as an attach looks it up."""
    spec = {'type': properties.TYPE, 'version': '1.1', 'properties': {'member_of': values}}
    return affinity.member_of(properties.load(spec), cloud.inventory, cloud.candidates)


def names(cloud, member_of, room=ROOM):
    return sorted(cloud.candidates.admitted(room, member_of).values())


@pytest.mark.parametrize(
    ('values', 'left'),
    [
        (['!windows'], ['cmp-1', 'domain-c7.b52f8d4c']),
        (['rack-1'], ['cmp-1', 'win-1']),
        (['in:rack-1,rack-2'], ['cmp-1', 'domain-c7.b52f8d4c', 'win-1', 'win-2']),
        (['in:rack-1,rack-2', 'windows'], ['win-1', 'win-2']),
        (['rack-1', '!windows'], ['cmp-1']),
        (['!in:rack-1,windows'], ['domain-c7.b52f8d4c']),
        (['windows', '!windows'], []),
        (['nobody'], []),
        (['!nobody'], ['cmp-1', 'domain-c7.b52f8d4c', 'win-1', 'win-2']),
    ],
    ids=str,
)
def test_placement_leaves_out_what_the_policy_forbids(cloud, values, left):
    """R1-01 to R1-05, R1-15, R1-16, R1-42."""
    assert names(cloud, of_policy(cloud, values)) == left


def test_no_constraint_and_no_room(cloud):
    assert len(names(cloud, MemberOf())) == len(HOSTS)
    assert names(cloud, MemberOf(), {'VCPU': 10_000}) == []


@pytest.mark.parametrize(
    ('keys', 'left'),
    [
        ([], ['cmp-1', 'domain-c7.b52f8d4c']),
        (['os_distro'], ['cmp-1', 'domain-c7.b52f8d4c']),
        (['licence:windows'], ['win-1', 'win-2']),
    ],
)
def test_r1_31_r1_32_licensed_hosts_are_kept_free(cloud, keys, left):
    member_of = constrain(
        keys,
        cloud.inventory.aggregates(),
        required_prefix='licence:',
        forbidden_prefixes=['licence:'],
    )
    assert names(cloud, member_of) == left


def test_the_command_looks_the_aggregates_up(running, tmp_path):
    def validate(member_of):
        path = tmp_path / 'spec.yaml'
        path.write_text(f'{{type: senlin.policy.affinity, version: "1.1", {member_of}}}')
        words = ['--os-cloud', 'sandbox', 'policy', 'validate', '-f', 'value', str(path)]
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds), 'HOME': str(tmp_path)}
        return command.run(*words, **environment)

    clouds = tmp_path / 'clouds.yaml'
    clouds.write_text(running.clouds_yaml(), encoding='utf-8')
    done = validate('properties: {member_of: ["!windows"]}')
    assert (done.returncode, done.stderr) == (0, '')
    assert 'the aggregates exist; an attach creates the server group' in done.stdout
    done = validate('properties: {member_of: ["!window"]}')
    assert (done.returncode, done.stdout) == (3, '')
    assert done.stderr.startswith("error: properties.member_of[0]: no aggregate has the name 'wi")


def test_a_plain_user_is_told_so(running):
    demo = ports(running.connection('demo'))
    with pytest.raises(CloudError, match='could not list the aggregates: Nova answered 403'):
        of_policy(demo, ['!windows'])
    with pytest.raises(CloudError, match='could not ask Placement .*: Placement answered 403'):
        names(demo, MemberOf())


def test_rx_08_r1_42_an_older_placement_is_refused(old_cloud):
    """With the version that it has; what is only required it takes."""
    with pytest.raises(InvalidSpec) as caught:
        of_policy(old_cloud, ['!rack-1'])
    assert str(caught.value) == (
        'properties.member_of: forbidden aggregates need Placement microversion 1.32, '
        f'this cloud offers {OLD}: take the values with ! out, or use a newer cloud'
    )
    assert names(old_cloud, of_policy(old_cloud, ['rack-1'])) == ['cmp-1']
