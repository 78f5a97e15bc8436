"""Run Nova, Placement and the stubs: ``python -m senlin_affinity.sandbox.nova_process``.

The stubs start first, so that Senlin's process can start at the same time. Nova keeps its state in
globals, so each cloud has its own process.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from senlin_affinity.sandbox import config_files, lifeline, workarounds
from senlin_affinity.sandbox.blueprint import AggregateSpec, FlavorSpec, HostSpec, RunPlan
from senlin_affinity.sandbox.identities import ADMIN
from senlin_affinity.sandbox.lifeline import Lifeline
from senlin_affinity.sandbox.template_databases import flush, provide

LOG = logging.getLogger(__name__)

_CELL1 = str(uuid.uuid5(uuid.NAMESPACE_DNS, 'cell1'))
#: The seconds between periodic tasks without an interval of their own.
_INTERVAL = 60
#: The defaults of an inventory; with a missing field, Nova would rewrite it for every server.
_USUAL = {'reserved': 0, 'min_unit': 1, 'step_size': 1, 'allocation_ratio': 1.0}
#: The supported instances by hypervisor type.
_SUPPORTED = {
    'QEMU': [(arch, kind, 'hvm') for arch in ('x86_64', 'i686') for kind in ('qemu', 'kvm')],
    'VMware vCenter Server': [(arch, 'vmware', 'hvm') for arch in ('i686', 'x86_64')],
}
_FAKE = [('x86_64', 'fake', 'hvm')]
#: The pipelines that end in Nova's API itself.
_PIPELINE = re.compile(r'^(keystone = .*) (osapi_compute_app_v21)$', re.MULTILINE)


def run(plan: RunPlan, listener: socket.socket, parent: Lifeline) -> None:
    """Start everything, and wait forever."""
    # A Python without Nova may lack the packages that these need.
    from senlin_affinity.sandbox import wsgi
    from senlin_affinity.sandbox.controls import Controls
    from senlin_affinity.sandbox.faults import Observer
    from senlin_affinity.sandbox.glance_and_neutron import Glance, Neutron
    from senlin_affinity.sandbox.keystone import Keystone

    observer, switchboard = Observer(), wsgi.Switchboard()
    applications = switchboard.applications
    applications['_sandbox'] = observer
    applications['identity'] = Keystone(plan.endpoints, plan.secret)
    applications['image'] = Glance(plan.endpoints, plan.blueprint.images)
    applications['network'] = Neutron(plan.endpoints)
    wsgi.serve(listener, switchboard)

    # Set before any import of Nova: native threads, no eventlet.
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    parent.tell(stage='Nova and Placement are loading')
    specs = {host.name: host for host in plan.blueprint.hosts}
    _load_nova(plan, specs)
    applications['placement'] = observer.watch('placement', _start_placement(plan))
    parent.tell(stage='Placement runs')
    applications['compute'] = observer.watch('compute', _start_api(plan))
    running = list(_start_controllers())
    parent.tell(stage="Nova's API, conductor and scheduler run")
    for number, compute in enumerate(_start_computes(specs), 1):
        running.append(compute)
        if number % 100 == 0 and number < len(specs):
            parent.tell(stage=f'{number} of {len(specs)} compute services run')
    parent.tell(stage=f'{len(specs)} compute services run')
    applications['_nova'] = controls = Controls(running, specs)
    _furnish(plan)
    parent.tell(ready=True)
    _repeat(controls.sync_servers)
    del running  # keeps the services alive until here


def _load_nova(plan: RunPlan, specs: Mapping[str, HostSpec]) -> None:
    from nova import monkey_patch

    monkey_patch.patch(backend='threading')
    from nova import config, objects
    from oslo_log import log

    blueprint = plan.blueprint
    objects.register_all()
    workarounds.queue_sqlite_writers()
    workarounds.keep_sqlite_connections()
    workarounds.wake_rpc_listeners()
    workarounds.cap_microversions(blueprint.compute_max_version, blueprint.placement_max_version)
    _install_driver(specs)
    pipelines = config_files.installed_file('nova', 'api-paste.ini').read_text(encoding='utf-8')
    if blueprint.api_filters:
        pipelines = with_filters(pipelines, blueprint.api_filters)
    (plan.directory / 'api-paste.ini').write_text(pipelines, encoding='utf-8')
    path = config_files.write_nova(plan)
    config.parse_args(['nova', '--config-file', str(path)])
    log.setup(config.CONF, 'nova')


def _install_driver(specs: Mapping[str, HostSpec]) -> None:
    """Install ``fake.SandboxDriver``: Nova's fake driver, with each host's size, name and type.

    Nova finds drivers only in ``nova.virt``.
    """
    from nova.virt import fake

    class SandboxDriver(fake.FakeDriver):
        """The driver of one compute service."""

        def init_host(self, host: str) -> None:
            spec = specs.get(host, HostSpec(host))
            self._host = host
            self._set_nodes([spec.hypervisor_hostname or host])
            self.take(spec)

        def take(self, spec: HostSpec) -> None:
            self.vcpus, self.memory_mb = spec.vcpus, spec.memory_mb
            self.local_gb = spec.disk_gb
            self.resources = fake.Resources(spec.vcpus, spec.memory_mb, spec.disk_gb)
            status = self.host_status_base
            status['hypervisor_type'] = spec.hypervisor_type
            status['supported_instances'] = _SUPPORTED.get(spec.hypervisor_type, _FAKE)

        def update_provider_tree(self, tree: Any, node: str, allocations: Any = None) -> None:
            super().update_provider_tree(tree, node, allocations)
            inventory = tree.data(node).inventory
            for name, values in specs.get(self._host, HostSpec(self._host)).inventory.items():
                usual = {**_USUAL, 'max_unit': values.get('total')}
                inventory[name] = {**inventory.get(name, usual), **values}
            has = {name: values for name, values in inventory.items() if values['total']}
            tree.update_inventory(node, has)

        def get_available_resource(self, nodename: str) -> dict[str, Any]:
            resources = super().get_available_resource(nodename)
            if resources:
                resources['uuid'] = _identity(nodename)
            return resources

        def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
            return {_identity(name): name for name in self.get_available_nodes()}

    fake.SandboxDriver = SandboxDriver


def _identity(hypervisor_hostname: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, hypervisor_hostname))


def with_filters(text: str, filters: Iterable[str]) -> str:
    """Add filters to Nova's api-paste.ini, each in the form of paste's ``use``.

    They are last in the pipeline, where the request's user is known.
    """
    sections = {f'sandbox_filter_{number}': use for number, use in enumerate(filters)}
    text, found = _PIPELINE.subn(rf'\1 {" ".join(sections)} \2', text)
    if not found:
        raise LookupError("Nova's api-paste.ini has no pipeline that ends in osapi_compute_app_v21")
    return text + ''.join(f'\n[filter:{name}]\nuse = {use}\n' for name, use in sections.items())


def _start_placement(plan: RunPlan) -> Any:
    from oslo_config import cfg
    from placement import conf, db_api, deploy
    from placement.db.sqlalchemy import migration

    path = config_files.write_placement(plan)
    options = cfg.ConfigOpts()
    conf.register_opts(options)
    options(['--config-file', str(path)], project='placement')
    db_api.configure(options)

    def make() -> None:
        migration.create_schema(db_api.get_placement_engine())
        deploy.update_database(options)

    makers = ('openstack-placement', 'os-traits', 'os-resource-classes', 'sqlalchemy')
    provide(plan, 'placement', makers, make)
    return deploy.loadapp(options)


def _start_api(plan: RunPlan) -> Any:
    from nova.api import wsgi as nova_wsgi
    from nova.api.openstack import wsgi_app
    from nova.conf import CONF

    _make_databases(plan)
    application = nova_wsgi.Loader().load_app('osapi_compute')
    wsgi_app._setup_service(CONF.host, 'osapi_compute')
    return application


def _make_databases(plan: RunPlan) -> None:
    from nova import context, objects
    from nova.db import migration

    makers = ('nova', 'sqlalchemy')
    provide(plan, 'api', makers, lambda: migration.db_sync(database='api'))
    cell1 = provide(plan, 'cell1', makers, lambda: migration.db_sync(database='main'))
    # cell0 has the same schema, and both are still empty.
    flush(cell1)
    shutil.copyfile(cell1, cell1.with_stem('cell0'))
    for name, identity, transport in (
        ('cell0', objects.CellMapping.CELL0_UUID, 'none:///'),
        ('cell1', _CELL1, 'fake://'),
    ):
        objects.CellMapping(
            context.get_admin_context(),
            uuid=identity,
            name=name,
            transport_url=transport,
            database_connection=config_files.database(plan, name)['connection'],
        ).create()


def _start_controllers() -> Iterator[Any]:
    from nova import service

    for binary in ('nova-conductor', 'nova-scheduler'):
        controller = service.Service.create(binary=binary)
        controller.start()
        yield controller


def _start_computes(hosts: Iterable[str]) -> Iterator[Any]:
    """Start a compute service for every host, and map the hosts to Nova's cell."""
    from nova import context, service
    from nova.compute import rpcapi
    from nova.conf import CONF
    from nova.objects import host_mapping

    topics = {'topic': rpcapi.RPC_TOPIC, 'topic_alt': rpcapi.RPC_TOPIC_ALT}
    for host in hosts:
        # Some code reads the option instead of the service's host.
        CONF.set_override('host', host)
        try:
            compute = service.Service.create(host=host, binary='nova-compute', **topics)
            # The check compares one file per machine.
            compute.manager._ensure_existing_node_identity = lambda _service: None
            compute.start()
            yield compute
        finally:
            CONF.clear_override('host')
    host_mapping.discover_hosts(context.get_admin_context(), _CELL1)


def _repeat(sync_servers: Callable[[], None]) -> None:
    """Run the only periodic task at its interval, forever; without one, only wait."""
    from nova.conf import CONF

    interval = CONF.scheduler_instance_sync_interval or _INTERVAL
    forever = threading.Event()
    while not forever.wait(interval if interval > 0 else None):
        try:
            sync_servers()
        except Exception:
            LOG.exception('the servers were not reported to nova-scheduler')


def _furnish(plan: RunPlan) -> None:
    """Create flavors and aggregates, and disable hosts, over the API."""
    from keystoneauth1.adapter import Adapter
    from keystoneauth1.identity import v3
    from keystoneauth1.session import Session

    password = v3.Password(
        f'{plan.endpoints.url("identity")}/v3',
        user_id=ADMIN.id,
        password=ADMIN.password(plan.secret),
        project_id=ADMIN.project.id,
    )
    # Microversion 2.1 exists in every cloud.
    compute = Adapter(Session(password), endpoint_override=plan.endpoints.url('compute'))
    for flavor in plan.blueprint.flavors:
        _make_flavor(compute, flavor)
    for aggregate in plan.blueprint.all_aggregates():
        _make_aggregate(compute, aggregate)
    for host in plan.blueprint.hosts:
        if host.disabled:
            service = {'host': host.name, 'binary': 'nova-compute'}
            compute.put('/os-services/disable', json=service)


def _make_flavor(compute: Any, flavor: FlavorSpec) -> None:
    body = dataclasses.asdict(flavor)
    extra_specs = {'extra_specs': body.pop('extra_specs')}
    made = compute.post('/flavors', json={'flavor': body}).json()['flavor']
    if flavor.extra_specs:
        compute.post(f'/flavors/{made["id"]}/os-extra_specs', json=extra_specs)


def _make_aggregate(compute: Any, aggregate: AggregateSpec) -> None:
    body = {'name': aggregate.name, 'availability_zone': aggregate.availability_zone}
    made = compute.post('/os-aggregates', json={'aggregate': body}).json()['aggregate']
    path = f'/os-aggregates/{made["id"]}/action'
    for host in aggregate.hosts:
        compute.post(path, json={'add_host': {'host': host}})
    if aggregate.metadata:
        compute.post(path, json={'set_metadata': {'metadata': aggregate.metadata}})


if __name__ == '__main__':
    lifeline.run(('nova', 'openstack-placement'), run)
