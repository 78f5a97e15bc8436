"""Fixtures of the distributed stack: its users, and the audit after each module (a phase)."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from senlin_affinity.sandbox.config_files import Sections, write
from senlin_affinity.sandbox.demo import stage
from tests.cluster import audit
from tests.cluster.settings import CONTROLLER, ENGINES
from tests.cluster.stack import DIRECTORY, Stack, commands, environment
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.waiting import until

#: Two cores run 25 processes.
stage.wait_for.__defaults__ = (300.0,)
#: Prefixes of the reasons with which Senlin fails an action whose engine died.
DEAD = ('Engine failure', 'Engine died', 'Failed in creating nodes.', 'Action execution failed')


class User(Tenant):
    """A user whose groups are registered, because no policy may delete them."""

    def create_group(self, name: str, policy: str = 'anti-affinity') -> str:
        """Create a server group, and return its id."""
        group = super().create_group(name, policy)
        audit.foreign.add(group)
        return group


@pytest.fixture(scope='session')
def stack() -> Iterator[Stack]:
    """Yield the running stack; start it and remove it if there is none."""
    stack = Stack()
    is_own = not DIRECTORY.exists()
    if is_own:
        stack.up()
    yield stack
    if is_own:
        stack.down()


@pytest.fixture(scope='session')
def demo(stack: Stack) -> User:
    return User(stack.connection('demo'))


@pytest.fixture(scope='session')
def admin(stack: Stack) -> User:
    return User(stack.connection('admin'))


@pytest.fixture(scope='session')
def truth(stack: Stack) -> Truth:
    return Truth(stack.connection('admin'))


@pytest.fixture(params=['tenant', 'administrator'])
def user(request: pytest.FixtureRequest, demo: User, admin: User) -> User:
    """Return a tenant, then an administrator."""
    return {'tenant': demo, 'administrator': admin}[request.param]


@pytest.fixture(scope='module', autouse=True)
def phase(stack: Stack, admin: User, demo: User) -> Iterator[None]:
    """Check the tables after the module, delete all clusters, and check that nothing is left."""
    yield
    stack.start(*stack.daemons)
    release(stack)
    assert not any(audit.counts(stack).values()), audit.counts(stack)
    users = {'admin': admin, 'demo': demo}
    at_once(lambda row: users[row[1]].delete_cluster(row[0]), clusters(stack))
    servers = (
        'SELECT uuid FROM nova_cell1.instances WHERE deleted = 0 '
        'UNION SELECT instance_uuid FROM nova_api.build_requests'
    )
    with contextlib.suppress(AssertionError):
        until(lambda: not stack.sql(servers), 30)
    if lost := stack.sql(servers):
        print('\nservers that no node refers to:', lost)
        for (server,) in lost:
            stack.connection().compute.delete_server(server, force=True)
        # Nova counts a server that it lost before a cell had it as a member of its group forever.
        stack.sql('DELETE FROM nova_api.instance_mappings WHERE cell_id IS NULL')
        words = ('senlin-affinity', 'group', 'delete', '--orphans', '--yes')
        for user in users:
            print(stack.run(*words, environment=stack.credentials(user)))
        until(lambda: not stack.sql(servers), 60, 'the end of the lost servers')
    assert not any(audit.counts(stack).values()), audit.counts(stack)


def clusters(stack: Stack) -> list[list[str]]:
    """Return the id and the owner of each cluster."""
    owned = 'SELECT c.id, p.name FROM cluster c JOIN keystone.project p ON p.id = c.project'
    return stack.sql(owned)


def at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Return the results of a function for all items, in eight threads."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, items))


@contextlib.contextmanager
def configure(stack: Stack, daemons: Iterable[str], *layers: Sections) -> Iterator[None]:
    """Restart daemons of Senlin with more options, and afterwards without them."""
    files = [stack.directory / 'etc' / f'{name}.conf' for name in daemons]
    before = [path.read_text() for path in files]
    try:
        for path, text in zip(files, before, strict=True):
            write(path, *layers)
            path.write_text(text + path.read_text())
        stack.restart(*daemons)
        yield
    finally:
        for path, text in zip(files, before, strict=True):
            path.write_text(text)
        stack.restart(*daemons)


def kill_at(stack: Stack, number: int, name: str, request: Callable[[], Any]) -> Any:
    """Let the engine die before this step of the action; return the action, or None if it ended."""
    trap = stack.directory / 'lib/die'
    trap.write_text(f'{name} {number}')
    running = request()
    until(lambda: not trap.exists() or running.read()['status'] in stage.ENDED, 120)
    is_over = trap.exists()
    trap.unlink(missing_ok=True)
    if not is_over:
        until(lambda: {*ENGINES} - {*stack.running()}, 20)
    stack.start(*ENGINES)
    return None if is_over else running


def answer(stack: Stack, *words: Any) -> Any:
    """Return the JSON that a command prints for the administrator; its exit status is 0 or 3."""
    done = subprocess.run(
        stack.on(CONTROLLER, 'senlin-affinity', *words, '-f', 'json'), capture_output=True,
        env={**environment(), **stack.credentials('admin')}, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 3}, done.stdout + done.stderr
    return json.loads(done.stdout)


def status(stack: Stack, *files: Path) -> list[dict[str, str]]:
    """Return the rows of ``status`` with these files, or those of Senlin and Nova."""
    etc = stack.directory / 'etc'
    senlin, nova = files or (etc / 'senlin.conf', etc / 'nova.conf')
    rows: list[dict[str, str]] = answer(
        stack, 'status', '--config-file', senlin, '--nova-conf', nova
    )
    assert {row['State'] for row in rows} <= {'ok', 'finding'}, rows
    return rows


def release(stack: Stack) -> None:
    """Release what engines left behind, as the manual says (steps 1 to 5)."""
    for restarted, patience in ((), 90), (ENGINES, 20):
        stack.restart(*restarted)
        with contextlib.suppress(AssertionError):
            until(lambda: not stack.sql(audit.STARTED), patience)
        rows = [row for row in status(stack) if row['Check'] == 'actions']
        left = [(row['Object'], row['Details']) for row in rows if row['State'] == 'finding']
        ended = stack.sql(' '.join(commands('Locks of ended actions')))
        for action, *details in (*left, *ended):
            print('\ncancelled by force:', *details)
            script = '\n'.join(commands('Release actions and locks'))
            script = script.replace('<action id>', action)
            stack.run('sh', '-ec', script, environment=stack.credentials('admin'))
        if not (left := stack.sql(audit.UNFINISHED)):
            break
        print('\nactions that do not finish:', *map(' '.join, left), sep='\n  ')
    for (server,) in stack.sql(audit.DELETING):
        stack.connection().compute.reset_server_state(server, 'error')
    at_once(lambda row: stack.connection(row[1]).clustering.check_cluster(row[0]), clusters(stack))
    until(lambda: not stack.sql(audit.UNFINISHED), 120, 'the end of all actions')
