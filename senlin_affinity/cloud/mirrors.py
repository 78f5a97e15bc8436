"""Which hosts Placement knows to be in the aggregates that a question requires: one request.

Errors: CloudError. Who may not ask Placement (a 403), or too many aggregates for one request, leave
the snapshot as it is: nothing is known then.
"""

from __future__ import annotations

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.eyes import CloudsEyes
from senlin_affinity.cloud.providers import TREES
from senlin_affinity.cloud.rest import CloudsRest
from senlin_affinity.core.aggregates import mirrors
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.objects import CloudSnapshot

#: More would make the address of a request too long for some servers.
_MOST = 100
_PROVIDERS = 'list the resource providers of aggregates'


def see(
    cloud: CloudsEyes,
    snapshot: CloudSnapshot,
    aggregates: frozenset[str],
    timeout: float | None = None,
) -> CloudSnapshot:
    """The snapshot, with the aggregates that hosts are in as Nova says, and Placement does not."""
    if not 0 < len(aggregates) <= _MOST:
        return snapshot
    placement = clouds.placement(cloud, timeout)
    if placement.pick(TREES) < TREES:
        return snapshot
    try:
        members = named(placement, aggregates)
    except CloudError as error:
        if error.status != 403:
            raise
        return snapshot
    return mirrors.marked(snapshot, aggregates, members)


def named(placement: CloudsRest, aggregates: frozenset[str]) -> set[str]:
    """The names of the providers in one of these. One request."""
    query = {'member_of': f'in:{",".join(sorted(aggregates))}'}
    body = placement.get('/resource_providers', _PROVIDERS, TREES, params=query)
    with reading(_PROVIDERS):
        return {item['name'] for item in body['resource_providers']}
