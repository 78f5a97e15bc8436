"""Run a real Nova and Placement, and optionally Senlin, on this machine within a with block.

Example::

    with SandboxCloud({'cmp-1': {}, 'cmp-2': {'availability_zone': 'az1'}}, senlin=True) as cloud:
        cloud.connection('demo').clustering.create_cluster(...)

Raises: InvalidSpec for invalid input; CloudError if the services are not installed or do not start.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openstack
import openstack.connection
import yaml

from senlin_affinity.model.errors import CloudError
from senlin_affinity.sandbox import blueprint_reader as reader
from senlin_affinity.sandbox import child, template_databases, work_directory
from senlin_affinity.sandbox.blueprint import IMAGE_ID, RunPlan
from senlin_affinity.sandbox.identities import DOMAIN_ID, REGION, USERS, Endpoints

_MODULES = tuple(f'senlin_affinity.sandbox.{name}_process' for name in ('nova', 'senlin'))


class SandboxCloud:
    """A cloud in child processes; a context manager.

    :param hosts: a number, a list of names, or a mapping from a name to ``vcpus``, ``memory_mb``,
        ``disk_gb``, ``hypervisor_hostname``, ``hypervisor_type``, ``availability_zone``,
        ``aggregates`` (name -> metadata) and ``disabled``.
    :param progress: called with a short text at each stage of the start.
    :param more: ``aggregates`` (name -> ``hosts``, ``availability_zone``, ``metadata``),
        ``flavors`` (name -> ``vcpus``, ``ram``, ``disk``, ``id``, ``extra_specs``; default:
        m1.tiny), ``images`` (name -> ``min_disk``, ``min_ram``, ``properties``), ``quotas``
        (options of nova.conf's [quota]; default: -1), and the other fields of :class:`Blueprint`.
    """

    image_id = IMAGE_ID

    def __init__(
        self,
        hosts: int | Sequence[str] | Mapping[str, Any],
        *,
        senlin: bool = False,
        progress: child.Progress | None = None,
        **more: Any,
    ) -> None:
        self._blueprint = reader.read(hosts, **more)
        self._has_senlin = senlin
        self._progress = progress or (lambda _stage: None)
        self._children: list[child.Child] = []
        self._plan: RunPlan | None = None
        self._lock = self._owner = -1

    @classmethod
    def from_file(cls, path: str | Path, *, senlin: bool = False, **more: Any) -> SandboxCloud:
        """Read the cloud and the options of its services from a YAML file.

        The ``senlin_options`` of the file take precedence over the given ones.
        """
        content = reader.read_file(path)
        own = reader.options(content.pop('senlin_options', None), 'senlin_options')
        others = more.pop('senlin_options', {})
        names = {**others, **own}
        options = {name: {**others.get(name, {}), **own.get(name, {})} for name in names}
        return cls(senlin=senlin, senlin_options=options, **content, **more)

    def __enter__(self) -> SandboxCloud:
        """Start the cloud."""
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the cloud, and remove its files."""
        self.stop()

    def start(self) -> None:
        """Start all children at once, and wait until they are ready."""
        if self._plan is not None:
            raise CloudError('this sandbox has been started already')
        for directory in work_directory.remove_abandoned():
            self._progress(f'removed {directory} of a sandbox that was killed')
        try:
            self._start()
        except BaseException as error:
            logs = self.logs()
            self.stop()
            if isinstance(error, CloudError):
                raise CloudError(f'{error}\n{logs}'.rstrip()) from error
            raise

    def _start(self) -> None:
        with child.without_ctrl_c(), contextlib.ExitStack() as sockets:
            modules = _MODULES if self._has_senlin else _MODULES[:1]
            own_port = ('127.0.0.1', 0)
            listeners = [
                sockets.enter_context(socket.create_server(own_port, backlog=128)) for _ in modules
            ]
            urls = (f'http://127.0.0.1:{each.getsockname()[1]}' for each in listeners)
            directory, self._lock = work_directory.create()
            self._owner = os.getpid()
            atexit.register(self.stop)
            cache = template_databases.cache_directory()
            secret = secrets.token_hex(16)
            self._plan = RunPlan(directory, Endpoints(*urls), secret, cache, self._blueprint)
            self._plan.write()
            for module, listener in zip(modules, listeners, strict=True):
                self._children.append(self._child(module, directory, listener))
        child.wait_until_ready(self._children, self._progress)

    def _child(self, module: str, directory: Path, listener: socket.socket) -> child.Child:
        return child.Child(module, directory, listener)

    def stop(self) -> None:
        """End the children and remove the work directory; do nothing if they have ended."""
        if self._plan is None or self._owner != os.getpid():
            return
        with child.without_ctrl_c():
            children, self._children = self._children, []
            plan, self._plan = self._plan, None
            child.stop(children)
            work_directory.remove(plan.directory)
            os.close(self._lock)
        atexit.unregister(self.stop)

    @property
    def base_url(self) -> str:
        """The base URL of all services but Senlin."""
        return self._running.endpoints.base

    @property
    def log_dir(self) -> Path:
        """The directory of the logs while the cloud runs."""
        return self._running.directory

    def wait(self) -> None:
        """Wait until a child ends by itself: a failure."""
        child.wait_for_an_end(self._children)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the children."""
        return tuple(item.process.pid for item in self._children)

    def logs(self, lines: int = 40) -> str:
        """Return the end of every log, for a failed test."""
        if self._plan is None:
            return ''
        parts = []
        for path in sorted(self._plan.directory.iterdir()):
            is_log = path.suffix in ('.log', '.out')
            text = path.read_text(encoding='utf-8', errors='replace') if is_log else ''
            if end := text.splitlines()[-lines:]:
                parts.append('\n'.join([f'--- {path.name}', *end]))
        return '\n'.join(parts)

    def auth(self, user: str = 'admin') -> dict[str, str]:
        """Return openstacksdk's ``auth`` for ``admin`` or ``demo``."""
        known = USERS[user]
        return {
            'auth_url': self._running.endpoints.url('identity'),
            'username': known.name,
            'password': known.password(self._running.secret),
            'project_name': known.project.name,
            'user_domain_id': DOMAIN_ID,
            'project_domain_id': DOMAIN_ID,
        }

    def connection(self, user: str = 'admin', **kwargs: Any) -> openstack.connection.Connection:
        """Connect as ``admin`` (all roles) or ``demo`` (member); ``kwargs`` go to openstacksdk."""
        kwargs = {'region_name': REGION, 'auth': self.auth(user), **kwargs}
        connection = openstack.connect(load_yaml_config=False, load_envvars=False, **kwargs)
        # Ignore proxies of the environment.
        connection.session.session.trust_env = False
        return connection

    def clouds_yaml(self) -> str:
        """Return a clouds.yaml with the clouds ``sandbox`` (admin) and ``sandbox-demo``."""
        clouds = {
            name: {'auth': self.auth(user), 'region_name': REGION, 'identity_api_version': '3'}
            for name, user in (('sandbox', 'admin'), ('sandbox-demo', 'demo'))
        }
        return yaml.safe_dump({'clouds': clouds}, sort_keys=False)

    @property
    def _running(self) -> RunPlan:
        if self._plan is None:
            raise CloudError('this sandbox is not running: use it in a with block')
        return self._plan
