"""Load what the process of a sandbox's Nova and Placement imports; see ``forked``."""

import gc
import importlib
import os

MODULES = (
    'nova.api.openstack.compute.routes',
    'nova.api.openstack.wsgi_app',
    'nova.compute.manager',
    'nova.conductor.manager',
    'nova.objects',
    'nova.scheduler.manager',
    'nova.virt.fake',
    'placement.db.sqlalchemy.migration',
    'placement.deploy',
    'senlin_affinity.sandbox.controls',
    'senlin_affinity.sandbox.glance_and_neutron',
    'senlin_affinity.sandbox.keystone',
)


def load() -> None:
    """Import the modules, as ``nova_process`` does: native threads, no eventlet."""
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    monkey_patch = importlib.import_module('nova.monkey_patch')
    monkey_patch.patch(backend='threading')
    for name in MODULES:
        importlib.import_module(name)
    importlib.import_module('nova.objects').register_all()
    gc.freeze()  # all forks share these objects


load()
