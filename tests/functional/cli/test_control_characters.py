"""No command prints a control character, or a line, that somebody else has written."""

import json
from importlib.metadata import entry_points

import pytest

from senlin_affinity.cli import main
from senlin_affinity.model.terminal_text import is_plain
from tests.functional.cli.test_group import OWN, Senlin, cluster, policy
from tests.support import command
from tests.support.fake_nova import FakeHost, FakeNova

FORGED = 'error: forged'
HOSTILE = f'x\x1b[31m\r\u202e\x9b\n{FORGED}\n\udce9'
ENTRY_POINTS = {each.name: each for each in entry_points(group='senlin_affinity.cli')}
#: What a command needs beside one hostile argument.
NEEDED = {
    'group_delete': ['--orphans'],
    'extra-spec_export': ['--format', 'rst'],
    'image-property_export': ['--format', 'rst'],
    'plan': ['--flavor', 'x'],
}


def check(done):
    for text in (done.stdout, done.stderr):
        lines = text.split('\n')
        assert [line for line in lines if not is_plain(line)] == []
        assert FORGED not in lines


def cases():
    for name, entry_point in sorted(ENTRY_POINTS.items()):
        words = name.replace('_', ' ')
        parser = entry_point.load()(main.SenlinAffinity(), None).get_parser(words)
        yield pytest.param(name, ['--no\x1b[31m\u202e'], id=f'{name} unknown option')
        for option in parser._actions:
            if option.nargs == 0 or option.dest in ('help', 'output', 'output_dir'):
                continue
            value = f'{HOSTILE}={HOSTILE}'
            given = f'{option.option_strings[-1]}={value}' if option.option_strings else value
            yield pytest.param(name, [given], id=f'{name} {option.dest}')


@pytest.mark.parametrize(('name', 'given'), cases())
def test_an_argument_is_escaped(run, name, given):
    needed = [] if given[0].startswith('--flavor') else NEEDED.get(name, [])
    if name == 'exporter':  # it ends if the cloud is not defined
        needed = ['--cloud', 'nowhere']
    if given[0].startswith('--format='):
        needed = []
    check(run(*name.split('_'), *needed, *given, **command.NO_CLOUD))


@pytest.mark.parametrize(
    'words', [(HOSTILE,), ('group', HOSTILE), ('help', HOSTILE), ('--x' + HOSTILE,)]
)
def test_an_unknown_command_is_escaped(run, words):
    done = run(*words)
    assert done.returncode == 2
    check(done)


@pytest.mark.parametrize('kind', ['extra-spec', 'image-property'])
def test_names_and_values_are_escaped_in_a_table_only(run, kind):
    specs = [f'{HOSTILE}={HOSTILE}', f'hw:cpu_policy={HOSTILE}', f'hw_vif_model={HOSTILE}']
    check(run(kind, 'validate', *specs))
    rows = json.loads(run(kind, 'validate', *specs, '-f', 'json').stdout)
    assert (rows[0]['name'], rows[0]['value']) == (HOSTILE, HOSTILE)


SHOWN = HOSTILE.replace('\udce9', '')
CLOUD = {
    'hosts': [
        {
            'host': f'{SHOWN}{n}', 'hypervisor_hostname': SHOWN, 'availability_zone': SHOWN,
            'enabled': n > 0, 'disabled_reason': SHOWN, 'aggregates': ['u'], 'traits': [],
            'resources': {'VCPU': {'capacity': 4, 'used': 0}, SHOWN: {'capacity': 4, 'used': 0}},
        }
        for n in range(2)
    ],
    'aggregates': [{'uuid': 'u', 'name': SHOWN, 'metadata': {SHOWN: SHOWN}}],
    'flavors': [
        {'id': '1', 'name': SHOWN, 'vcpus': 1, 'ram': 0, 'disk': 0,
         'extra_specs': {SHOWN: SHOWN, f'trait:CUSTOM_{SHOWN}': 'required'}},
    ],
    'server_groups': [{'id': 'g', 'name': SHOWN, 'policy': 'anti-affinity', 'members': []}],
    'quotas': {'instances': {'limit': 20, 'used': 1}},
}  # fmt: skip


@pytest.mark.parametrize(
    'words',
    [
        ('plan', '--flavor', SHOWN, '--count', '3', '--server-group', SHOWN),
        ('plan', '--flavor', SHOWN, '--count', '3', '--long', '--availability-zone', SHOWN),
        ('plan', '--flavor', SHOWN, '--count', '1', '--member-of', SHOWN),
        ('plan', '--flavor', SHOWN, '--enabled-filters', SHOWN, '-c', 'line', '-c', 'hosts'),
        ('aggregate', 'diff'),
    ],
    ids=lambda words: ' '.join(word for word in words if word != SHOWN),
)
def test_names_of_a_snapshot_are_escaped(run, write, words):
    write('cloud.json', json.dumps(CLOUD))
    check(run(*words, '--snapshot', 'cloud.json'))


@pytest.mark.parametrize('head', ['senlin.policy.affinity', HOSTILE])
def test_names_of_a_spec_are_escaped(run, write, head):
    spec = {'type': head, 'version': '1.1', 'properties': {SHOWN: 1, 'servergroup': {SHOWN: SHOWN}}}
    write('policy.json', json.dumps(spec))
    check(run('policy', 'validate', 'policy.json'))
    write('cloud.json', json.dumps(CLOUD))
    words = ('plan', '--snapshot', 'cloud.json', '--flavor', SHOWN)
    check(run(*words, '--policy', 'policy.json'))
    check(run(*words, '--profile', 'policy.json'))


def test_names_of_a_cloud_are_escaped():
    nova = FakeNova(hosts=(FakeHost('cmp-1'),))
    web = nova.add_group(SHOWN, **OWN)
    nova.boot(web, SHOWN, project=OWN['project_id'])
    nova.add_group(f'{SHOWN}2', **OWN)
    both = [cluster('c1', name=SHOWN)]
    with Senlin(nova, policies=[policy(f'{SHOWN}2')], clusters=both) as cloud:
        environment = {**command.NO_CLOUD, **cloud.environment}
        for words in (('list',), ('audit',), ('delete', '--orphans', '--dry-run')):
            check(command.run('group', *words, **environment))
        check(command.run('status', **environment))
