"""Reads the worked examples of the operator's page of the aggregate filter.

Each is a block of YAML: flavors, aggregates, perhaps hosts (else one host per aggregate), and which
of the hosts each flavor is taken by. Every flavor on every host is a :class:`Cell`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).parents[2] / 'doc/source/admin/aggregate-filter.rst'
_BLOCK = re.compile(r'^\.\. code-block:: yaml\n\n((?:(?: {3}.*)?\n)+)', re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One flavor on one host, and whether the host takes it."""

    example: str
    flavor: str
    host: str
    extra_specs: dict[str, str]
    aggregates: tuple[dict[str, str], ...]
    is_taken: bool

    def __str__(self) -> str:
        return f'{self.example}: {self.flavor} on {self.host}'


def blocks() -> list[dict[str, Any]]:
    """The blocks, in the order of the page."""
    return [yaml.safe_load(found) for found in _BLOCK.findall(PAGE.read_text(encoding='utf-8'))]


def cells() -> list[Cell]:
    """All cells of all blocks."""
    return [
        Cell(
            block['example'],
            flavor,
            host,
            extra_specs,
            tuple(block['aggregates'][name] for name in names),
            host in block['takes'][flavor],
        )
        for block in blocks()
        for flavor, extra_specs in block['flavors'].items()
        for host, names in _hosts(block).items()
    ]


def _hosts(block: dict[str, Any]) -> dict[str, list[str]]:
    return block.get('hosts') or {name: [name] for name in block['aggregates']}
