"""The real Nova in this process: API, conductor, scheduler and a compute service for every host.

Nova keeps its options and much else in globals: one cloud per process.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable
from typing import Any

from senlin_affinity.sandbox import (
    api_paste,
    components,
    fake_hypervisor,
    ini,
    nova_config,
    workarounds,
)
from senlin_affinity.sandbox.blueprint import HostSpec
from senlin_affinity.sandbox.plan import Plan
from senlin_affinity.sandbox.template_databases import Templates, flush, versions
from senlin_affinity.sandbox.wsgi import Application

_MAKERS = ('nova', 'sqlalchemy')
_CELL1 = str(uuid.uuid5(uuid.NAMESPACE_DNS, 'cell1'))

#: The services that run; nothing else holds them.
_running: list[Any] = []


def load(plan: Plan) -> None:
    """Import Nova and read its configuration."""
    from nova import monkey_patch

    monkey_patch.patch(backend='threading')
    from nova import config, objects
    from oslo_log import log

    objects.register_all()
    workarounds.queue_sqlite_writers()
    workarounds.keep_sqlite_connections()
    workarounds.wake_rpc_listeners()
    workarounds.cap_microversions(
        plan.blueprint.compute_max_version, plan.blueprint.placement_max_version
    )
    fake_hypervisor.install(plan.blueprint.hosts)
    pipelines = components.installed_file('nova', 'api-paste.ini').read_text(encoding='utf-8')
    if plan.blueprint.api_filters:
        pipelines = api_paste.with_filters(pipelines, plan.blueprint.api_filters)
    (plan.directory / 'api-paste.ini').write_text(pipelines, encoding='utf-8')
    path = plan.directory / 'nova.conf'
    sections = nova_config.nova_sections(plan)
    path.write_text(ini.render(sections, plan.blueprint.nova_options), encoding='utf-8')
    config.parse_args(['nova', '--config-file', str(path)])
    log.setup(config.CONF, 'nova')


def start_api(plan: Plan) -> Application:
    """Make the databases and give the WSGI application, built from its api-paste.ini."""
    from nova.api import wsgi
    from nova.api.openstack import wsgi_app
    from nova.conf import CONF

    _make_databases(plan)
    application = wsgi.Loader().load_app('osapi_compute')
    wsgi_app._setup_service(CONF.host, 'osapi_compute')
    return application


def _make_databases(plan: Plan) -> None:
    from nova import context, objects
    from nova.db import migration

    templates = Templates(plan.cache, versions(_MAKERS), plan.directory)
    templates.provide('api', lambda: migration.db_sync(database='api'))
    cell1 = templates.provide('cell1', lambda: migration.db_sync(database='main'))
    # The schema of cell0 is the same one, and both are still empty.
    flush(cell1)
    shutil.copyfile(cell1, plan.directory / 'cell0.sqlite')
    admin = context.get_admin_context()
    for name, identity, transport in (
        ('cell0', objects.CellMapping.CELL0_UUID, 'none:///'),
        ('cell1', _CELL1, 'fake://'),
    ):
        objects.CellMapping(
            admin,
            uuid=identity,
            name=name,
            transport_url=transport,
            database_connection=nova_config.database_url(plan.directory, name),
        ).create()


def start_controllers() -> None:
    """Start the conductor and the scheduler."""
    from nova import service

    for binary in ('nova-conductor', 'nova-scheduler'):
        _start(service.Service.create(binary=binary))


def start_computes(hosts: Iterable[HostSpec]) -> None:
    """Start a compute service for every host, and tell Nova's cell of them."""
    from nova import context, service
    from nova.compute import rpcapi
    from nova.conf import CONF
    from nova.objects import host_mapping

    for host in hosts:
        # Some places read the option instead of the service's own host while it is made.
        CONF.set_override('host', host.name)
        try:
            compute = service.Service.create(
                host=host.name,
                binary='nova-compute',
                topic=rpcapi.RPC_TOPIC,
                topic_alt=rpcapi.RPC_TOPIC_ALT,
            )
            # The check is about one file per machine, and here are many computes on one.
            compute.manager._ensure_existing_node_identity = lambda _service: None
            _start(compute)
        finally:
            CONF.clear_override('host')
    host_mapping.discover_hosts(context.get_admin_context(), _CELL1)


def _start(service: Any) -> None:
    service.start()
    _running.append(service)
