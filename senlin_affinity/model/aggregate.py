"""A host aggregate. Any spelling of its UUID is converted to lower case with hyphens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from senlin_affinity.model.member_of import spelt


@dataclass(frozen=True)
class Aggregate:
    """A host aggregate; Placement knows it by the same UUID."""

    uuid: str
    name: str
    availability_zone: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'uuid', spelt(self.uuid))
