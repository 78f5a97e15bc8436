"""Define the users, projects and endpoints of the sandbox's Keystone.

Each user has its own project; the services share one.

Example::

    Endpoints('http://127.0.0.1:8774', clustering='http://127.0.0.1:8778').url('compute')
        == 'http://127.0.0.1:8774/compute/v2.1'
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

REGION = 'RegionOne'
DOMAIN_ID = 'default'
DOMAIN_NAME = 'Default'

ADMIN_ROLES = ('admin', 'manager', 'member', 'reader')
MEMBER_ROLES = ('member', 'reader')
SERVICE_ROLES = (*ADMIN_ROLES, 'service')
#: The roles in the files of etc/senlin-affinity/rights.
POLICY_ROLES = ('senlin_affinity',)
AUDITOR_ROLES = ('reader', 'senlin_affinity_reader')


@dataclass(frozen=True)
class _Named:
    """An object with the same id in every sandbox."""

    name: str

    @property
    def id(self) -> str:
        """The id, derived from the name."""
        url = f'senlin-affinity-sandbox/{type(self).__name__.lower()}/{self.name}'
        return uuid.uuid5(uuid.NAMESPACE_URL, url).hex


class Project(_Named):
    """A project of the default domain."""


@dataclass(frozen=True)
class User(_Named):
    """A user of the default domain, with its roles in its own project."""

    project: Project
    roles: tuple[str, ...]

    def password(self, secret: str) -> str:
        """Return the password in the cloud with this secret."""
        return hashlib.sha256(f'{secret}/{self.name}'.encode()).hexdigest()[:32]


ADMIN = User('admin', Project('admin'), ADMIN_ROLES)
DEMO = User('demo', Project('demo'), MEMBER_ROLES)
SERVICE = Project('service')
SERVICES = tuple(User(name, SERVICE, SERVICE_ROLES) for name in ('nova', 'placement', 'senlin'))
#: The operator's user of the policy in Senlin, with the least rights.
READER = User('senlin_affinity', SERVICE, POLICY_ROLES)
#: An operator who may only read, in the project of ``demo``.
AUDITOR = User('auditor', DEMO.project, AUDITOR_ROLES)

USERS = {user.name: user for user in (ADMIN, DEMO, READER, AUDITOR, *SERVICES)}
PROJECTS = {user.project.name: user.project for user in USERS.values()}

#: service type -> (name, path below the base URL)
_SERVICES = {
    'identity': ('keystone', '/identity'),
    'compute': ('nova', '/compute/v2.1'),
    'placement': ('placement', '/placement'),
    'image': ('glance', '/image'),
    'network': ('neutron', '/network'),
}


@dataclass(frozen=True)
class Endpoints:
    """The base URL of all services but Senlin, and Senlin's own (None: no Senlin)."""

    base: str
    clustering: str | None = None

    def url(self, service_type: str) -> str:
        """Return the endpoint of a service type."""
        return self.services()[service_type][1]

    def services(self) -> dict[str, tuple[str, str]]:
        """Return the name and the endpoint of each service type."""
        services = {kind: (name, self.base + path) for kind, (name, path) in _SERVICES.items()}
        if self.clustering is not None:
            services['clustering'] = ('senlin', self.clustering)
        return services
