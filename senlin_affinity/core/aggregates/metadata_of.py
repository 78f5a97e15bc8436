"""The metadata of the aggregates of a host, for the rules that read them."""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import Aggregate, ResolvedRequest


def aggregates_of(resolved: ResolvedRequest, host: Host) -> Sequence[Aggregate] | None:
    """Those that Nova has, in the order of their UUIDs; None where none are known."""
    if resolved.snapshot.aggregates is None:
        return None
    known = resolved.snapshot.aggregates_by_uuid
    return [known[uuid] for uuid in sorted(host.aggregates) if uuid in known]


def values(text: str) -> frozenset[str]:
    """The values of a key, as filters split them at commas."""
    return frozenset(map(str.strip, text.split(',')))


def named(aggregates: Sequence[Aggregate], key: str) -> str:
    """The names of the aggregates whose metadata have a key that begins so."""
    found = (each.name for each in aggregates if any(k.startswith(key) for k in each.metadata))
    return ', '.join(sorted(found))
