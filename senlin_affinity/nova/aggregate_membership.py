"""Compare the aggregates of a host with a ``member_of``."""

from __future__ import annotations

from collections.abc import Iterable

from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import CanonicalUuids, MemberOf
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict


def is_known(resolved: ResolvedRequest, host: Host) -> bool:
    """Check whether the host's aggregates are known.

    An empty set is known only if the snapshot has the cloud's aggregates.
    """
    return resolved.snapshot.aggregates is not None or bool(host.aggregates)


def check(
    resolved: ResolvedRequest,
    host: Host,
    asked: MemberOf,
    codes: tuple[str, str, str],
    **facts: str,
) -> Verdict:
    """Check whether the host satisfies an expression.

    :param codes: the reason codes for a host that does, for one in a forbidden aggregate, and for
        one that misses a required set; only the last verdict has ``facts``.
    """
    admitted, forbidden, required = codes
    if found := asked.forbidden & host.aggregates:
        return Verdict.rejected(forbidden, aggregates=names(resolved.snapshot, found))
    for any_of in asked.required:
        if any_of.isdisjoint(host.aggregates):
            listed = names(resolved.snapshot, any_of, ' or ')
            return Verdict.rejected(required, aggregates=listed, **facts)
    return Verdict.passed(admitted)


def unmirrored(host: Host, any_of: frozenset[str]) -> frozenset[str]:
    """Return which of these aggregates the host is in, if Placement lists it in none of them."""
    here = host.aggregates & any_of
    return here if here <= host.unmirrored else frozenset()


def unmirrored_in_zone(resolved: ResolvedRequest, host: Host, zone: str | None) -> frozenset[str]:
    """Return the host's aggregates that carry the zone, if Placement has it in none of them."""
    if not host.unmirrored:
        return frozenset()
    return unmirrored(host, resolved.snapshot.zones.carried_by.get(zone or '', frozenset()))


def as_in_placement(host: Host) -> Host:
    """Return the host with its aggregates in Placement, as far as these are known."""
    if not (host.unmirrored or host.stale_aggregates):
        return host
    aggregates = host.aggregates - host.unmirrored | host.stale_aggregates
    return host.but(aggregates=CanonicalUuids(aggregates))


def names(snapshot: CloudSnapshot, uuids: Iterable[str], joined: str = ', ') -> str:
    """Return the sorted names of aggregates; an unknown aggregate is named by its UUID."""
    known = snapshot.aggregates_by_uuid
    return joined.join(sorted(known[uuid].name if uuid in known else uuid for uuid in uuids))
