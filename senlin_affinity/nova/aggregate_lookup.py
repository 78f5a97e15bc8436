"""Look up the aggregates of a host and their metadata."""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import ResolvedRequest


def aggregates_of(resolved: ResolvedRequest, host: Host) -> Sequence[Aggregate] | None:
    """Return the host's aggregates in Nova, sorted by UUID; None if they are unknown."""
    if resolved.snapshot.aggregates is None:
        return None
    known = resolved.snapshot.aggregates_by_uuid
    return [known[uuid] for uuid in sorted(host.aggregates) if uuid in known]


def values(text: str) -> frozenset[str]:
    """Split a metadata value at commas, as Nova's filters do."""
    return frozenset(map(str.strip, text.split(',')))


def named(aggregates: Sequence[Aggregate], key: str) -> str:
    """Return the names of the aggregates with a metadata key that begins with ``key``."""
    found = (each.name for each in aggregates if any(k.startswith(key) for k in each.metadata))
    return ', '.join(sorted(found))
