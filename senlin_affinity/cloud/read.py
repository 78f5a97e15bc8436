"""What a look at a few hosts read before it was not enough, for the whole look that follows.

It is a value of one look, and no cache: what was refused is asked for again, for the words of why.
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
    """The group, the quotas of the owner's own project, the image (or why it was not read), the
    flavors, and the aggregates, with those of each service host. What is None, or not there, was
    not read.
    """

    group: ServerGroup | None = None
    quotas: Mapping[str, Quota] | None = None
    images: Mapping[str, Image] = field(default_factory=dict)
    image_error: AffinityError | None = None
    flavors: tuple[Flavor, ...] | None = None
    aggregates: tuple[tuple[Aggregate, ...], Mapping[str, frozenset[str]]] | None = None

    def image(self, name: str) -> Image | None:
        """The image, if it was read. Raises what there was in place of it."""
        if self.image_error is not None:
            raise self.image_error
        return self.images.get(name)
