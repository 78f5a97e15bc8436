"""Record the data of the current version in a real Senlin: ``python -m tests.upgrade.record``.

Run this once for each release. It starts the sandbox's Nova and Senlin, creates a cluster for each
kind of binding, and writes a folder named after the version: the wheel, the rows of Senlin's
database (``senlin.sql``), and the clusters with their server groups (``clusters.json``).
``tests/engine/test_upgrade.py`` loads each folder into the current code.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.support.cloud_fixtures import DRS_HOST, HOSTS, Tenant, Truth
from tests.support.sandbox import SandboxCloud

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: The tables that a policy reads, in the order of their foreign keys.
TABLES = ('profile', 'policy', 'cluster', 'node', 'cluster_policy')
ZONES = {
    'cmp-1': {'availability_zone': 'az-1'},
    'cmp-2': {'availability_zone': 'az-2'},
    DRS_HOST: {**HOSTS[DRS_HOST], 'disabled': False},
}


def main() -> None:
    """Write the folder of the current version."""
    folder = HERE / metadata.version('senlin-affinity').partition('+')[0]
    folder.mkdir(exist_ok=True)
    with SandboxCloud(ZONES, senlin=True) as cloud:
        clusters = dict(_clusters(cloud))
        groups = [_group(cloud, group) for group in sorted(_groups_of(clusters))]
        rows = '\n'.join(_rows(cloud.log_dir / 'senlin.sqlite')) + '\n'
    recorded = json.dumps({'clusters': clusters, 'groups': groups}, indent=1, sort_keys=True)
    (folder / 'clusters.json').write_text(f'{recorded}\n', encoding='utf-8')
    (folder / 'senlin.sql').write_text(rows, encoding='utf-8')
    _build_wheel(folder)


def _clusters(cloud: SandboxCloud) -> Iterator[tuple[str, dict[str, Any]]]:
    """Create the clusters, each with one live server; yield their names and their data."""
    demo, admin = Tenant(cloud.connection('demo')), Tenant(cloud.connection('admin'))
    truth = Truth(cloud.connection('admin'))
    rules = {'max_server_per_host': 3}

    def made(
        user: Tenant, *, is_owner: bool, profile: str | None = None, **properties: Any
    ) -> dict[str, Any]:
        cluster, policy, group = user.bound(user.policy(**properties), profile=profile)
        user.scale_out(cluster, 1).succeeded()
        assert len(truth.members(group)), f'no server joined server group {group}'
        return {'cluster': cluster, 'policy': policy, 'group': group, 'is_owner': is_owner}

    yield 'a group of its own', made(demo, is_owner=True, servergroup={'rules': rules})
    yield 'a named group, created', made(demo, is_owner=True, servergroup={'name': 'web'})
    yield 'the same group, inherited', made(demo, is_owner=False, servergroup={'name': 'web'})
    demo.create_group('theirs')
    yield 'a group of the user', made(demo, is_owner=False, servergroup={'name': 'theirs'})
    hint = demo.profile(scheduler_hints={'group': demo.create_group('hinted')})
    yield 'a group of the profile', made(demo, is_owner=False, profile=hint)
    yield 'kept at detach', made(demo, is_owner=True, servergroup={'on_detach': 'keep'})
    yield 'spread over zones', made(demo, is_owner=True, spread=[{'by': 'availability_zone'}])
    yield 'pinned', made(admin, is_owner=True, pin_hosts=True)
    yield 'DRS', made(admin, is_owner=True, enable_drs_extension=True)
    kept = made(demo, is_owner=True, servergroup={'on_detach': 'keep'})
    demo.detach(kept['cluster'], kept['policy']).succeeded()
    yield 'detached, its group kept', {**kept, 'is_detached': True}
    cloud.restart_senlin({'affinity': {'serve_version_1_0': True}})
    old, policy, group = demo.bound(demo.policy('1.0', servergroup={'policies': 'anti-affinity'}))
    demo.scale_out(old, 1).succeeded()
    yield 'version 1.0', {'cluster': old, 'policy': policy, 'group': group, 'is_owner': True}


def _groups_of(clusters: dict[str, dict[str, Any]]) -> set[str]:
    return {cluster['group'] for cluster in clusters.values()}


def _group(cloud: SandboxCloud, group: str) -> dict[str, Any]:
    """Return a server group, with the hosts of its members."""
    truth = Truth(cloud.connection('admin'))
    found = truth.group_by_id(group)
    members = {server: truth.server(server).compute_host for server in sorted(truth.members(group))}
    return {
        'id': group,
        'name': found.name,
        'policy': found.policy,
        'rules': found.rules or {},
        'project_id': found.project_id,
        'user_id': found.user_id,
        'members': members,
    }


def _rows(path: Path) -> Iterator[str]:
    """Yield an INSERT statement, with the names of its columns, for each row of the tables.

    The context of a profile is omitted, because it contains a password.
    """
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        for table in TABLES:
            for found in database.execute(f'SELECT * FROM {table} ORDER BY rowid'):
                row = {**dict(found), **({'context': '{}'} if table == 'profile' else {})}
                columns = [name for name in row if row[name] is not None]
                quoted = database.execute(
                    f'SELECT {", ".join(["quote(?)"] * len(columns))}',
                    [row[name] for name in columns],
                ).fetchone()
                names = ', '.join(f'"{name}"' for name in columns)
                yield f'INSERT INTO {table} ({names}) VALUES ({", ".join(quoted)});'


def _build_wheel(folder: Path) -> None:
    """Build the wheel from an export of the last commit, so that it contains no other files."""
    with tempfile.TemporaryDirectory() as export:
        archive = subprocess.run(
            ['git', 'archive', 'HEAD'], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(['tar', '-x', '-C', export], input=archive.stdout, check=True)
        pip = (sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation')
        subprocess.run([*pip, '--wheel-dir', str(folder), export], check=True)


if __name__ == '__main__':
    main()
