"""Derive the availability zones of a cloud from its hosts and its aggregates.

Source: Nova's availability zones. The zone of a host is the one of its aggregates, or else the
cloud's default zone, which usually no aggregate carries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Zones:
    """The known facts about the zones.

    ``carried_by`` holds the UUIDs of the aggregates of each zone. ``default`` is the zone of hosts
    without such an aggregate; None if ambiguous. ``is_by_aggregate``: the aggregates of a host
    determine its zone in Nova. It is False if the known aggregates are incomplete, or if no host is
    a member of an aggregate with a zone.
    """

    carried_by: Mapping[str, frozenset[str]]
    default: str | None
    is_by_aggregate: bool


def read(
    carriers: Iterable[tuple[str, str | None]] | None,
    places: Collection[tuple[str | None, frozenset[str]]],
) -> Zones:
    """Return the zones of a cloud.

    :param carriers: the UUID of each aggregate, and its zone.
    :param places: the zone and the aggregates of each host.
    """
    found: dict[str, set[str]] = {}
    for uuid, zone in carriers or ():
        if zone is not None:
            found.setdefault(zone, set()).add(uuid)
    carried_by = {zone: frozenset(uuids) for zone, uuids in found.items()}
    bare = {zone for zone, _of_host in places} - {None, *carried_by}
    default = next(iter(bare)) if carriers is not None and len(bare) == 1 else None
    carrying = frozenset().union(*carried_by.values())
    if not carrying or all(carrying.isdisjoint(of_host) for _zone, of_host in places):
        return Zones(carried_by, default, is_by_aggregate=False)
    # Hosts without an aggregate of their zone are all in the default zone. If they are in several
    # zones, some aggregates are missing.
    of_none = {
        zone for zone, of_host in places if of_host.isdisjoint(carried_by.get(zone or '', ()))
    }
    return Zones(carried_by, default, is_by_aggregate=len(of_none - {None}) < 2)
