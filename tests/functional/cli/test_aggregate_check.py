"""``senlin-affinity aggregate check`` compares extra specs with aggregate metadata."""

import json

import pytest

FORCED = 'force_metadata_check=True'


def status_and_answer(run, *arguments):
    done = run('aggregate', 'check', '-f', 'json', *arguments)
    assert done.stderr == ''
    return done.returncode, json.loads(done.stdout)


def test_a_mismatch_is_rejected_with_a_reason(run):
    status, answer = status_and_answer(run, '--extra-spec', 'ssd=true', '--metadata', 'ssd=false')
    assert status == 3
    assert answer == {
        'outcome': 'REJECT',
        'code': 'aggregate_metadata.mismatch',
        'reason': 'the flavor requires ssd "true", but the metadata of the aggregate has "false"',
        'advice': 'change the extra spec or the metadata, or use hosts of another aggregate',
        'facts': {'key': 'ssd', 'asked': 'true', 'found': 'false', 'aggregates': 'the aggregate'},
    }


@pytest.mark.parametrize(
    ('words', 'status', 'code'),
    [
        ([], 0, 'nothing_asked'),
        (['--extra-spec', 'a=1'], 3, 'missing_key'),
        (['--extra-spec', 'a=1', '--aggregate', 'x'], 3, 'missing_key'),
        (['--metadata', 'a=1', FORCED], 3, 'forced_missing_key'),
        (['--metadata', 'a=1', '--metadata', FORCED], 3, 'forced_missing_key'),
        (['--extra-spec', 'a=1', 'b=2', '--extra-spec', 'c=3', '--metadata', 'a=1', 'b=2', 'c=3'],
         0, 'matches'),
        (['--extra-spec', 'a=>= 4', '--metadata', 'a=5'], 0, 'matches'),
        (['--extra-spec', 'a=', '--metadata', 'a='], 0, 'matches'),
        (['--extra-spec', 'other key=1', '--metadata', 'other key=1'], 0, 'matches'),
        (['--filter', 'nova', '--extra-spec', 'a=*', '--metadata', 'a=1'], 3, 'nova_mismatch'),
        (['--filter', 'ours', '--extra-spec', 'a=*', '--metadata', 'a=1'], 0, 'matches'),
    ],
    ids=lambda each: ' '.join(each) if isinstance(each, list) else None,
)  # fmt: skip
def test_options_determine_the_verdict(run, words, status, code):
    found, answer = status_and_answer(run, *words)
    assert (found, answer['code']) == (status, f'aggregate_metadata.{code}')


def test_an_invalid_value_of_the_reserved_key_is_a_warning(run):
    """Q0-3."""
    done = run('aggregate', 'check', '--metadata', 'a=1', 'force_metadata_check=maybe')
    assert done.returncode == 0
    assert 'aggregate_metadata.nothing_asked' in done.stdout
    assert done.stderr == (
        "WARNING senlin_affinity.cli.aggregate: force_metadata_check is 'maybe' in the aggregate, "
        'which is not a boolean, so it has no effect\n'
    )


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['--extra-spec', 'a'], "--extra-spec: must be KEY=VALUE, not 'a'"),
        (['--metadata', '=1'], "--metadata: must be KEY=VALUE, not '=1'"),
        (['--extra-spec', 'a=1', 'a=2'], '--extra-spec: a is given twice'),
        (['--metadata', FORCED, FORCED], 'force_metadata_check is given twice: give it once'),
        (['--filter', 'both'], 'invalid choice'),
        (['word'], 'unrecognized arguments: word'),
    ],
    ids=lambda each: ' '.join(each) if isinstance(each, list) else None,
)
def test_a_usage_error_exits_with_2(run, words, says):
    done = run('aggregate', 'check', *words)
    assert (done.returncode, done.stdout) == (2, '')
    assert says in done.stderr
    assert 'Traceback' not in done.stderr


def snapshot(**parts):
    aggregates = [
        {'uuid': 'a1', 'name': 'fast', 'metadata': {'ssd': 'true'}},
        {'uuid': 'a2', 'name': 'slow', 'metadata': {'ssd': 'false'}},
    ]
    hosts = [
        {'host': 'cmp-1', 'hypervisor_hostname': 'cmp-1', 'aggregates': ['a1']},
        {'host': 'cmp-2', 'hypervisor_hostname': 'cmp-2', 'aggregates': ['a1']},
        {'host': 'cmp-3', 'hypervisor_hostname': 'cmp-3', 'aggregates': ['a2']},
    ]
    flavors = [
        {'id': str(number), 'name': name, 'vcpus': 1, 'ram': 1, 'disk': 1, 'extra_specs': specs}
        for number, (name, specs) in enumerate(
            [('plain', {}), ('same', {'ssd': 'true'}), ('any', {'ssd': '*'})]
        )
    ]
    whole = {'format': 1, 'aggregates': aggregates, 'hosts': hosts, 'flavors': flavors, **parts}
    return json.dumps({key: value for key, value in whole.items() if value is not None})


def test_a_diff_groups_the_hosts_on_which_the_filters_differ(run, write):
    """Nova's filter compares ``*`` literally."""
    write('cloud.json', snapshot())
    done = run('aggregate', 'diff', '--snapshot', 'cloud.json', '-f', 'json')
    assert (done.returncode, done.stderr) == (3, '')
    rows = json.loads(done.stdout)
    assert [(row['Flavor'], row['Hosts'], row['AggregateInstanceTypeFilter']) for row in rows] == [
        ('any', ['cmp-1', 'cmp-2'], 'passes'), ('any', ['cmp-3'], 'passes'),
    ]  # fmt: skip
    assert all('ssd' in row["Nova's filter"] for row in rows)


def test_a_diff_finds_a_flavor_without_extra_specs_and_the_metadata_of_a_zone(run, write):
    """A forced aggregate rejects plain flavors; Nova stores a zone as metadata."""
    aggregates = [
        {'uuid': 'a1', 'name': 'vip', 'metadata': {'force_metadata_check': 'true', 'vip': '1'}},
        {'uuid': 'a2', 'name': 'az', 'availability_zone': 'az-1'},
    ]
    of_zone = {'id': '9', 'name': 'zone', 'vcpus': 1, 'ram': 1, 'disk': 1}
    of_zone['extra_specs'] = {'availability_zone': '<or> az-1 <or> ~'}
    plain = {'id': '8', 'name': 'plain', 'vcpus': 1, 'ram': 1, 'disk': 1}
    write('cloud.json', snapshot(aggregates=aggregates, flavors=[plain, of_zone]))
    done = run('aggregate', 'diff', '--snapshot', 'cloud.json', '-f', 'json')
    rows = {(row['Flavor'], *row['Hosts']): row["Nova's filter"] for row in json.loads(done.stdout)}
    # Without the zone of cmp-3, "~" would differ: Nova's filter does not know it.
    assert rows == {('plain', 'cmp-1', 'cmp-2'): 'passes'}


def test_a_diff_without_differences_is_0_and_without_hosts_1(run, write):
    write('same.json', snapshot(flavors=[]))
    done = run('aggregate', 'diff', '--snapshot', 'same.json', '-f', 'json')
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    write('none.json', snapshot(hosts=None))
    done = run('aggregate', 'diff', '--snapshot', 'none.json')
    assert done.returncode == 1
    assert done.stderr == 'error: the hosts are unknown: the snapshot does not contain them\n'
