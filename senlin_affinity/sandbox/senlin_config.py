"""The configuration file of the sandbox's Senlin, as values; what differs from defaults says why.

Units: seconds.
"""

from __future__ import annotations

from senlin_affinity.sandbox import components
from senlin_affinity.sandbox.identities import DOMAIN_NAME, REGION, SERVICE, USERS
from senlin_affinity.sandbox.ini import Sections, service_credentials
from senlin_affinity.sandbox.plan import Plan


def senlin_sections(plan: Plan) -> Sections:
    """Give senlin.conf."""
    directory, identity = plan.directory, plan.endpoints.url('identity')
    password = USERS['senlin'].password(plan.secret)
    return {
        'DEFAULT': {
            'log_file': f'{directory}/senlin.log',
            'use_stderr': False,
            'host': 'sandbox-senlin',
            'transport_url': 'fake://',
            'default_region_name': REGION,
            # Node actions of one cluster start together, and a busy cluster is looked at soon.
            'batch_interval': 0,
            'lock_retry_interval': 1,
            'lock_retry_times': 40,
            'default_nova_timeout': 120,
        },
        'database': {
            'connection': f'sqlite:///{directory}/senlin.sqlite',
            'sqlite_synchronous': False,
            # No limit: a session that the engine leaks must not make the others wait.
            'max_pool_size': 0,
        },
        'senlin_api': {'api_paste_config': components.installed_file('senlin', 'api-paste.ini')},
        'authentication': {
            'auth_url': f'{identity}/v3',
            'service_username': 'senlin',
            'service_password': password,
            'service_project_name': SERVICE.name,
            'service_user_domain': DOMAIN_NAME,
            'service_project_domain': DOMAIN_NAME,
        },
        'keystone_authtoken': {
            **service_credentials('senlin', password, identity, REGION),
            'www_authenticate_uri': identity,
            'service_token_roles': 'service',
            'service_token_roles_required': True,
        },
        'oslo_policy': {'policy_file': f'{directory}/no-policy.yaml'},
        'oslo_messaging_notifications': {'driver': 'noop'},
    }
