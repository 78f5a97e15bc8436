"""Puts flavors, aggregates and disabled hosts into a Nova that has just started, over its API."""

from __future__ import annotations

from keystoneauth1.adapter import Adapter
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from senlin_affinity.sandbox.blueprint import AggregateSpec, FlavorSpec, Plan
from senlin_affinity.sandbox.identities import ADMIN


def arrange(plan: Plan) -> None:
    """Make everything that the blueprint has beside its hosts."""
    password = v3.Password(
        f'{plan.endpoints.url("identity")}/v3',
        user_id=ADMIN.id,
        password=ADMIN.password(plan.secret),
        project_id=ADMIN.project.id,
    )
    # Microversion 2.1, which every cloud has, also one that was made to look old.
    compute = Adapter(Session(password), endpoint_override=plan.endpoints.url('compute'))
    for flavor in plan.blueprint.flavors:
        _make_flavor(compute, flavor)
    for aggregate in plan.blueprint.all_aggregates():
        _make_aggregate(compute, aggregate)
    for host in plan.blueprint.hosts:
        if host.disabled:
            service = {'host': host.name, 'binary': 'nova-compute'}
            compute.put('/os-services/disable', json=service)


def _make_flavor(compute: Adapter, flavor: FlavorSpec) -> None:
    body = {'name': flavor.name, 'vcpus': flavor.vcpus, 'ram': flavor.ram, 'disk': flavor.disk}
    if flavor.id is not None:
        body['id'] = flavor.id
    made = compute.post('/flavors', json={'flavor': body}).json()['flavor']
    if flavor.extra_specs:
        path = f'/flavors/{made["id"]}/os-extra_specs'
        compute.post(path, json={'extra_specs': flavor.extra_specs})


def _make_aggregate(compute: Adapter, aggregate: AggregateSpec) -> None:
    body = {'name': aggregate.name, 'availability_zone': aggregate.availability_zone}
    made = compute.post('/os-aggregates', json={'aggregate': body}).json()['aggregate']
    path = f'/os-aggregates/{made["id"]}/action'
    for host in aggregate.hosts:
        compute.post(path, json={'add_host': {'host': host}})
    if aggregate.metadata:
        compute.post(path, json={'set_metadata': {'metadata': aggregate.metadata}})
