"""What the parent tells its children: where to listen, where to write, which cloud to be.

Shapes: the file ``plan.json`` in the work directory, ``Plan.read(directory) == plan``.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from senlin_affinity.sandbox.blueprint import Blueprint
from senlin_affinity.sandbox.identities import Endpoints

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
        """Write the plan into the work directory, which only this user may look into."""
        text = json.dumps(dataclasses.asdict(self), default=str)
        (self.directory / _FILE).write_text(text, encoding='utf-8')

    @classmethod
    def read(cls, directory: Path) -> Plan:
        """Read the plan of a work directory."""
        data = json.loads((directory / _FILE).read_text(encoding='utf-8'))
        blueprint = Blueprint.from_dict(data['blueprint'])
        endpoints = Endpoints(**data['endpoints'])
        return cls(directory, endpoints, data['secret'], Path(data['cache']), blueprint)
