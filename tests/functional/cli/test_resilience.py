"""``senlin-affinity resilience``: the rows of a snapshot, its exit statuses, and its errors."""

import csv
import json

import pytest

from tests.functional.cli.test_host_drain import CLOUD, host, server

RACKS = [f'5bbcc3c4-1da2-4437-a48a-00000000000{number}' for number in (1, 2)]
AGGREGATES = [
    {'uuid': uuid, 'name': f'rack-{number}', 'metadata': {'rack': f'r{number}'}}
    for number, uuid in enumerate(RACKS, 1)
]


def cloud(*, free=8, **servers):
    """Return two racks; the first has cmp-1, the second cmp-2 and cmp-3."""
    hosts = [host('cmp-1', 4, aggregates=[RACKS[0]])]
    hosts += [host(name, free, aggregates=[RACKS[1]]) for name in ('cmp-2', 'cmp-3')]
    own = {'cmp-1': [server('web-1'), server('web-2')], 'cmp-2': [], 'cmp-3': []}
    return CLOUD | {'hosts': hosts, 'aggregates': AGGREGATES, 'servers_by_host': own | servers}


@pytest.fixture
def resilience(run, write):
    """Return a function that runs the command on a cloud."""

    def run_resilience(given, *arguments):
        name = write('cloud.json', json.dumps(given))
        return run('resilience', *arguments, '--snapshot', name, COLUMNS='100')

    return run_resilience


def test_all_hosts_can_be_lost(resilience):
    done = resilience(cloud())
    assert (done.returncode, done.stderr) == (0, '')
    assert [line.split('|')[4].strip() for line in done.stdout.splitlines() if 'cmp-' in line] == [
        'any_host'
    ] * 3
    assert 'of 3 domains (host), 3 can be lost\n' in done.stdout
    assert 'any_host: can be lost, whichever hosts Nova picks\n' in done.stdout


def test_racks_as_json(resilience):
    done = resilience(cloud(free=2), '--by', 'rack', '-f', 'json')
    first, second = json.loads(done.stdout)
    assert (first['domain'], first['hosts'], first['servers']) == ('r1', 1, 2)
    assert (first['verdict'], second['verdict']) == ('any_host', 'any_host')


def test_what_is_missing(resilience):
    done = resilience(cloud(free=1), '-f', 'json')
    assert done.returncode == 3
    (row,) = (each for each in json.loads(done.stdout) if each['domain'] == 'cmp-1')
    assert (row['verdict'], row['left']) == ('cannot', 2)
    assert [each['code'] for each in row['missing']][-1:] == ['more_hosts']
    assert [each['name'] for each in row['left_servers']] == ['web-1', 'web-2']
    assert row['why'].startswith('web-1: ')
    assert row['missing'][-1]['text'] == '1 more host like cmp-1'
    assert '1 more host like' in resilience(cloud(free=1)).stdout


def test_a_server_that_nova_does_not_evacuate(resilience):
    done = resilience(cloud(**{'cmp-1': [server('old', status='PAUSED')]}), '-f', 'json')
    assert done.returncode == 3
    row = json.loads(done.stdout)[0]
    assert (row['verdict'], row['left'], row['missing']) == ('cannot', 1, [])
    assert 'PAUSED' in row['why']


def test_csv_has_the_codes(resilience):
    rows = [*csv.DictReader(resilience(cloud(), '-f', 'csv').stdout.splitlines())]
    assert (rows[0]['domain'], rows[0]['verdict']) == ('cmp-1', 'any_host')


def test_what_the_servers_hide_is_not_certain(resilience):
    done = resilience(cloud(**{'cmp-1': [server('web-1', unknown=['hints'])]}))
    assert done.returncode == 4
    assert 'at_most' in done.stdout
    assert 'at most, because of the scheduler hints of the server' in done.stdout


def test_an_unknown_key(resilience):
    done = resilience(cloud(), '--by', 'rak')
    assert done.returncode == 2
    assert "no aggregate has the metadata key 'rak'" in done.stderr


def test_a_snapshot_without_servers(resilience):
    given = cloud()
    del given['servers_by_host']['cmp-2']
    done = resilience(given)
    assert done.returncode == 1
    assert 'snapshot save --servers' in ' '.join(done.stderr.split())
