"""Where the services of the sandbox are: what is in the catalogue of every token.

Shapes::

    Endpoints('http://127.0.0.1:8774', clustering='http://127.0.0.1:8778').url('compute')
        == 'http://127.0.0.1:8774/compute/v2.1'
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """The base URL of all services but Senlin, and Senlin's (None: this cloud has no Senlin)."""

    base: str
    clustering: str | None = None

    def url(self, service_type: str) -> str:
        """Give the endpoint of a service type of this cloud."""
        return self.services()[service_type][1]

    def services(self) -> dict[str, tuple[str, str]]:
        """Give the name and the endpoint of each service type of this cloud."""
        services = {kind: (name, self.base + path) for kind, (name, path) in _SERVICES.items()}
        if self.clustering is not None:
            services['clustering'] = ('senlin', self.clustering)
        return services
