"""Where the services of the sandbox are: the catalogue of every token.

Shapes::

    Endpoints('http://127.0.0.1:8774', clustering='http://127.0.0.1:8778').url('compute')
        == 'http://127.0.0.1:8774/compute/v2.1'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from senlin_affinity.sandbox.identities import REGION

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
        if service_type == 'clustering':
            if self.clustering is None:
                raise KeyError(service_type)
            return self.clustering
        return self.base + _SERVICES[service_type][1]

    def catalogue(self) -> list[dict[str, Any]]:
        """Give the catalogue as Keystone writes it."""
        names = {service_type: name for service_type, (name, _path) in _SERVICES.items()}
        if self.clustering is not None:
            names['clustering'] = 'senlin'
        return [
            {
                'type': service_type,
                'name': name,
                'id': name,
                'endpoints': [
                    {
                        'id': f'{name}-{interface}',
                        'interface': interface,
                        'region': REGION,
                        'region_id': REGION,
                        'url': self.url(service_type),
                    }
                    for interface in ('public', 'internal', 'admin')
                ],
            }
            for service_type, name in names.items()
        ]
