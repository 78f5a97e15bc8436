"""Look up the aggregates of a host and their metadata."""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.host import Host
from senlin_affinity.model.snapshot import CloudSnapshot


def aggregates_of(cloud: CloudSnapshot, host: Host) -> Sequence[Aggregate]:
    """Return the known aggregates of the host in Nova, sorted by UUID."""
    known = cloud.aggregates_by_uuid
    return [known[uuid] for uuid in sorted(host.aggregates) if uuid in known]


def values(text: str) -> frozenset[str]:
    """Split a metadata value at commas, as Nova's filters do."""
    return frozenset(map(str.strip, text.split(',')))


def named(aggregates: Sequence[Aggregate], key: str) -> str:
    """Return the names of the aggregates with a metadata key that begins with ``key``."""
    found = (each.name for each in aggregates if any(k.startswith(key) for k in each.metadata))
    return ', '.join(sorted(found))
