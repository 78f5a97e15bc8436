"""Fixtures of the distributed stack: its users, and the audit after each module (a phase)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from senlin_affinity.sandbox.config_files import Sections, write
from senlin_affinity.sandbox.demo import stage
from tests.cluster import audit
from tests.cluster.settings import ENGINES
from tests.cluster.stack import DIRECTORY, Stack, commands
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.waiting import until

#: Two cores run 25 processes.
stage.wait_for.__defaults__ = (300.0,)
#: Why Senlin fails an action whose engine died.
DEAD = ('Engine failure', 'Engine died when executing this action.')
RELEASE = 'Release actions and locks'


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
    owners = {user.clustering.get_project_id(): user for user in (admin, demo)}
    clusters = stack.sql('SELECT id, project FROM cluster')
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: owners[row[1]].delete_cluster(row[0]), clusters))
    servers = 'SELECT uuid FROM nova_cell1.instances WHERE deleted = 0'
    with contextlib.suppress(AssertionError):
        until(lambda: not stack.sql(servers), 30)
    if lost := stack.sql(servers):
        _delete_lost(stack, [server for (server,) in lost])
        until(lambda: not stack.sql(servers), 60, 'the end of the lost servers')
    assert not any(audit.counts(stack).values()), audit.counts(stack)


def _delete_lost(stack: Stack, servers: list[str]) -> None:
    """Delete servers that engines created just before they died, and the groups they kept."""
    print('\nservers that no node refers to:', *servers)
    for server in servers:
        stack.connection().compute.delete_server(server, force=True)
    for user in ('admin', 'demo'):
        words = ('senlin-affinity', 'group', 'delete', '--orphans', '--yes')
        print(stack.run(*words, environment=stack.credentials(user)))


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


def release(stack: Stack, patience: float = 240.0) -> list[Any]:
    """Wait until Senlin is idle; release by the manual what it leaves behind, and return that."""
    left: list[Any] = []
    try:
        until(lambda: not stack.sql(audit.UNFINISHED), patience)
    except AssertionError:
        left = stack.sql(audit.UNFINISHED)
        print('\nactions that Senlin left behind:', *map(' '.join, left), sep='\n  ')
        for action, *_more in left:
            script = '\n'.join(commands(RELEASE)).replace('<action id>', action)
            stack.run('sh', '-ec', script, environment=stack.credentials('admin'))
        until(lambda: not stack.sql(audit.UNFINISHED), 60, 'the end of these actions')
    return left
