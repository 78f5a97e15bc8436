"""Puts flavors, aggregates and disabled hosts into a Nova that has just started, over its API."""

from __future__ import annotations

from typing import Any

from senlin_affinity.sandbox import json_client
from senlin_affinity.sandbox.blueprint import AggregateSpec, FlavorSpec
from senlin_affinity.sandbox.identities import ADMIN
from senlin_affinity.sandbox.plan import Plan


class _Compute:
    """The compute API, as the administrator of the sandbox."""

    def __init__(self, plan: Plan) -> None:
        self._url = plan.endpoints.url('compute')
        user = {'id': ADMIN.id, 'password': ADMIN.password(plan.secret)}
        identity = {'methods': ['password'], 'password': {'user': user}}
        scope = {'project': {'id': ADMIN.project.id}}
        _body, headers = json_client.call(
            'POST',
            plan.endpoints.url('identity') + '/v3/auth/tokens',
            {'auth': {'identity': identity, 'scope': scope}},
        )
        # Microversion 2.1, which every cloud has, also one that was made to look old.
        self._headers = {'X-Auth-Token': headers['X-Subject-Token']}

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return json_client.call(method, self._url + path, body, self._headers)[0]


def arrange(plan: Plan) -> None:
    """Make everything that the blueprint has beside its hosts."""
    compute = _Compute(plan)
    for flavor in plan.blueprint.flavors:
        _make_flavor(compute, flavor)
    for aggregate in plan.blueprint.all_aggregates():
        _make_aggregate(compute, aggregate)
    for host in plan.blueprint.hosts:
        if host.disabled:
            service = {'host': host.name, 'binary': 'nova-compute'}
            compute.call('PUT', '/os-services/disable', service)


def _make_flavor(compute: _Compute, flavor: FlavorSpec) -> None:
    body = {'name': flavor.name, 'vcpus': flavor.vcpus, 'ram': flavor.ram, 'disk': flavor.disk}
    if flavor.id is not None:
        body['id'] = flavor.id
    made = compute.call('POST', '/flavors', {'flavor': body})['flavor']
    if flavor.extra_specs:
        path = f'/flavors/{made["id"]}/os-extra_specs'
        compute.call('POST', path, {'extra_specs': dict(flavor.extra_specs)})


def _make_aggregate(compute: _Compute, aggregate: AggregateSpec) -> None:
    body = {'name': aggregate.name, 'availability_zone': aggregate.availability_zone}
    made = compute.call('POST', '/os-aggregates', {'aggregate': body})['aggregate']
    path = f'/os-aggregates/{made["id"]}/action'
    for host in aggregate.hosts:
        compute.call('POST', path, {'add_host': {'host': host}})
    if aggregate.metadata:
        metadata = {'metadata': dict(aggregate.metadata)}
        compute.call('POST', path, {'set_metadata': metadata})
