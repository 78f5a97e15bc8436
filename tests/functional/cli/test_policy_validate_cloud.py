"""``senlin-affinity policy validate`` with a cloud."""

import json

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeFlavor, FakeNova

FLAVORS = (
    FakeFlavor('1', 'm1.good', {'hw:cpu_policy': 'shared'}),
    FakeFlavor('2', 'm1.odd', {'foo': 'bar'}),
    FakeFlavor('3', 'm1.bad', {'hw:cpu_policy': 'x', 'hw:numa_nodes': '0'}),
)


@pytest.fixture
def validate(run, write):
    """Return a function that validates a spec with this mode and a profile with this flavor."""
    with HttpCloud(FakeNova(flavors=FLAVORS)) as cloud:

        def run_command(flavor, mode, refused=None, **properties):
            cloud.refused = refused
            spec = {'type': 'senlin.policy.affinity', 'version': '1.1'}
            spec['properties'] = {'extra_specs': mode, **properties}
            profile = {'type': 'os.nova.server', 'version': '1.0', 'properties': {'flavor': flavor}}
            write('spec.json', json.dumps(spec))
            write('profile.json', json.dumps(profile))
            options = ('spec.json', '--profile', 'profile.json', '-f', 'json')
            return run('policy', 'validate', *options, **cloud.environment)

        yield run_command


@pytest.mark.parametrize(
    ('flavor', 'mode', 'note'),
    [
        ('m1.good', 'strict', ''),
        ('m1.odd', 'permissive', "; flavor 'm1.odd': foo: no extra spec of this name is known"),
        ('m1.bad', 'off', ''),
        ('none', 'permissive',
         "; the flavor 'none' of the profile does not exist: its extra specs are not checked"),
    ],
)  # fmt: skip
def test_a_valid_policy_is_summarized(validate, flavor, mode, note):
    """R4-07 to R4-09."""
    done = validate(flavor, mode)
    assert (done.returncode, done.stderr) == (0, '')
    facts = json.loads(done.stdout)
    assert facts['extra specs'] == mode
    assert facts['in the cloud'] == f'an attach creates the server group{note}'


@pytest.mark.parametrize(
    ('flavor', 'mode', 'words'),
    [
        ('m1.odd', 'strict', ["flavor 'm1.odd': foo: "]),
        ('m1.bad', 'permissive', ['hw:cpu_policy: must be one of', 'hw:numa_nodes: must be']),
        ('none', 'strict', ["properties.flavor: the flavor 'none' of the profile does not exist"]),
    ],
)
def test_an_invalid_flavor_is_rejected(validate, flavor, mode, words):
    """R4-07, R4-08: every mistake is listed."""
    done = validate(flavor, mode)
    assert (done.returncode, done.stdout) == (3, '')
    assert all(each in done.stderr for each in words)
    assert done.stderr.count('\n') == 1


def test_everything_missing_in_the_cloud_is_listed(validate):
    group = {'name': '10000000-0000-4000-8000-000000000001'}
    more = {'availability_zone': 'gone', 'member_of': ['in:one', 'two'], 'servergroup': group}
    done = validate('none', 'strict', **more)
    assert (done.returncode, done.stdout) == (3, '')
    assert [line.split(': ')[1] for line in done.stderr.splitlines()] == [
        'properties.availability_zone',
        'properties.flavor',
        'properties.member_of[0]',
        'properties.member_of[1]',
        'properties.servergroup',
    ]


def test_a_mistake_is_reported_although_the_aggregates_cannot_be_listed(validate):
    more = {'refused': 'GET /compute/v2.1/os-aggregates', 'member_of': ['one']}
    assert validate('none', 'off', **more).returncode == 1
    done = validate('none', 'off', availability_zone='gone', **more)
    assert done.returncode == 3
    assert done.stderr == (
        "error: properties.availability_zone: The specified availability_zone 'gone' could not be "
        'found.\n'
    )


@pytest.mark.parametrize(
    ('properties', 'feature'),
    [
        ({'pin_hosts': True}, 'pin_hosts'),
        ({'member_of': ['ssd']}, 'member_of'),
        ({'spread': [{'by': 'rack'}]}, 'a spread by rack'),
        ({'enable_drs_extension': True}, 'enable_drs_extension'),
    ],
)
@pytest.mark.parametrize('user', ['demo', 'admin'])
def test_a_tenant_may_not_choose_hosts(run, write, properties, feature, user):
    """An attach rejects it as well; an administrator may choose hosts."""
    spec = {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': properties}
    write('spec.json', json.dumps(spec))
    with HttpCloud(FakeNova(), user=user) as cloud:
        done = run('policy', 'validate', 'spec.json', **cloud.environment)
    words = (
        f'properties: for {feature}, the policy must choose the host of every node, but Nova does'
    )
    assert (words in done.stderr) == (user == 'demo')
    assert user == 'admin' or (done.returncode, done.stdout) == (3, '')
