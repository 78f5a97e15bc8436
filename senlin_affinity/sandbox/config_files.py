r"""Write the configuration files of the sandbox's Nova, Placement and Senlin.

A comment gives the reason for an option that differs from an operator's cloud.
"""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from senlin_affinity.conf import files
from senlin_affinity.sandbox.blueprint import RunPlan
from senlin_affinity.sandbox.identities import (
    DOMAIN_ID,
    DOMAIN_NAME,
    READER,
    REGION,
    SERVICE,
    USERS,
)

Sections = Mapping[str, Mapping[str, Any]]

_CLIENTS = ('placement', 'neutron', 'glance', 'keystone', 'service_user')


def write(path: Path, *layers: Sections) -> None:
    """Write the sections of all layers; an option of a later layer wins.

    A list is one comma-separated line, a tuple one line per value.
    """
    merged: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for section, options in layer.items():
            merged.setdefault(section, {}).update(options)
    with path.open('w', encoding='utf-8') as file:
        for section, options in merged.items():
            file.write(f'[{section}]\n')
            for name, value in options.items():
                for item in value if isinstance(value, tuple) else (value,):
                    text = ','.join(map(str, item)) if isinstance(item, list) else item
                    file.write(f'{name} = {text}\n')


def installed_file(distribution: str, name: str) -> Path:
    """Return the path of a file that a distribution has installed."""
    for file in importlib.metadata.files(distribution) or ():
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise FileNotFoundError(f'{distribution} has installed no {name}')


def database(plan: RunPlan, name: str) -> dict[str, Any]:
    """Return the options of a database in the work directory."""
    return {
        'connection': f'sqlite:///{plan.directory}/{name}.sqlite',
        'sqlite_synchronous': False,
    }


def _credentials(plan: RunPlan, username: str) -> dict[str, str]:
    return {
        'auth_type': 'password',
        'auth_url': plan.endpoints.url('identity'),
        'username': username,
        'password': USERS[username].password(plan.secret),
        'project_name': SERVICE.name,
        'user_domain_id': DOMAIN_ID,
        'project_domain_id': DOMAIN_ID,
        'region_name': REGION,
    }


def _of_every_service(plan: RunPlan, username: str) -> Sections:
    policy = plan.directory / f'{username}-policy.yaml'
    more = plan.directory / f'{username}-policy.d'
    more.mkdir(exist_ok=True)  # the file is written again if options change
    if username in ('nova', 'placement'):
        shutil.copyfile(files.example(f'rights/{username}.yaml'), policy)
    return {
        'DEFAULT': {
            'log_file': f'{plan.directory}/{username}.log',
            'use_stderr': False,
            'transport_url': 'fake://',
        },
        'keystone_authtoken': {
            **_credentials(plan, username),
            'www_authenticate_uri': plan.endpoints.url('identity'),
            'service_token_roles': 'service',
            'service_token_roles_required': True,
        },
        'oslo_policy': {'policy_file': policy, 'policy_dirs': more},
        'oslo_messaging_notifications': {'driver': 'noop'},
    }


def write_nova(plan: RunPlan) -> Path:
    """Write nova.conf."""
    directory, blueprint = plan.directory, plan.blueprint
    zone = blueprint.default_availability_zone
    sections: Sections = {
        'DEFAULT': {
            'state_path': directory,
            'my_ip': '127.0.0.1',
            'host': 'sandbox-controller',
            'compute_driver': 'fake.SandboxDriver',
            # The sandbox itself runs the only task that matters (nova_process).
            'periodic_enable': False,
            'report_interval': 60,
            'service_down_time': 86400,
            'executor_thread_pool_size': 8,
            # A server's late check also counts servers that wait for theirs: of four at once on a
            # host for three, two or more are rescheduled. The larger option is the number of
            # concurrent builds.
            'max_concurrent_builds': 1,
            'max_concurrent_snapshots': 1,
            'reserved_host_memory_mb': 0,
            'manager_shutdown_timeout': 0,
            **({} if zone is None else {'default_schedule_zone': zone}),
        },
        'wsgi': {'api_paste_config': directory / 'api-paste.ini'},
        # Nova builds a validator for each response.
        'api': {'response_validation': 'ignore'},
        'database': database(plan, 'cell1'),
        'api_database': database(plan, 'api'),
        'oslo_concurrency': {'lock_path': f'{directory}/locks'},
        'oslo_limit': {'endpoint_id': 'unused'},
        'quota': blueprint.quotas,
        # Concurrent servers of an anti-affinity group race for a host, and are rescheduled.
        'scheduler': {'workers': 1, 'max_attempts': 10},
        'filter_scheduler': {
            'available_filters': (
                'nova.scheduler.filters.all_filters',
                *blueprint.available_filters,
            ),
            'enabled_filters': list(blueprint.filters),
            # A host where a server failed to build keeps its weight.
            'build_failure_weight_multiplier': 0,
        },
        'key_manager': {'backend': 'nova.keymgr.conf_key_mgr.ConfKeyManager'},
        'vnc': {'enabled': False},
        'cinder': {'auth_type': 'none'},
        **{group: _credentials(plan, 'nova') for group in _CLIENTS},
    }
    path = directory / 'nova.conf'
    write(path, _of_every_service(plan, 'nova'), sections, blueprint.nova_options)
    return path


def write_placement(plan: RunPlan) -> Path:
    """Write placement.conf."""
    path = plan.directory / 'placement.conf'
    sections = {'placement_database': database(plan, 'placement')}
    write(path, _of_every_service(plan, 'placement'), sections)
    return path


def write_senlin(plan: RunPlan) -> Path:
    """Write senlin.conf."""
    sections: Sections = {
        'DEFAULT': {
            'host': 'sandbox-senlin',
            'default_region_name': REGION,
            # Start the node actions of a cluster together.
            'batch_interval': 0,
            'lock_retry_interval': 1,
            'lock_retry_times': 40,
            'default_nova_timeout': 120,
        },
        # Unlimited, so that a leaked session does not block others.
        'database': {**database(plan, 'senlin'), 'max_pool_size': 0},
        'senlin_api': {'api_paste_config': installed_file('senlin', 'api-paste.ini')},
        'authentication': {
            'auth_url': f'{plan.endpoints.url("identity")}/v3',
            'service_username': 'senlin',
            'service_password': USERS['senlin'].password(plan.secret),
            'service_project_name': SERVICE.name,
            'service_user_domain': DOMAIN_NAME,
            'service_project_domain': DOMAIN_NAME,
        },
        # An auth_section for [senlin_affinity_cloud].
        'cloud_eyes': _credentials(plan, READER.name),
    }
    path = plan.directory / 'senlin.conf'
    write(path, _of_every_service(plan, 'senlin'), sections, plan.blueprint.senlin_options)
    return path
