"""What the real Nova and Placement say of the aggregates in a policy's member_of."""

import pytest

from senlin_affinity.cloud import eyes
from senlin_affinity.cloud.connection import ports
from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.policy import affinity, properties
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support import command

WINDOWS = {'windows': {'hosts': ['cmp-1']}}
OLD = '1.31'


@pytest.fixture(scope='module')
def running():
    """A Placement that knows no forbidden aggregates."""
    with SandboxCloud(['cmp-1'], aggregates=WINDOWS, placement_max_version=OLD) as running:
        yield running


def of_policy(cloud, values):
    """The spec's member_of, as an attach looks it up."""
    spec = {'type': properties.TYPE, 'version': '1.1', 'properties': {'member_of': values}}
    return affinity.member_of(properties.load(spec), cloud.inventory, cloud.candidates)


def test_the_command_looks_the_aggregates_up(running, tmp_path):
    def validate(member_of):
        path = tmp_path / 'spec.yaml'
        path.write_text(f'{{type: senlin.policy.affinity, version: "1.1", {member_of}}}')
        words = ['--os-cloud', 'sandbox', 'policy', 'validate', '-f', 'value', str(path)]
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds), 'HOME': str(tmp_path)}
        return command.run(*words, **environment)

    clouds = tmp_path / 'clouds.yaml'
    clouds.write_text(running.clouds_yaml(), encoding='utf-8')
    done = validate('properties: {member_of: ["windows"]}')
    assert (done.returncode, done.stderr) == (0, '')
    assert 'the aggregates exist; an attach creates the server group' in done.stdout
    done = validate('properties: {member_of: ["window"]}')
    assert (done.returncode, done.stdout) == (3, '')
    assert done.stderr.startswith("error: properties.member_of[0]: no aggregate has the name 'wi")


def test_a_plain_user_is_told_so(running):
    with pytest.raises(CloudError, match='could not list the aggregates: Nova answered 403'):
        of_policy(ports(eyes.of(running.connection('demo'))), ['!windows'])


def test_rx_08_r1_42_an_older_placement_is_refused(running):
    """With the version that it has; what is only required it takes."""
    cloud = ports(eyes.of(running.connection()))
    with pytest.raises(InvalidSpec) as caught:
        of_policy(cloud, ['!windows'])
    assert str(caught.value) == (
        'properties.member_of: forbidden aggregates need Placement microversion 1.32, '
        f'this cloud offers {OLD}: take the values with ! out, or use a newer cloud'
    )
    (uuid,) = (aggregate.uuid for aggregate in cloud.inventory.aggregates())
    assert of_policy(cloud, ['windows']).to_query() == [uuid]
