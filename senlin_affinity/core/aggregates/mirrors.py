"""Host aggregates, and what Placement knows of them: who is a member there, too.

Nova repeats each change of an aggregate's hosts in Placement, and asks there for the aggregates of
a zone or of a tenant. Where that failed, no server of theirs comes to the host.

Source: Nova's aggregates; ``nova-manage placement sync_aggregates`` mends what is missing.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from senlin_affinity.core.aggregates import isolation
from senlin_affinity.core.aggregates.reserved import asked_by_nova
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.nova_options import TENANTS
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.verdict import Verdict
from senlin_affinity.core.wanted_zone import wanted_zone


def required(resolved: ResolvedRequest) -> frozenset[str]:
    """The aggregates with hosts that Nova asks for: of the zone, the tenant, the reservation."""
    snapshot, tenant = resolved.snapshot, resolved.project_id
    found = set(snapshot.zones.carried_by.get(wanted_zone(resolved) or '', ()))
    if tenant is not None and resolved.option(TENANTS):
        known = snapshot.aggregates or ()
        own = isolation.limit_to_tenant(tenant, known, is_aggregate_required=False)
        if not isinstance(own, Verdict):
            found.update(*own.required)
    with suppress(InvalidSpec):  # Nova refuses it: it asks for nothing
        found.update(*asked_by_nova(resolved).required)
    with_hosts = frozenset().union(*(aggregates for _zone, aggregates in snapshot.places))
    return with_hosts & found


def marked(
    snapshot: CloudSnapshot, aggregates: frozenset[str], members: Collection[str]
) -> CloudSnapshot:
    """The snapshot, with the aggregates that Placement does not know hosts to be in.

    :param members: the names of the providers that are in one of these aggregates.
    """
    hosts = tuple(
        host.but(unmirrored=host.unmirrored | (host.aggregates & aggregates))
        if host.hypervisor_hostname not in members and not aggregates.isdisjoint(host.aggregates)
        else host
        for host in snapshot.hosts or ()
    )
    return replace(snapshot, hosts=None if snapshot.hosts is None else hosts)
