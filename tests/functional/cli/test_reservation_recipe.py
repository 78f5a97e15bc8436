"""``senlin-affinity reservation recipe``: what it prints for which aggregates.

That a real Nova keeps to it is in ``tests/engine/test_story_reservations.py``.
"""

import json
import os
import subprocess

import pytest

POOL, MINE = 'aaaaaaaa-0000-0000-0000-000000000001', 'aaaaaaaa-0000-0000-0000-000000000002'
CLOUD = {
    'format': 1,
    'taken_at': '2026-11-21T14:07:29Z',
    'hosts': [
        {'host': 'cmp-1', 'hypervisor_hostname': 'cmp-1.example.com', 'aggregates': [POOL]},
        {'host': 'cmp-2', 'hypervisor_hostname': 'a host', 'aggregates': [MINE]},
        {'host': 'cmp-3', 'hypervisor_hostname': 'cmp-3', 'aggregates': [MINE, POOL]},
        {'host': 'cmp-4', 'hypervisor_hostname': 'cmp-4', 'aggregates': []},
    ],
    'aggregates': [
        {'uuid': POOL, 'name': 'pool'},
        {'uuid': MINE, 'name': 'gold (rack 1)'},
        {'uuid': POOL.replace('1', '3'), 'name': '$金'},
    ],
    'flavors': [{'id': '1', 'name': 'm1.tiny', 'vcpus': 1, 'ram': 64, 'disk': 1}],
}


@pytest.fixture
def recipe(run, write):
    def run_recipe(*words, cloud=CLOUD):
        write('cloud.json', json.dumps(cloud))
        return run('reservation', 'recipe', '--snapshot', 'cloud.json', *words)

    return run_recipe


def test_one_aggregate_and_who_may_use_it(recipe):
    done = recipe('gold (rack 1)', '--flavor', 'm1.tiny', '--image', 'my image')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.splitlines() == [
        '# Keeps aggregates for servers that require CUSTOM_RESERVED_GOLD_RACK_1, where nova.conf '
        'says so',
        '# on all hosts of nova-scheduler: [scheduler] enable_isolated_aggregate_filtering = true',
        '(',
        'set -e',
        'export OS_PLACEMENT_API_VERSION=1.6',
        'openstack trait create CUSTOM_RESERVED_GOLD_RACK_1',
        "for host in 'a host' cmp-3; do",
        '    provider=$(openstack resource provider list --name "$host" -f value -c uuid)',
        '    traits=$(openstack resource provider trait list "$provider" -f value)',
        '    openstack resource provider trait set "$provider" '
        '--trait CUSTOM_RESERVED_GOLD_RACK_1 \\',
        "        $(echo \"$traits\" | sed '/^CUSTOM_RESERVED_GOLD_RACK_1$/d; s/^./--trait &/')",
        'done',
        "openstack aggregate set --property trait:CUSTOM_RESERVED_GOLD_RACK_1=required "
        "'gold (rack 1)'",
        'openstack flavor set --property trait:CUSTOM_RESERVED_GOLD_RACK_1=required m1.tiny',
        "openstack image set --property trait:CUSTOM_RESERVED_GOLD_RACK_1=required 'my image'",
        ')',
    ]  # fmt: skip


def test_several_aggregates_share_a_trait(recipe):
    done = recipe(MINE.upper(), 'pool', '--trait', 'CUSTOM_GOLD')
    assert "for host in 'a host' cmp-1.example.com cmp-3; do\n" in done.stdout
    assert done.stdout.endswith(
        "openstack aggregate set --property trait:CUSTOM_GOLD=required 'gold (rack 1)'\n"
        'openstack aggregate set --property trait:CUSTOM_GOLD=required pool\n)\n'
    )


def test_an_aggregate_without_hosts(recipe):
    done = recipe('$金', '--trait', f'CUSTOM_{"A" * 248}')
    assert '# There is no host in it yet. Run these commands again when there is.\n' in done.stdout
    assert 'resource provider' not in done.stdout
    assert done.stdout.endswith("=required '$金'\n)\n")


#: Writes down what it is asked for, and fails where that begins with the words of $FAILING.
CLIENT = """#!/bin/sh
echo "$*" >> asked
case "$*" in "$FAILING"*) exit 1;; esac
"""


@pytest.mark.parametrize(
    'failing',
    [
        'trait create',
        'resource provider list --name cmp-3',
        'resource provider trait list',
        'resource provider trait set',
    ],
)
def test_nothing_runs_after_a_command_that_failed(recipe, tmp_path, failing):
    """An aggregate that is kept for a trait which a host of it lacks keeps everybody off it."""
    client = tmp_path / 'openstack'
    client.write_text(CLIENT)
    client.chmod(0o700)
    lines, path = recipe('pool').stdout, f'{tmp_path}:{os.environ["PATH"]}'
    for words, last, status in ((failing, failing, 1), ('nothing', 'aggregate set', 0)):
        shell = {'PATH': path, 'FAILING': words}
        done = subprocess.run(['sh'], input=lines, cwd=tmp_path, env=shell, text=True)
        assert done.returncode == status
        assert (tmp_path / 'asked').read_text().splitlines()[-1].startswith(last)


@pytest.mark.parametrize(
    ('words', 'status', 'says'),
    [
        (['poool'], 2, "there is no aggregate 'poool': did you mean pool?"),
        (['$金'], 2, "--trait: give one, since '$金' has no letters for it"),
        (['pool', '--trait', 'HW_CPU'], 2, '--trait: must be CUSTOM_ and capitals, digits or _, '),
        (['pool', '--trait', f'CUSTOM_{"A" * 249}'], 2, '--trait: must be CUSTOM_'),
        (['pool', '--trait', 'CUSTOM_'], 2, '--trait: must be CUSTOM_'),
        (['pool', '--flavor', 'm1.tyni'], 2, "there is no flavor 'm1.tyni': did you mean m1.tiny?"),
    ],
)
def test_what_is_refused(recipe, words, status, says):
    done = recipe(*words)
    assert (done.returncode, done.stdout) == (status, '')
    assert done.stderr.startswith(f'error: {says}')


@pytest.mark.parametrize('part', ['hosts', 'aggregates'])
def test_nobody_knows_which_hosts(recipe, part):
    done = recipe('pool', cloud={**CLOUD, part: None})
    assert (done.returncode, done.stdout) == (1, '')
    assert f'the {part} are not known: the snapshot does not have them' in done.stderr


def test_no_cloud(run):
    done = run('reservation', 'recipe', 'pool')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == 'error: name a cloud with --os-cloud, or a file with --snapshot\n'
