"""The availability zones of a cloud, as its hosts and its aggregates tell of them.

Source: Nova's availability zones. A host is in the zone that one of its aggregates carries, or else
in the cloud's default zone, which mostly no aggregate carries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Zones:
    """What is known of the zones.

    ``carried_by`` holds the UUIDs of the aggregates that carry a zone. ``default`` is the zone of
    the hosts in no such aggregate, None where that is not clear. ``is_by_aggregate`` says that the
    aggregates of a host tell which zone Nova takes it for: not where they are not all there, or
    where no host says that it is in one of them.
    """

    carried_by: Mapping[str, frozenset[str]]
    default: str | None
    is_by_aggregate: bool


def read(
    carriers: Iterable[tuple[str, str | None]] | None,
    places: Collection[tuple[str | None, frozenset[str]]],
) -> Zones:
    """The zones of a cloud.

    :param carriers: the UUID of each aggregate, and the zone that it carries.
    :param places: the zone and the aggregates of its hosts.
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
    # Of hosts in no aggregate with their zone a cloud has one zone at most, the default one: where
    # there are more, the aggregates are not all there.
    of_none = {
        zone for zone, of_host in places if of_host.isdisjoint(carried_by.get(zone or '', ()))
    }
    return Zones(carried_by, default, is_by_aggregate=len(of_none - {None}) < 2)
