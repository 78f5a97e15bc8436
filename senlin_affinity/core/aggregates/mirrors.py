"""Host aggregates, and what Placement knows of them: who is a member there, too.

Nova repeats each change of an aggregate's hosts in Placement, and asks there for the aggregates of
a zone or of a tenant. Where that failed, no server of theirs comes to the host.

Source: Nova's aggregates; ``nova-manage placement sync_aggregates`` mends what is missing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from senlin_affinity.core.aggregates import isolation
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.core.verdict import Verdict


def required(snapshot: CloudSnapshot, zone: str | None, tenant: str | None) -> frozenset[str]:
    """The aggregates with hosts that Nova asks for: those of a zone, and of a tenant."""
    found = set(snapshot.zones.carried_by.get(zone or '', ()))
    if tenant is not None:
        known = snapshot.aggregates or ()
        own = isolation.limit_to_tenant(tenant, known, is_aggregate_required=False)
        if not isinstance(own, Verdict):
            found.update(*own.required)
    return _with_hosts(snapshot) & found


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


def _with_hosts(snapshot: CloudSnapshot) -> frozenset[str]:
    return frozenset().union(*(aggregates for _zone, aggregates in snapshot.places))
