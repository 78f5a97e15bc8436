"""``senlin-affinity status`` reports rights, and the manual locks, of the real services."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.support import command, waiting

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture
def findings(senlin_cloud, tmp_path):
    """Return the objects of the findings of one check: ``findings(check, senlin.conf)``."""
    clouds = tmp_path / 'clouds.yaml'
    clouds.write_text(senlin_cloud.clouds_yaml())

    def ask(check, path):
        words = ('--os-cloud', 'sandbox', 'status', '-f', 'json', '--config-file', str(path))
        done = command.run(*words, folder=tmp_path, OS_CLIENT_CONFIG_FILE=str(clouds))
        rows = [row for row in json.loads(done.stdout) if row['Check'] == check]
        assert {row['State'] for row in rows} <= {'ok', 'finding'}, rows
        return [row['Object'] for row in rows if row['State'] == 'finding']

    return ask


@pytest.fixture
def senlin_conf(senlin_cloud):
    return senlin_cloud.log_dir / 'senlin.conf'


@pytest.mark.parametrize('is_of_a_node', [False, True], ids=['cluster', 'node'])
def test_the_manuals_query_finds_the_lock_of_a_finished_action(admin, senlin_conf, is_of_a_node):
    """For example, if Senlin's database failed when the action released its lock."""
    page = (ROOT / 'doc/source/howto/operations.rst').read_text()
    section = page.partition('\nLocks of ended actions\n===')[2]
    query = section.partition('::\n\n')[2].partition('\n\n')[0]
    cluster = admin.cluster()
    target = admin.node(cluster).id if is_of_a_node else cluster
    action = admin.action_of(target)
    database = senlin_conf.parent / 'senlin.sqlite'

    def execute(query, *values):
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection, connection:
            return connection.execute(query, values).fetchall()

    if is_of_a_node:
        execute('INSERT INTO node_lock VALUES (?, ?)', target, action)
    execute(
        'INSERT INTO cluster_lock VALUES (?, ?, ?)',
        cluster, json.dumps([action]), 1 if is_of_a_node else -1,
    )  # fmt: skip
    assert [row[0] for row in execute(query)] == [action]
    response = admin.clustering.patch(
        f'/actions/{action}?force=true', json={'action': {'status': 'CANCELLED'}},
        microversion='1.12',
    )  # fmt: skip
    assert response.status_code == 202, response.text
    waiting.until(lambda: not execute('SELECT * FROM cluster_lock'))
    assert execute(query) == []
    admin.scale_out(cluster, 1).succeeded()


@pytest.mark.parametrize(
    ('user', 'problems'),
    [
        ('senlin_affinity', []),
        ('nova', ['os_compute_api:servers:index']),
        ('demo', [
            'os_compute_api:os-hypervisors:list-detail', 'os_compute_api:os-services:list',
            'os_compute_api:os-aggregates:index', 'os_compute_api:os-migrations:index:all_projects',
            'os_compute_api:servers:index', 'placement:resource_providers:list',
            'placement:allocation_candidates:list',
        ]),
    ],
)  # fmt: skip
def test_missing_and_superfluous_rights_of_the_operator_credentials_are_reported(
    senlin_cloud, findings, tmp_path, user, problems
):
    login = {'auth_type': 'password', **senlin_cloud.auth(user)}
    path = tmp_path / 'senlin.conf'
    lines = [f'{name} = {value}' for name, value in login.items()]
    path.write_text('\n'.join(['[senlin_affinity_cloud]', *lines]))
    assert findings('credentials', path) == problems
