"""Compare the hosts of aggregates in Nova with those in Placement.

Nova copies each change of an aggregate's hosts to Placement. Its queries for allocation candidates
use the members in Placement; scheduler filters use those in Nova. If the copy of an addition
failed, Placement lacks a host (``Host.unmirrored``); if that of a removal failed, Placement still
has it (``Host.stale_aggregates``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import isolated_aggregates
from senlin_affinity.nova.effective_zone import zones_held_to
from senlin_affinity.nova.options import ISOLATION, TENANTS
from senlin_affinity.nova.reserved_aggregates import asked_by_nova


def asked_of_placement(request: Request, cloud: CloudSnapshot) -> tuple[frozenset[str], ...]:
    """Return the sets of aggregates whose members Nova requires or forbids in its query.

    An aggregate of a zone without hosts is left out: Nova rejects a request for such a zone.
    """
    tenant = request.project_id
    known, with_hosts = cloud.aggregates or (), _union(each for _zone, each in cloud.places)
    carried_by = cloud.zones.carried_by
    of_zones = [carried_by.get(zone, frozenset()) for zone in zones_held_to(request, cloud)]
    found = [each for each in of_zones if not each.isdisjoint(with_hosts)]
    if tenant is not None and request.option(TENANTS):
        found.append(isolated_aggregates.own_aggregates(tenant, known))
    with suppress(InvalidSpec):  # Nova rejects the request before it queries Placement
        kept = asked_by_nova(request, cloud)
        found += [*kept.required, kept.forbidden]
    if request.option(ISOLATION) and request.flavor is not None:
        specs, image = request.flavor.extra_specs, request.image_properties
        traits = isolated_aggregates.required_traits(specs, image)
        found.append(isolated_aggregates.isolate(traits, known).forbidden)
    return (*filter(None, dict.fromkeys(found)),)


def is_assumed(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether the answer depends on aggregates of which Placement was not asked."""
    if cloud.hosts is None:
        return False
    return not cloud.compared_aggregates.issuperset(asked_of_placement(request, cloud))


def marked(
    snapshot: CloudSnapshot,
    roots: Sequence[str],
    members: Mapping[frozenset[str], Collection[str]],
) -> CloudSnapshot:
    """Return the snapshot with the aggregates of each host that differ between the services.

    :param roots: the UUID of the root provider of each host.
    :param members: for each set of aggregates in a request to Placement, the UUIDs of the providers
        in at least one of them.
    """
    if snapshot.hosts is None:
        return snapshot
    return replace(
        snapshot,
        hosts=tuple(
            _marked(host, root, members) for host, root in zip(snapshot.hosts, roots, strict=True)
        ),
        compared_aggregates=snapshot.compared_aggregates | members.keys(),
    )


def _marked(host: Host, root: str, members: Mapping[frozenset[str], Collection[str]]) -> Host:
    without = _union(each for each, uuids in members.items() if root not in uuids)
    stale = _union(each for each in members if each.isdisjoint(host.aggregates)) - without
    lost = host.aggregates & without
    if not (stale or lost):
        return host
    return host.but(
        unmirrored=host.unmirrored | lost, stale_aggregates=host.stale_aggregates | stale
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
