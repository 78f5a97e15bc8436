"""Compare the aggregates of a host with a ``member_of``."""

from __future__ import annotations

from collections.abc import Iterable

from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict


def check(
    cloud: CloudSnapshot,
    uuids: frozenset[str],
    asked: MemberOf,
    codes: tuple[str, str, str],
    **facts: str,
) -> Verdict:
    """Check whether a host in the aggregates ``uuids`` satisfies an expression.

    :param codes: the reason codes for a host that does, for one in a forbidden aggregate, and for
        one that misses a required set; only the last verdict has ``facts``.
    """
    admitted, forbidden, required = codes
    if found := asked.forbidden & uuids:
        return Verdict.rejected(forbidden, aggregates=names(cloud, found))
    for any_of in asked.required:
        if any_of.isdisjoint(uuids):
            listed = names(cloud, any_of, ' or ')
            return Verdict.rejected(required, aggregates=listed, **facts)
    return Verdict.passed(admitted)


def unmirrored(host: Host, any_of: frozenset[str]) -> frozenset[str]:
    """Return which of these aggregates the host is in, if Placement lists it in none of them."""
    here = host.aggregates & any_of
    return here if here <= host.unmirrored else frozenset()


def unmirrored_in_zone(cloud: CloudSnapshot, host: Host, zone: str | None) -> frozenset[str]:
    """Return the host's aggregates that carry the zone, if Placement has it in none of them."""
    if zone is None or not host.unmirrored:
        return frozenset()
    known = cloud.aggregates_by_uuid
    of_host = (known[uuid] for uuid in host.aggregates if uuid in known)
    return unmirrored(host, frozenset(e.uuid for e in of_host if e.availability_zone == zone))


def in_placement(host: Host) -> frozenset[str]:
    """Return the aggregates of the host in Placement, as far as these are known."""
    return host.aggregates - host.unmirrored | host.stale_aggregates


def names(cloud: CloudSnapshot, uuids: Iterable[str], joined: str = ', ') -> str:
    """Return the sorted names of aggregates; an unknown aggregate is named by its UUID."""
    known = cloud.aggregates_by_uuid
    return joined.join(sorted(known[uuid].name if uuid in known else uuid for uuid in uuids))
