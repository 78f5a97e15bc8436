"""The results of a sample that was not enough, for the fetch of the whole cloud that follows.

They belong to one operation and are not a cache. A rejected request has no result here: the fetch
sends it again, and reports the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.image import Image
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import Flavor, Quota


@dataclass(frozen=True)
class Read:
    """The owner's objects and the aggregates, as far as they were fetched; else None or absent.

    ``quotas`` are those of the owner's own project. ``image_error`` is the reason why the image
    could not be read. ``aggregates`` has all aggregates, and the UUIDs of those of each service
    host.
    """

    group: ServerGroup | None = None
    quotas: Mapping[str, Quota] | None = None
    images: Mapping[str, Image] = field(default_factory=dict)
    image_error: AffinityError | None = None
    flavors: tuple[Flavor, ...] | None = None
    aggregates: tuple[tuple[Aggregate, ...], Mapping[str, frozenset[str]]] | None = None

    def image(self, name: str) -> Image | None:
        """Return the image, or None if it was not fetched; raise the error of a failed fetch."""
        if self.image_error is not None:
            raise self.image_error
        return self.images.get(name)
