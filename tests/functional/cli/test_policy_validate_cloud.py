"""``senlin-affinity policy validate`` with a cloud: the flavor of the profile."""

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
    """``validate('m1.good', 'strict')``: what the command made of such a profile and spec."""
    with HttpCloud(FakeNova(flavors=FLAVORS)) as cloud:

        def run_command(flavor, mode):
            spec = {'type': 'senlin.policy.affinity', 'version': '1.1'}
            spec['properties'] = {'extra_specs': mode}
            profile = {'type': 'os.nova.server', 'version': '1.0', 'properties': {'flavor': flavor}}
            write('spec.json', json.dumps(spec))
            write('profile.json', json.dumps(profile))
            options = ('spec.json', '--profile', 'profile.json', '-f', 'json')
            return run('policy', 'validate', *options, **cloud.environment)

        yield run_command


@pytest.mark.parametrize(
    ('flavor', 'mode', 'said'),
    [
        ('m1.good', 'strict', ''),
        ('m1.odd', 'permissive', "; flavor 'm1.odd': foo: no extra spec of this name is known"),
        ('m1.bad', 'off', ''),
        ('none', 'permissive',
         "; the flavor 'none' of the profile is not there: its extra specs are not checked"),
    ],
)  # fmt: skip
def test_valid(validate, flavor, mode, said):
    """R4-07 to R4-09."""
    done = validate(flavor, mode)
    assert (done.returncode, done.stderr) == (0, '')
    facts = json.loads(done.stdout)
    assert facts['extra specs'] == mode
    assert facts['in the cloud'] == f'an attach creates the server group{said}'


@pytest.mark.parametrize(
    ('flavor', 'mode', 'words'),
    [
        ('m1.odd', 'strict', ["flavor 'm1.odd': foo: "]),
        ('m1.bad', 'permissive', ['hw:cpu_policy: must be one of', 'hw:numa_nodes: must be']),
        ('none', 'strict', ["properties.flavor: the flavor 'none' of the profile is not there"]),
    ],
)
def test_invalid(validate, flavor, mode, words):
    """R4-07, R4-08: all that is wrong."""
    done = validate(flavor, mode)
    assert (done.returncode, done.stdout) == (3, '')
    assert all(each in done.stderr for each in words)
    assert done.stderr.count('\n') == 1
