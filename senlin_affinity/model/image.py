"""The properties of an image that affect where its servers may run.

Units: ``min_ram`` in MiB, ``min_disk`` in GiB, ``size`` in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Image:
    """An image; without an id, it is known by its properties only."""

    id: str = ''
    min_ram: int = 0
    min_disk: int = 0
    disk_format: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    size: int = 0
    status: str = 'active'


#: The value of ``--image none``: servers boot from something without requirements.
NONE = Image()
