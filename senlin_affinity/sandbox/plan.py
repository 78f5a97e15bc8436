"""What the parent tells its children: where to listen, where to write, which cloud to be.

Shapes: the file ``plan.json`` in the work directory, ``Plan.read(directory) == plan``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from senlin_affinity.sandbox.blueprint import Blueprint
from senlin_affinity.sandbox.catalogue import Endpoints

_FILE = 'plan.json'


@dataclass(frozen=True)
class Plan:
    """The plan of one sandbox; ``secret`` is what its passwords are made from."""

    directory: Path
    endpoints: Endpoints
    secret: str
    cache: Path
    blueprint: Blueprint

    def write(self) -> None:
        """Write the plan into the work directory, readable for this user only."""
        data = {
            'base': self.endpoints.base,
            'clustering': self.endpoints.clustering,
            'secret': self.secret,
            'cache': str(self.cache),
            'blueprint': self.blueprint.as_dict(),
        }
        path = self.directory / _FILE
        path.touch(mode=0o600)
        path.write_text(json.dumps(data), encoding='utf-8')

    @classmethod
    def read(cls, directory: Path) -> Plan:
        """Read the plan of a work directory."""
        data = json.loads((directory / _FILE).read_text(encoding='utf-8'))
        return cls(
            directory,
            Endpoints(data['base'], data['clustering']),
            data['secret'],
            Path(data['cache']),
            Blueprint.from_dict(data['blueprint']),
        )
