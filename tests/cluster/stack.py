"""Start a distributed OpenStack from Debian 12's packages with ``up``, remove it with ``down``.

Each daemon has its own session, and all files are below one directory. A "host" is a private
``/usr/local`` (a bind mount in the mount namespace of each of its processes), so that each engine
has its own release of senlin-affinity, installed with the commands of the manual.

Example: ``ports.json`` has the port of each service, ``run/engine-1`` the session of a daemon and
the start time of its first process, and ``log`` the output of all of them.

Raises: SystemExit. A start that fails prints the ends of logs, and removes everything.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack

from tests.cluster import settings
from tests.cluster.settings import COMPUTES, CONTROLLER, ENGINES, HOSTS, PASTE, Daemon
from tests.support.waiting import until

ROOT = settings.HERE.parents[1]
DIRECTORY = Path(os.environ['CLUSTER'])
PACKAGES = (
    'python3-senlin python3-senlinclient python3-openstackclient python3-nova python3-keystone '
    'python3-placement python3-glance python3-heat python3-pip uwsgi-core uwsgi-plugin-python3 '
    'rabbitmq-server mariadb-server-core mariadb-client-core memcached git curl'
).split()
POLICY_RC = Path('/usr/sbin/policy-rc.d')
DATABASES = (
    'keystone', 'placement', 'glance', 'nova_api', 'nova_cell0', 'nova_cell1', 'senlin', 'heat',
)  # fmt: skip
#: The literal commands of the manual that install the wheel.
BUILD, INSTALL, RIGHTS = 'Build the wheel', 'Install into Debian 12', 'Required permissions'


class Stack:
    """The stack in a directory; other processes may have started it."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self.directory = directory
        self._began = time.monotonic()

    # -- the whole

    def up(self) -> None:
        """Start the whole stack, or remove what was started."""
        if self.directory.exists():
            sys.exit(f'make: {self.directory} exists: run "make cluster-down" first')
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._up()
        except BaseException as error:
            print(f'make: the cluster did not start: {error}', file=sys.stderr)
            for log in sorted(self.log.glob('*'), key=lambda path: path.stat().st_mtime)[-3:]:
                print(f'-- {log.name}', *_tail(log), sep='\n', file=sys.stderr)
            self.down()
            raise SystemExit(1) from error

    def down(self) -> None:
        """Kill all daemons, and remove the directory."""
        self.kill(*(path.name for path in self._run.glob('*')))
        shutil.rmtree(self.directory, ignore_errors=True)

    def _up(self) -> None:
        for name in ('etc', 'log', 'run', 'lib', *(f'hosts/{host}' for host in HOSTS)):
            (self.directory / name).mkdir(parents=True)
        for name in ('log', 'run', 'lib'):
            (self.directory / name).chmod(0o777)
        self._install_packages()
        self.say('the packages are installed')
        ports = dict(zip(settings.PORTS, _free_ports(len(settings.PORTS)), strict=True))
        (self.directory / 'ports.json').write_text(json.dumps(ports))
        settings.write_all(self)
        self._start_infrastructure()
        with ThreadPoolExecutor() as pool:
            wheel = pool.submit(self.build_wheel)
            for done in [pool.submit(each) for each in (self._sync_nova, *self._syncs())]:
                done.result()
            wheel.result()
        self.say('the databases are created, and the wheel is built')
        self.start('keystone', 'neutron', 'glance', 'placement', 'nova-api')
        until(lambda: self.answers('keystone'), 60, 'Keystone')
        self._create_users()
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.install_wheel, HOSTS))
        self.guide(RIGHTS)
        self.say('users and the package are there')
        self.start(*self.daemons)
        self._create_resources()
        self.say('the cluster runs: "make test-cluster" uses it, "make cluster-down" removes it')

    def say(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        print(f'[{time.monotonic() - self._began:4.0f} s] {text}', flush=True)

    # -- places

    @property
    def log(self) -> Path:
        """The folder of the logs."""
        return self.directory / 'log'

    @property
    def _run(self) -> Path:
        return self.directory / 'run'

    @property
    def ports(self) -> dict[str, int]:
        """The port of each service."""
        return dict(json.loads((self.directory / 'ports.json').read_text()))

    def url(self, service: str) -> str:
        """Return the URL of a service."""
        return f'http://127.0.0.1:{self.ports[service]}'

    @property
    def daemons(self) -> dict[str, Daemon]:
        """Return all daemons, in the order of their start."""
        return settings.daemons(self)

    # -- processes

    def on(self, host: str, *words: Any) -> list[str]:
        """Return a command that runs on a host."""
        mount = 'mount --bind "$0" /usr/local && exec "$@"'
        place = self.directory / 'hosts' / host
        return [*map(str, ('unshare', '--mount', 'sh', '-c', mount, place, *words))]

    def start(self, *names: str) -> None:
        """Start daemons that do not run; wait for engines, without which Senlin loses messages."""
        started = [name for name in names if not self._pids(name)]
        engines, known = {*started} & {*ENGINES}, None
        for name in started:
            if known is None and name in ENGINES:
                known = self._engines()
            daemon = self.daemons[name]
            with (self.log / f'{name.rstrip("-0123456789")}.out').open('ab') as output:
                process = subprocess.Popen(
                    self.on(daemon.host, *daemon.words),
                    env={**environment(), **daemon.environment},
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True, cwd=self.directory,
                )  # fmt: skip
            (self._run / name).write_text(f'{process.pid} {_stat(process.pid)[19]}')
            _children.append(process)
        if known is not None:
            until(lambda: len(self._engines() - known) >= len(engines), 120, f'{engines}')

    def _engines(self) -> set[str]:
        """Return the ids of the engines in Senlin's database; each start makes a new one."""
        found = self.sql("SELECT id FROM service WHERE `binary` = 'senlin-engine'")
        return {name for (name,) in found}

    def stop(self, *names: str, patience: float = 20.0) -> None:
        """Stop daemons, all at the same time; kill those that do not end."""
        self.kill(*names, number=signal.SIGTERM)
        with contextlib.suppress(AssertionError):
            until(lambda: not any(map(self._pids, names)), patience)
        self.kill(*names)

    def kill(self, *names: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to all processes of daemons; SIGKILL also waits for their end."""
        for name in names:
            for pid in self._pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if number == signal.SIGKILL:
            until(lambda: not any(map(self._pids, names)), 20, f'the end of {names}')
            for name in names:
                (self._run / name).unlink(missing_ok=True)

    def restart(self, *names: str) -> None:
        """Stop daemons, and start them again."""
        self.stop(*names)
        self.start(*names)

    def running(self) -> list[str]:
        """Return the names of the daemons that run."""
        return [path.name for path in self._run.glob('*') if self._pids(path.name)]

    def _pids(self, name: str) -> list[int]:
        """Return the processes in the session of a daemon; [] if the id belongs to another one."""
        for child in _children:
            child.poll()
        try:
            session, begun = (self._run / name).read_text().split()
        except FileNotFoundError:
            return []
        found = {int(path.name): _stat(path.name) for path in Path('/proc').glob('[0-9]*')}
        first = found.get(int(session))
        if first and first[19] != begun:
            return []
        return [
            pid for pid, stat in found.items() if stat and stat[3] == session and stat[0] != 'Z'
        ]

    def run(self, *words: Any, host: str = CONTROLLER, **more: Any) -> str:
        """Run a command on a host, and return its output."""
        done = subprocess.run(
            self.on(host, *words),
            env={**environment(), **more.pop('environment', {})},
            **more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            start_new_session=True, timeout=900,
        )  # fmt: skip
        if done.returncode:
            words = ' '.join(map(str, words))
            raise RuntimeError(f'{words}: status {done.returncode}\n{done.stdout[-3000:]}')
        return done.stdout

    def sql(self, statement: str, database: str = 'senlin') -> list[list[str]]:
        """Run a statement as the root of MariaDB, and return the rows."""
        client = ('mariadb', '--no-defaults', '-uroot', '-h127.0.0.1', f'-P{self.ports["mysql"]}')
        words = (*client, '--batch', '--skip-column-names', '--raw', '-e', statement, database)
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        return [line.split('\t') for line in done.stdout.splitlines()]

    # -- the package

    def build_wheel(self) -> None:
        """Build the wheel of this checkout, committed or not, as the manual says."""
        git, origin = (
            ('git', '-c', 'user.name=x', '-c', 'user.email=x@x'),
            self.directory / 'origin',
        )
        of_checkout = (*git, f'--git-dir={origin}', f'--work-tree={ROOT}')
        self.run(*of_checkout, 'init', '--quiet', cwd=ROOT)
        self.run(*of_checkout, 'add', '--all', cwd=ROOT)
        self.run(*of_checkout, 'commit', '--quiet', '--message=checkout', cwd=ROOT)
        self.run(*git, 'clone', '--quiet', origin, self.source)
        self.guide(BUILD)

    @property
    def source(self) -> Path:
        """The clone of this checkout, with the wheel in ``dist``."""
        return self.directory / 'source'

    def install_wheel(self, host: str) -> None:
        """Install the wheel on a host with the commands of the manual."""
        self.guide(INSTALL, host=host)

    def guide(self, title: str, host: str = CONTROLLER) -> None:
        """Run the first commands of a section of the manual, as printed, in the clone."""
        for command in commands(title):
            try:
                self.run(
                    sys.executable, '-c', _TYPIST, 'sh', '-c', command,
                    host=host, cwd=self.source, environment=self.credentials('admin'),
                )  # fmt: skip
            except RuntimeError as error:
                # The manual: status 1 may be about packages that were installed before.
                if command != 'pip check' or '\nsenlin-affinity' in str(error):
                    raise

    # -- the parts of a start

    def _install_packages(self) -> None:
        """Install Debian's packages, without starting their services."""
        (self.directory / 'etc/apt.conf').write_text(
            'APT { Get::Assume-Yes "true"; Install-Recommends "false"; };\n'
            'DPkg::Lock::Timeout "600";\n'
        )
        has_none = not POLICY_RC.exists()
        if has_none:
            POLICY_RC.write_text('#!/bin/sh\nexit 101\n')
            POLICY_RC.chmod(0o755)
        try:
            if subprocess.run(['dpkg', '-s', *PACKAGES], capture_output=True).returncode:
                self.run('apt-get', 'update')
                self.run('apt-get', 'install', *PACKAGES)
            for line in commands(INSTALL):
                if line.startswith('apt-get'):
                    self.run('sh', '-c', line)
        finally:
            if has_none:
                POLICY_RC.unlink()
        if subprocess.run(['getent', 'passwd', 'mysql'], capture_output=True).returncode:
            self.run('adduser', '--system', '--group', '--no-create-home', '--quiet', 'mysql')
        for service, package in PASTE.items():
            self.run('apt-get', 'download', package, cwd=self.directory / 'lib')
            (archive,) = (self.directory / 'lib').glob(f'{package}_*.deb')
            self.run('dpkg', '-x', archive, self.directory / 'lib' / service)

    def _start_infrastructure(self) -> None:
        data = self.directory / 'lib/mysql'
        data.mkdir()
        shutil.chown(data, 'mysql')
        self.run(
            'mariadb-install-db', f'--defaults-file={self.directory}/etc/my.cnf', '--user=mysql',
            '--auth-root-authentication-method=normal', '--skip-test-db',
        )  # fmt: skip
        rabbit = self.directory / 'lib/rabbit'
        rabbit.mkdir()
        shutil.chown(rabbit, 'rabbitmq', 'rabbitmq')
        self.start('epmd', 'mysql', 'rabbitmq', 'memcached')
        until(lambda: self.answers('mysql'), 60, 'MariaDB')
        made = [f'CREATE DATABASE {name} CHARACTER SET utf8mb3;' for name in DATABASES]
        self.sql(' '.join(made), 'mysql')
        until(lambda: self.answers('amqp'), 90, 'RabbitMQ')

    def answers(self, service: str) -> bool:
        """Check whether a service accepts connections."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection(('127.0.0.1', self.ports[service])),
        ):
            return True
        return False

    def _manage(self, service: str, *words: Any) -> None:
        path = self.directory / 'etc' / f'{service}.conf'
        module = f'{service.removesuffix("-api")}.cmd.manage'
        self.run(*settings.LAUNCHER, module, '--config-file', path, *words)

    def _sync_nova(self) -> None:
        self._manage('nova', 'api_db', 'sync')
        cell0 = settings.database(self, 'nova_cell0')['connection']
        self._manage('nova', 'cell_v2', 'map_cell0', '--database_connection', cell0)
        self._manage('nova', 'db', 'sync')
        self._manage('nova', 'cell_v2', 'create_cell', '--name', 'cell1')

    def _syncs(self) -> Iterator[Any]:
        yield lambda: self._manage('placement', 'db', 'sync')
        yield lambda: self._manage('glance-api', 'db_sync')
        yield lambda: self._manage('senlin', 'db_sync')
        yield lambda: self._manage('heat', 'db_sync')

        def keystone() -> None:
            self._manage('keystone', 'db_sync')
            for kind in ('fernet', 'credential'):
                owner = ('--keystone-user', 'root', '--keystone-group', 'root')
                self._manage('keystone', f'{kind}_setup', *owner)
            urls = [f'--bootstrap-{each}-url={self.url("keystone")}/v3' for each in _INTERFACES]
            region = '--bootstrap-region-id=RegionOne'
            self._manage('keystone', 'bootstrap', '--bootstrap-password=secret', region, *urls)

        yield keystone

    def credentials(self, user: str) -> dict[str, str]:
        """Return the OS_ variables of a user, whose project has the same name."""
        return {
            'OS_AUTH_URL': f'{self.url("keystone")}/v3',
            'OS_USERNAME': user,
            'OS_PASSWORD': 'secret',
            'OS_PROJECT_NAME': user,
            'OS_USER_DOMAIN_ID': 'default',
            'OS_PROJECT_DOMAIN_ID': 'default',
            'OS_REGION_NAME': 'RegionOne',
            'OS_IDENTITY_API_VERSION': '3',
        }

    def connection(self, user: str = 'admin') -> Any:
        """Connect as a user to the user's own project."""
        words = {key[3:].lower(): value for key, value in self.credentials(user).items()}
        return openstack.connect(load_yaml_config=False, load_envvars=False, **words)

    def _create_users(self) -> None:
        identity = self.connection().identity
        roles = {each.name: each for each in identity.roles()}
        roles['service'] = roles.get('service') or identity.create_role(name='service')
        for name in ('service', 'demo'):
            identity.create_project(name=name, domain_id='default')
        for name in ('nova', 'placement', 'glance', 'senlin', 'heat', 'demo'):
            project = identity.find_project('demo' if name == 'demo' else 'service')
            user = identity.create_user(name=name, password='secret', domain_id='default')
            for role in ('member', 'reader') if name == 'demo' else ('admin', 'service'):
                identity.assign_project_role_to_user(project, user, roles[role])
        for kind, (name, path) in _ENDPOINTS.items():
            service = identity.create_service(type=kind, name=name)
            for interface in _INTERFACES:
                url = self.url('senlin-api' if name == 'senlin' else name) + path
                identity.create_endpoint(
                    service_id=service.id, interface=interface, url=url, region_id='RegionOne'
                )

    def _create_resources(self) -> None:
        """Wait for the services, and create the flavor, the image and the zones."""
        for name in ('nova-api', 'glance', 'placement', 'senlin-api', 'heat-api'):
            until(lambda name=name: self.answers(name), 120, name)
        cloud = self.connection()
        compute = cloud.compute
        mapped = 'SELECT id FROM nova_api.host_mappings'
        until(lambda: len(self.sql(mapped)) == len(COMPUTES), 180, 'the computes')
        compute.create_flavor(name='m1.tiny', vcpus=1, ram=64, disk=1)
        image = {'container_format': 'bare', 'disk_format': 'raw', 'visibility': 'public'}
        cloud.image.create_image(name='cirros', data=b'x', **image)
        for host, zone in COMPUTES.items():
            if zone:
                aggregate = compute.create_aggregate(name=zone, availability_zone=zone)
                compute.add_host_to_aggregate(aggregate, host)


_INTERFACES = ('public', 'internal', 'admin')
_ENDPOINTS = {
    'compute': ('nova-api', '/v2.1'),
    'placement': ('placement', ''),
    'image': ('glance', ''),
    'network': ('neutron', ''),
    'clustering': ('senlin', ''),
    'orchestration': ('heat-api', '/v1/%(project_id)s'),
}
#: Run a command in a terminal, and type each password.
_TYPIST = """
import os, pty, sys
def read(terminal):
    data = os.read(terminal, 1024)
    if b'assword:' in data:
        os.write(terminal, b'secret\\n')
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read)))
"""
#: The daemons that this process started: it must reap them.
_children: list[subprocess.Popen[bytes]] = []


def environment() -> dict[str, str]:
    """Return the environment of a daemon: that of the system, and how pip reaches its index."""
    others = ('OS_', 'PYTHON', 'GIT_DIR', 'GIT_WORK', 'VIRTUAL_ENV', 'MAKE', 'MFLAGS')
    kept = {name: text for name, text in os.environ.items() if not name.startswith(others)}
    return {
        **kept,
        'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'APT_CONFIG': str(DIRECTORY / 'etc/apt.conf'),
        'DEBIAN_FRONTEND': 'noninteractive',
        'no_proxy': '127.0.0.1,localhost',
        'NO_PROXY': '127.0.0.1,localhost',
        'LC_ALL': 'C.UTF-8',
    }


def commands(title: str) -> list[str]:
    """Return the commands of the first block in a section of the manual."""
    for page in sorted((ROOT / 'doc/source').rglob('*.rst')):
        found = re.search(rf'(?m)^{title}\n[=~-]+\n(?s:.*?)::\n\n((?:    .*\n)+)', page.read_text())
        if found:
            return textwrap.dedent(found.group(1)).replace('\\\n', '').splitlines()
    raise LookupError(f'the manual has no section {title!r}')


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_server(('127.0.0.1', 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in opened]


def _stat(pid: Any) -> list[str]:
    """Return the fields of /proc/pid/stat from the state on; [] if there is no such process."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return []


def _tail(log: Path) -> list[str]:
    return log.read_text(errors='replace').splitlines()[-20:]


if __name__ == '__main__':
    {'up': Stack().up, 'down': Stack().down}[sys.argv[1]]()
