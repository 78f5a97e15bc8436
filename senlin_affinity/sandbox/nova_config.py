"""The configuration files of the sandbox's Nova and Placement, as values.

The options that differ from an operator's cloud say why.

Units: seconds, MB and GB as Nova has them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from senlin_affinity.sandbox.blueprint import Blueprint
from senlin_affinity.sandbox.identities import REGION, USERS
from senlin_affinity.sandbox.ini import Sections, service_credentials
from senlin_affinity.sandbox.plan import Plan

#: The groups of nova.conf with which Nova talks to the others.
_CLIENTS = ('placement', 'neutron', 'glance', 'keystone', 'service_user')


def database_url(directory: Path, name: str) -> str:
    """Give the URL of one of the databases in the work directory."""
    return f'sqlite:///{directory}/{name}.sqlite'


def _credentials(plan: Plan, username: str) -> dict[str, str]:
    password = USERS[username].password(plan.secret)
    return service_credentials(username, password, plan.endpoints.url('identity'), REGION)


def _authtoken(plan: Plan, username: str) -> dict[str, Any]:
    return {
        **_credentials(plan, username),
        'www_authenticate_uri': plan.endpoints.url('identity'),
        'service_token_roles': 'service',
        'service_token_roles_required': True,
    }


def _default_zone(blueprint: Blueprint) -> dict[str, str]:
    zone = blueprint.default_availability_zone
    return {} if zone is None else {'default_schedule_zone': zone}


def nova_sections(plan: Plan) -> Sections:
    """Give nova.conf."""
    directory, blueprint = plan.directory, plan.blueprint
    return {
        'DEFAULT': {
            'log_file': f'{directory}/nova.log',
            'use_stderr': False,
            'state_path': directory,
            'my_ip': '127.0.0.1',
            'host': 'sandbox-controller',
            'transport_url': 'fake://',
            'compute_driver': 'fake.SandboxDriver',
            # Nothing here depends on the periodic tasks, and they cost time.
            'periodic_enable': False,
            'report_interval': 60,
            'service_down_time': 86400,
            # One machine's worth of threads for every service there is.
            'executor_thread_pool_size': 8,
            # A server's late check counts those that still wait for theirs: of four at once on a
            # host for three, two or more are sent away, and one may find no host in the end.
            # The larger of the two is the number of servers that are built at a time.
            'max_concurrent_builds': 1,
            'max_concurrent_snapshots': 1,
            'reserved_host_memory_mb': 0,
            'manager_shutdown_timeout': 0,
            **_default_zone(blueprint),
        },
        'wsgi': {'api_paste_config': directory / 'api-paste.ini'},
        # Nova only writes a warning into its log, and makes a validator for each answer.
        'api': {'response_validation': 'ignore'},
        'database': {
            'connection': database_url(directory, 'cell1'),
            'sqlite_synchronous': False,
        },
        'api_database': {
            'connection': database_url(directory, 'api'),
            'sqlite_synchronous': False,
        },
        'oslo_concurrency': {'lock_path': f'{directory}/locks'},
        'oslo_messaging_notifications': {'driver': 'noop'},
        'oslo_limit': {'endpoint_id': 'unused'},
        'quota': {**blueprint.quotas},
        # Servers of one anti-affinity group that come at the same moment race for a host; the
        # compute's late check sends them back, and Nova's own 3 attempts may not be enough.
        'scheduler': {'workers': 1, 'max_attempts': 10},
        'filter_scheduler': {
            'available_filters': (
                'nova.scheduler.filters.all_filters',
                *blueprint.available_filters,
            ),
            'enabled_filters': list(blueprint.filters),
            # A host where a server failed to build is as good as before.
            'build_failure_weight_multiplier': 0,
        },
        'key_manager': {'backend': 'nova.keymgr.conf_key_mgr.ConfKeyManager'},
        'vnc': {'enabled': False},
        'cinder': {'auth_type': 'none'},
        **{group: _credentials(plan, 'nova') for group in _CLIENTS},
        'keystone_authtoken': _authtoken(plan, 'nova'),
    }


def placement_sections(plan: Plan) -> Sections:
    """Give placement.conf."""
    return {
        'placement_database': {
            'connection': database_url(plan.directory, 'placement'),
            'sqlite_synchronous': False,
        },
        'oslo_policy': {'policy_file': os.path.join(plan.directory, 'no-policy.yaml')},
        'keystone_authtoken': _authtoken(plan, 'placement'),
    }
