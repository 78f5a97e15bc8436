"""``senlin-affinity policy validate`` without a cloud."""

import json
import textwrap

import pytest

from senlin_affinity.conf import files
from tests.support import command

SPEC = """\
type: senlin.policy.affinity
version: '1.1'
properties:
  servergroup: {name: web, rules: {max_server_per_host: 3}}
  availability_zone: nova_1
"""
PROFILE = """\
type: os.nova.server
version: '1.0'
properties: {flavor: m1.tiny, scheduler_hints: {group: XYZ-ABCD}}
"""


INDENTED = textwrap.indent(SPEC, '    ')
CONTAINS = 'contains the spec: write only its content (type, version, properties) into the file\n'


def test_a_valid_spec_is_summarized_as_json(run, write):
    done = run('policy', 'validate', '-f', 'json', write('spec.yaml', SPEC))
    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout) == {
        'spec': 'senlin.policy.affinity 1.1: valid',
        'server group': 'web',
        'policy': 'anti-affinity',
        'rules': 'max_server_per_host: 3',
        'availability zone': 'nova_1',
        'DRS extension': 'off',
        'extra specs': 'permissive',
        'member_of': '(any aggregates)',
        'spread': '(none)',
        'hosts': "chosen by Nova's scheduler",
        'in the cloud': 'not checked (no --os-cloud)',
    }


def test_member_of_is_summarized(run, write):
    spec = SPEC.replace('availability_zone: nova_1', 'member_of: ["in:a,b", "!c"]')
    done = run('policy', 'validate', '-f', 'json', write('spec.yaml', spec))
    assert (done.returncode, done.stderr) == (0, '')
    shown = json.loads(done.stdout)
    assert (shown['member_of'], shown['hosts']) == ('in:a,b and !c', 'chosen by the policy')


def test_spreads_are_summarized(run, write):
    spreads = 'spread: [{by: availability_zone}, {by: rack, max_per_domain: 4, mode: soft}]'
    path = write('spec.yaml', SPEC.replace('availability_zone: nova_1', spreads))
    shown = json.loads(run('policy', 'validate', '-f', 'json', path).stdout)
    assert shown['spread'] == (
        'availability_zone (max_skew 1) and rack (max_skew 1, max_per_domain 4, soft)'
    )
    assert shown['hosts'] == 'chosen by the policy'
    assert shown['note'] == 'a server cannot leave the zone that the policy chooses for it'
    profile = write('profile.yaml', PROFILE.replace('{', '{availability_zone: nova, ', 1))
    done = run('policy', 'validate', path, '--profile', profile)
    assert done.returncode == 3
    assert done.stderr.startswith('error: profile.yaml: properties.availability_zone: the profile')


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (SPEC.replace('3', '0'), 'properties.servergroup.rules.max_server_per_host: must be an'),
        (SPEC.replace('1.1', '1.0'), 'properties.servergroup.rules: needs'),
        (SPEC.replace('servergroup', 'servergruop'), 'servergroup?'),
        (SPEC.replace('availability_zone: nova_1', 'member_of: ["in:a,!b"]'), '.member_of[0]: '),
        ('', 'must be a mapping'),
        ('- a\n- b\n', 'must be a mapping'),
        ('a: b\nc: [1, 2\nd: e\n', 'is not valid YAML in line 3, column 2'),
        ('a: !!python/object:os.system {}\n', 'is not valid YAML in line 1'),
        ('a: 2026-13-45\n', 'is not valid YAML'),
        (f'a: {"9" * 5000}\n', 'is not valid YAML'),
        (b'a: \xff\n', 'is not UTF-8 text'),
        ('[' * 5000, 'is not valid YAML'),
        (SPEC + '  servergroup: {}\n', ": duplicate key 'servergroup'"),
        ('{"format": 1, "hosts": []}', 'spec.yaml: is a snapshot of a cloud, not a spec\n'),
        (f'name: x\ntype: senlin.policy.affinity-1.1\nspec:\n{INDENTED}', f'spec: {CONTAINS}'),
        (f'type: x-1.1\nspec: {json.dumps(json.dumps({"properties": {}}))}', f'spec: {CONTAINS}'),
        (f'policy:\n  name: x\n  spec:\n{INDENTED}', f'policy.spec: {CONTAINS}'),
        (f'policy:\n{INDENTED}', f'policy: {CONTAINS}'),
        (
            SPEC.replace('affinity\n', 'affinity-1.1\n'),
            'type: must not contain the version: write type: senlin.policy.affinity and '
            "version: '1.1'\n",
        ),
    ],
    ids=['a wrong value', '1.0', 'a wrong key', 'member_of', 'empty', 'a list', 'no YAML', 'a tag',
         'no date', 'a long number', 'no UTF-8', 'nested too deep', 'a duplicate key',
         'a snapshot', 'a response', 'a response as text', 'a request', 'a wrapped spec',
         'a type with a version'],
)  # fmt: skip
def test_an_invalid_spec_is_one_line(run, write, text, words):
    """R3-05: one line on stderr with the file and the position, nothing on stdout."""
    done = run('policy', 'validate', '-f', 'json', write('spec.yaml', text))
    command.check_refused(done, 'error: spec.yaml: ', 3)
    assert words in done.stderr


def test_all_mistakes_of_both_files_are_listed(run, write):
    text = SPEC.replace('name: web', 'name: 7, policy: x').replace('3', '0')
    profile = PROFILE.replace('XYZ-ABCD', '[a, b]')
    paths = (write('spec.yaml', text), '--profile', write('profile.yaml', profile))
    done = run('policy', 'validate', *paths)
    assert (done.returncode, done.stdout) == (3, '')
    assert [line.rpartition(': must')[0] or line for line in done.stderr.splitlines()] == [
        'error: spec.yaml: properties.servergroup.name',
        'error: spec.yaml: properties.servergroup.policy: unknown key: did you mean policies?',
        'error: spec.yaml: properties.servergroup.rules.max_server_per_host',
        'error: profile.yaml: properties.scheduler_hints.group',
    ]


def test_all_mistakes_of_a_profile_are_listed(run, write):
    spread = 'spread: [{by: availability_zone}]'
    spec = write('spec.yaml', SPEC.replace('availability_zone: nova_1', spread))
    profile = PROFILE.replace('{flavor', '{availability_zone: nova, flavor')
    profile = write('profile.yaml', profile.replace('XYZ-ABCD', '[a, b]'))
    done = run('policy', 'validate', spec, '--profile', profile)
    assert done.returncode == 3
    assert [line.split(': ')[2] for line in done.stderr.splitlines()] == [
        'properties.availability_zone',
        'properties.scheduler_hints.group',
    ]


@pytest.mark.parametrize(
    ('overrides', 'message'),
    [
        ({}, 'could not log in at http://127.0.0.1:9/v3: Connection refused'),
        ({'OS_PASSWORD': ''}, 'could not log in at http://127.0.0.1:9/v3: the password is missing'),
        ({'OS_CLOUD': ''}, 'could not log in at http://127.0.0.1:9/v3: Connection refused'),
        ({'OS_AUTH_URL': 'nonsense'}, 'could not log in at nonsense: auth_url must be a URL such'),
        ({'OS_AUTH_URL': 'http://[::1'}, 'could not log in at http://[::1: auth_url must be a URL'),
        ({'OS_AUTH_TYPE': 'nonsense'}, 'could not connect to the cloud: '),
    ],
)
def test_a_failed_authentication_is_one_line(run, write, overrides, message):
    """The error is one line, without library warnings before it."""
    done = run('policy', 'validate', write('spec.yaml', SPEC), **command.NO_CLOUD | overrides)
    command.check_refused(done, f'error: {message}', 1)


def test_warnings_of_libraries_are_shown_with_v(run, write):
    done = run('-v', 'policy', 'validate', write('spec.yaml', SPEC), **command.NO_CLOUD)
    assert 'WARNING keystoneauth' in done.stderr


@pytest.mark.parametrize(
    'path', sorted(files.example('policies').glob('*.yaml')), ids=lambda path: path.name
)
def test_the_installed_examples_are_valid(run, path):
    done = run('policy', 'validate', str(path))
    assert (done.returncode, done.stderr) == (0, '')


def test_the_group_hint_of_the_profile_is_used(run, write):
    """The group of the hint is the one that an attach uses (Q3-2)."""
    arguments = (write('spec.yaml', SPEC.replace('name: web, ', '')), '--profile')
    done = run('policy', 'validate', '-f', 'json', *arguments, write('profile.yaml', PROFILE))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['server group'] == 'XYZ-ABCD'


def test_a_wrapped_profile_has_the_same_hint(run, write):
    profile = 'profile:\n  spec:\n' + textwrap.indent(PROFILE, '    ')
    paths = (write('spec.yaml', SPEC), '--profile', write('profile.yaml', profile))
    done = run('policy', 'validate', *paths)
    command.check_refused(done, f'error: profile.yaml: profile.spec: {CONTAINS}', 3)


@pytest.mark.parametrize(
    'text', ['spec: 7', 'spec: words', 'spec: {a: 1}', 'policy: [1]', 'spec: {spec: {}}']
)
def test_a_mapping_without_a_spec_is_not_a_wrapped_spec(run, write, text):
    done = run('policy', 'validate', write('spec.yaml', text))
    assert done.returncode == 3
    assert 'contains the spec' not in done.stderr
    assert 'error: spec.yaml: type: is missing: write type: senlin.policy.affinity' in done.stderr


OLD = "type: senlin.policy.affinity\nversion: '1.0'\nproperties: {}\n"
EITHER = "Senlin's own policy, or senlin-affinity if senlin.conf has [affinity] serve_version_1_0"


@pytest.mark.parametrize(
    ('text', 'serves'),
    [
        (None, EITHER),
        (
            '[affinity]\nserve_version_1_0 = true\n',
            'senlin-affinity ([affinity] serve_version_1_0)',
        ),
        ('[affinity]\nserve_version_1_0 = false\n', "Senlin's own policy"),
        ('', "Senlin's own policy"),
    ],
)
def test_q3_7_a_spec_1_0_names_the_class_that_serves_it(run, write, text, serves):
    config = () if text is None else ('--config-file', write('senlin.conf', text))
    done = run('policy', 'validate', '-f', 'json', write('spec.yaml', OLD), *config)
    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout)['served by'] == serves
    done = run('policy', 'validate', '-f', 'json', write('spec.yaml', SPEC), *config)
    assert 'served by' not in json.loads(done.stdout)


def test_an_invalid_senlin_conf_is_one_line(run, write):
    config = write('senlin.conf', '[affinity]\nserve_version_1_0 = perhaps\n')
    done = run('policy', 'validate', write('spec.yaml', OLD), '--config-file', config)
    command.check_refused(done, 'error: senlin.conf: ', 3)
    assert 'perhaps' in done.stderr
