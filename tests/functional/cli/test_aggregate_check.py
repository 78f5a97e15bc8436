"""``senlin-affinity aggregate check``: both sides from words, the verdict with its reason."""

import json

import pytest

FORCED = 'force_metadata_check=True'


def checked(run, *arguments):
    done = run('aggregate', 'check', '-f', 'json', *arguments)
    assert done.stderr == ''
    return done.returncode, json.loads(done.stdout)


def test_it_passes(run):
    """R0-09."""
    status, answer = checked(run, '--extra-spec', 'ssd=<or> true <or> ~', '--metadata', 'ssd=true')
    assert status == 0
    assert answer == {
        'outcome': 'PASS',
        'code': 'aggregate_metadata.matches',
        'reason': 'the extra specs and the metadata of the aggregates agree (mode: normal)',
        'advice': '',
        'facts': {'mode': 'normal'},
    }


def test_it_does_not(run):
    status, answer = checked(run, '--extra-spec', 'ssd=true', '--metadata', 'ssd=false')
    assert status == 3
    assert answer == {
        'outcome': 'REJECT',
        'code': 'aggregate_metadata.mismatch',
        'reason': 'the flavor asks for ssd "true", the metadata of the aggregate is "false"',
        'advice': 'change the extra spec or the metadata, or use hosts of another aggregate',
        'facts': {'key': 'ssd', 'asked': 'true', 'found': 'false', 'aggregates': 'the aggregate'},
    }


@pytest.mark.parametrize(
    ('words', 'status', 'code'),
    [
        pytest.param([], 0, 'nothing_asked', id='nothing'),
        pytest.param(['--extra-spec', 'a=1'], 3, 'missing_key', id='no aggregate'),
        pytest.param(['--extra-spec', 'a=1', '--aggregate', 'x'], 3, 'missing_key', id='empty'),
        pytest.param(['--metadata', 'a=1', FORCED], 3, 'forced_missing_key', id='forced'),
        pytest.param(
            ['--metadata', 'a=1', '--metadata', FORCED], 3, 'forced_missing_key', id='repeated'
        ),
        pytest.param(
            [
                '--extra-spec',
                'a=1',
                'b=2',
                '--extra-spec',
                'c=3',
                '--metadata',
                'a=1',
                'b=2',
                'c=3',
            ],
            0,
            'matches',
            id='several words',
        ),
        pytest.param(
            ['--extra-spec', 'a=>= 4', '--metadata', 'a=5'], 0, 'matches', id='an operator'
        ),
        pytest.param(
            ['--extra-spec', 'a=== 5', '--metadata', 'a=5.0'], 0, 'matches', id='another operator'
        ),
        pytest.param(['--extra-spec', 'a=', '--metadata', 'a='], 0, 'matches', id='empty values'),
        pytest.param(
            ['--extra-spec', 'other key=1', '--metadata', 'other key=1'], 0, 'matches', id='a blank'
        ),
        pytest.param(
            ['--filter', 'nova', '--extra-spec', 'a=*', '--metadata', 'a=1'],
            3,
            'nova_mismatch',
            id="Nova's filter",
        ),
        pytest.param(
            ['--filter', 'ours', '--extra-spec', 'a=*', '--metadata', 'a=1'],
            0,
            'matches',
            id='ours',
        ),
    ],
)
def test_words(run, words, status, code):
    found, answer = checked(run, *words)
    assert (found, answer['code']) == (status, f'aggregate_metadata.{code}')


def test_several_aggregates(run):
    """R0-18: each has its own metadata, and its name is in the reason."""
    words = ['--extra-spec', 'a=3', '--metadata', 'b=1']
    for name, value in (('fast', 'a=1'), ('slow', 'a=2')):
        words += ['--aggregate', name, '--metadata', value]
    status, answer = checked(run, *words)
    assert status == 3
    facts = {'key': 'a', 'asked': '3', 'found': '1, 2', 'aggregates': 'fast, slow'}
    assert answer['facts'] == facts
    assert checked(run, *words, 'c=1', 'force_metadata_check=no')[1]['facts'] == facts


def test_an_illegal_value_is_an_answer(run):
    """R0-12, Q0-5."""
    status, answer = checked(run, '--extra-spec', 'a=<or> ! <or> 1', '--metadata', 'a=1')
    assert (status, answer['code']) == (3, 'aggregate_metadata.illegal')


def test_what_does_not_force_is_warned_of(run):
    """Q0-3."""
    done = run('aggregate', 'check', '--metadata', 'a=1', 'force_metadata_check=maybe')
    assert done.returncode == 0
    assert 'aggregate_metadata.nothing_asked' in done.stdout
    assert done.stderr == (
        "WARNING senlin_affinity.cli.aggregate: force_metadata_check is 'maybe' in the aggregate, "
        'which is no boolean: it does not force\n'
    )


@pytest.mark.parametrize('mine', [['a=1', 'a=2'], ['a=1', '--metadata', 'a=2']])
@pytest.mark.parametrize('value', ['1', '2'])
@pytest.mark.parametrize('rule', ['ours', 'nova'])
def test_a_key_that_is_given_twice_has_two_values(run, mine, value, rule):
    """R0-18."""
    words = ('--extra-spec', f'a={value}', '--filter', rule, '--metadata', *mine)
    done = run('aggregate', 'check', *words)
    assert (done.returncode, done.stderr) == (0, '')
    assert run('aggregate', 'check', *words, '--extra-spec', 'b=1').returncode == 3


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        pytest.param(
            ['--extra-spec', 'a'], "--extra-spec: must be KEY=VALUE, not 'a'", id='no equals sign'
        ),
        pytest.param(['--metadata', '=1'], "--metadata: must be KEY=VALUE, not '=1'", id='no key'),
        pytest.param(['--extra-spec', 'a=1', 'a=2'], '--extra-spec: a is given twice', id='twice'),
        pytest.param(
            ['--metadata', 'force_metadata_check=True', 'force_metadata_check=True'],
            'force_metadata_check is given twice: it is True or False',
            id='forced twice',
        ),
        pytest.param(['--filter', 'both'], 'invalid choice', id='another filter'),
        pytest.param(['word'], 'unrecognized arguments: word', id='a word too many'),
    ],
)
def test_usage(run, words, says):
    done = run('aggregate', 'check', *words)
    assert (done.returncode, done.stdout) == (2, '')
    assert says in done.stderr
    assert 'Traceback' not in done.stderr
