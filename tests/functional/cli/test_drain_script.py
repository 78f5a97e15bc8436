"""The script of ``host drain`` on a client that keeps the servers in files."""

import json
import os
import subprocess
import sys

import pytest

from senlin_affinity.cli import drain_script
from senlin_affinity.engine.drain import DrainPlan, Move, Stuck
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Verdict

#: An ``openstack`` whose servers are in the file of the environment variable CLOUD. The moves of
#: the servers in "lost" fail, those in "astray" end on cmp-9, those in "slow" do not end.
CLIENT = f"""#!{sys.executable}
import json, os, sys
path = os.environ['CLOUD']
cloud = json.load(open(path))
words = ' '.join(sys.argv[1:])
cloud['asked'].append(words)
servers = cloud['servers']
target = sys.argv[-1]
if 'server show' in words:
    status, task, host = servers[target][0]
    is_held = status == 'VERIFY_RESIZE' or target in cloud['slow']
    if len(servers[target]) > 1 and not is_held:
        del servers[target][0]
    print(f'os_ext_srv_attr_host="{{host}}"')
    print(f'os_ext_sts_task_state="{{task}}"')
    print(f'status="{{status}}"')
elif 'server migrate' in words:
    status, task, host = servers[target][0]
    to = sys.argv[sys.argv.index('--host') + 1]
    end = 'cmp-9' if target in cloud['astray'] else to
    end = [status, 'None', host if target in cloud['lost'] else end]
    if '--live-migration' in words:
        servers[target] = [['MIGRATING', 'migrating', host], end]
    else:
        resize = [] if target in cloud['lost'] else [['VERIFY_RESIZE', 'None', end[2]]]
        servers[target] = [['RESIZE', 'resize_prep', host], *resize, end]
elif 'migration confirm' in words:
    del servers[target][0]
elif 'server list' in words:
    host = sys.argv[sys.argv.index('--host') + 1]
    print('\\n'.join(name for name, states in servers.items() if states[-1][2] == host))
json.dump(cloud, open(path, 'w'))
"""
WEB, IDLE, KEPT = (
    Server(f'id-{name}', name, status, 'cmp-1')
    for name, status in (('web', 'ACTIVE'), ('idle', 'SHUTOFF'), ('kept', 'ACTIVE'))
)
LIVE, COLD = Move(WEB, 'live', 'cmp-2', 'cmp-2'), Move(IDLE, 'cold', 'cmp-3', 'cmp-3', 2)
STUCK = Stuck(
    KEPT,
    'live',
    Verdict.rejected('move.status', server='kept', status='PAUSED', accepted='ACTIVE'),
    'it is PAUSED',
)
DISABLE = 'compute service set --disable --disable-reason drained with senlin-affinity cmp-1 '


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the script of a plan; ``cloud`` changes what the client does."""

    def run_script(plan, timeout='50', maintenance='echo maintained', **cloud):
        client = tmp_path / 'openstack'
        client.write_text(CLIENT)
        client.chmod(0o755)
        plans = (*plan.batches, *plan.left) if isinstance(plan, RollingPlan) else (plan,)
        every = [each.server for one in plans for each in (*one.moves, *one.stuck)]
        servers = {each.id: [[each.status, 'None', each.host]] for each in every}
        state = {'servers': servers, 'asked': [], 'lost': [], 'astray': [], 'slow': []}
        file = tmp_path / 'cloud.json'
        servers.update(cloud.pop('servers', {}))
        file.write_text(json.dumps({**state, **cloud}))
        done = subprocess.run(
            ['bash', '-c', '\n'.join(drain_script.lines(plan, ('cmp-5',), 'lab'))],
            env={
                'PATH': f'{tmp_path}:{os.environ["PATH"]}',
                'CLOUD': str(file),
                'INTERVAL': '0.01',
                'TIMEOUT': timeout,
                'MAINTENANCE': maintenance,
                'SETTLE': '0',
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        run_script.asked = json.loads(file.read_text())['asked']
        return done

    return run_script


def plan(*moves, stuck=()):
    return DrainPlan(('cmp-1',), moves, stuck)


def test_all_servers_move(run):
    done = run(plan(LIVE, COLD))
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.splitlines() == [
        'wave 1 of 2',
        '  web is ACTIVE on cmp-2',
        'wave 2 of 2',
        '  idle is SHUTOFF on cmp-3',
        'no servers are left on cmp-1',
    ]
    assert run.asked[0] == f'{DISABLE}nova-compute'
    writes = [each for each in run.asked if 'show' not in each and 'list' not in each]
    assert writes[1:] == [
        '--os-compute-api-version 2.30 server migrate --live-migration --host cmp-2 id-web',
        '--os-compute-api-version 2.56 server migrate --host cmp-3 id-idle',
        'server migration confirm id-idle',
    ]


def test_a_stuck_server_stays(run):
    done = run(plan(LIVE, stuck=(STUCK,)))
    assert (done.returncode, done.stderr) == (3, 'kept (id-kept) is still on cmp-1\n')


@pytest.mark.parametrize(
    ('cloud', 'message'),
    [
        (
            {'servers': {'id-web': [['SHUTOFF', 'None', 'cmp-1']]}},
            'web (id-web) is SHUTOFF on cmp-1, not ACTIVE on cmp-1',
        ),
        (
            {'servers': {'id-web': [['ACTIVE', 'None', 'cmp-7']]}},
            'web (id-web) is ACTIVE on cmp-7, not ACTIVE on cmp-1',
        ),
        ({'lost': ['id-web']}, 'web (id-web) is ACTIVE on cmp-1, not ACTIVE on cmp-2'),
        ({'lost': ['id-idle']}, 'idle (id-idle) is SHUTOFF on cmp-1, not SHUTOFF on cmp-3'),
        ({'astray': ['id-idle']}, 'idle (id-idle) is on cmp-9, not on cmp-3'),
        (
            {'servers': {'id-new': [['ACTIVE', 'None', 'cmp-1']]}},
            'server id-new is on cmp-1, which is not in the plan',
        ),
    ],
)
def test_it_stops_at_the_first_difference(run, cloud, message):
    done = run(plan(LIVE, COLD), **cloud)
    assert (done.returncode, done.stderr) == (1, f'stopped: {message}\n')


def test_nothing_starts_after_a_difference(run):
    run(plan(LIVE, COLD), lost=['id-web'])
    assert not any('id-idle' in each for each in run.asked)


def test_a_move_that_does_not_end(run):
    done = run(plan(LIVE), slow=['id-web'], timeout='0')
    message = 'web (id-web) is MIGRATING on cmp-1 after 0 seconds'
    assert (done.returncode, done.stderr) == (1, f'stopped: {message}\n')


def test_a_name_is_quoted(run):
    name = "$(touch x); 'web' \x1b[31m"
    server = Server('id-web', name, 'ACTIVE', 'cmp-1')
    done = run(plan(Move(server, 'live', 'cmp-2', 'cmp-2')))
    assert done.returncode == 0
    assert "  $(touch x); 'web' ?[31m is ACTIVE on cmp-2\n" in done.stdout


def test_the_cloud_of_the_command_is_the_default():
    script = [*drain_script.lines(plan(LIVE), (), "my 'lab'")]
    assert """export OS_CLOUD=${OS_CLOUD:-'my '"'"'lab'"'"''}""" in script


def test_batches_wait_for_their_maintenance(run):
    """The second host is disabled already, and stays so."""
    batches = (plan(LIVE), DrainPlan(('cmp-5',)))
    stuck = Stuck(Server('id-6', 'six', 'ACTIVE', 'cmp-6'), 'live', STUCK.verdict, STUCK.reason)
    done = run(RollingPlan(1, batches, (DrainPlan(('cmp-6',), stuck=(stuck,)),)))
    assert (done.returncode, done.stderr) == (
        3,
        'cmp-6 is not emptied: 1 is stuck\n',
    )
    assert done.stdout.splitlines() == [
        'batch 1 of 2: cmp-1',
        'wave 1 of 1',
        '  web is ACTIVE on cmp-2',
        'no servers are left on cmp-1',
        'maintained cmp-1',
        'waiting 0 seconds until nova-scheduler sees the servers on their new hosts',
        'batch 2 of 2: cmp-5',
        'no servers are left on cmp-5',
        'maintained cmp-5',
    ]
    states = [each for each in run.asked if 'service set' in each]
    assert states == [
        f'{DISABLE}nova-compute',
        'compute service set --enable cmp-1 nova-compute',
    ]


def test_a_maintenance_that_fails_leaves_the_host_disabled(run):
    done = run(RollingPlan(1, (plan(LIVE),)), maintenance='false')
    assert (done.returncode, done.stderr) == (1, 'stopped: the maintenance of cmp-1 failed\n')
    assert not any('--enable' in each for each in run.asked)


def test_nobody_confirms_the_maintenance(run):
    done = run(RollingPlan(1, (plan(LIVE),)), maintenance='')
    assert done.returncode == 1
    assert 'nobody has confirmed the maintenance of cmp-1' in done.stderr
