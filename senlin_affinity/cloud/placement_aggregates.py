"""Fetch the members of aggregates in Placement, as far as a question depends on them.

One request for each 100 aggregates of each set that Nova requires or forbids together.
"""

from __future__ import annotations

from collections.abc import Collection

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.clients import OperatorClient
from senlin_affinity.cloud.paging import allowed, reading
from senlin_affinity.cloud.providers import TREES
from senlin_affinity.cloud.rest import OperatorRest, malformed
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.nova import queried_aggregates

#: More would make the URL too long.
_MOST = 100
_PROVIDERS = 'list the resource providers of aggregates'


def compare(
    operator: OperatorClient,
    cloud: Cloud,
    sets: Collection[frozenset[str]],
) -> Cloud:
    """Return the cloud with the differences between the aggregates of Nova and Placement.

    A host is a member if the provider with the id of its hypervisor is one, whatever the name of
    the provider. Unchanged without ``sets`` (of aggregate UUIDs), below microversion 1.29, and for
    a 403.
    """
    if not sets:
        return cloud
    placement = clouds.placement(operator)
    if placement.pick(TREES) < TREES:
        return cloud
    members = allowed(lambda: {each: providers_in(placement, each) for each in sets})
    return cloud if members is None else queried_aggregates.marked(cloud, cloud.roots, members)


def providers_in(placement: OperatorRest, aggregates: Collection[str]) -> dict[str, str]:
    """Fetch the providers in any of these aggregates (UUIDs): their names by UUID."""
    uuids = sorted(aggregates)
    found: dict[str, str] = {}
    for start in range(0, len(uuids), _MOST):
        query = {'member_of': f'in:{",".join(uuids[start : start + _MOST])}'}
        body = placement.get('/resource_providers', _PROVIDERS, TREES, params=query)
        with reading(_PROVIDERS):
            found |= {item['uuid']: item['name'] for item in body['resource_providers']}
    if not all(isinstance(name, str) for name in found.values()):
        raise malformed(_PROVIDERS, 'the answer lacks the name of a resource provider')
    return found
