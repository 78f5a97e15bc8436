"""The image of the servers, as far as it concerns where they may go.

Units: ``min_ram`` in MiB, ``min_disk`` in GiB, ``size`` in bytes. ``properties`` are texts.

Source: Glance's image schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Image:
    """An image; one without an id is only described by its properties."""

    id: str = ''
    min_ram: int = 0
    min_disk: int = 0
    disk_format: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    size: int = 0
    status: str = 'active'


#: What ``--image none`` says: servers are booted from something that asks nothing.
NONE = Image()
