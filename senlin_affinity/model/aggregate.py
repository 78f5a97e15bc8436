"""A host aggregate. Any spelling of its UUID is converted to lower case with hyphens."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import force_setattr

from senlin_affinity.model.member_of import spelt
from senlin_affinity.model.value import Value


class Aggregate(Value, frozen=True):
    """A host aggregate; Placement knows it by the same UUID."""

    uuid: str
    name: str
    availability_zone: str | None = None
    metadata: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        force_setattr(self, 'uuid', spelt(self.uuid))
