"""Generate the responses of a Keystone: version, token, and the lookup of projects and users.

Source: https://docs.openstack.org/api-ref/identity/v3/ (``GET /v3``, ``POST /v3/auth/tokens``,
``GET /v3/projects``, ``GET /v3/users``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openstack
from openstack.connection import Connection

from tests.recordings.exchanges import Reply

REGION = 'RegionOne'
#: The response to a request without a required token.
UNAUTHORIZED = {
    'error': {
        'code': 401,
        'title': 'Unauthorized',
        'message': 'The request you have made requires authentication.',
    }
}
_DOMAIN = {'id': 'default', 'name': 'Default'}


def connect(auth_url: str, user: str = 'admin', **more: Any) -> Connection:
    """Return a real connection in the project with the user's name, with these options of
    openstacksdk.
    """
    auth = {
        'auth_url': auth_url,
        'username': user,
        'password': 'secret',
        'project_name': user,
        'user_domain_id': 'default',
        'project_domain_id': 'default',
    }
    more.setdefault('region_name', REGION)
    return openstack.connect(load_yaml_config=False, load_envvars=False, auth=auth, **more)


def version(url: str) -> dict[str, Any]:
    """Return the response to ``GET /v3``."""
    return {
        'version': {
            'id': 'v3.14',
            'status': 'stable',
            'updated': '2020-04-07T00:00:00Z',
            'media-types': [],
            'links': [{'rel': 'self', 'href': url}],
        }
    }


def listed(user: str, kind: str, name: str, known: Mapping[str, str]) -> Reply:
    """Return the response to ``GET /v3/<kind>?name=``; ``known`` are names by ids.

    :param kind: ``projects`` or ``users``.
    """
    if user != 'admin':
        message = f'You are not authorized to perform the requested action: identity:list_{kind}.'
        return Reply(403, {'error': {'code': 403, 'title': 'Forbidden', 'message': message}})
    found = [{'id': key, 'name': value} for key, value in known.items() if value == name]
    return Reply(200, {kind: found, 'links': {}})


def token(user: str, services: Mapping[str, str]) -> dict[str, Any]:
    """Return a token for the project with the user's name; ``services`` are URLs by type."""
    return {
        'token': {
            'methods': ['password'],
            'user': {'id': f'{user}-id', 'name': user, 'domain': _DOMAIN},
            'project': {'id': f'{user}-project', 'name': user, 'domain': _DOMAIN},
            'roles': [{'id': 'member-id', 'name': 'member'}],
            'issued_at': '2026-01-01T00:00:00.000000Z',
            'expires_at': '2999-01-01T00:00:00.000000Z',
            'is_domain': False,
            'audit_ids': ['audit'],
            'catalog': [_service(*service) for service in services.items()],
        }
    }


def _service(kind: str, url: str) -> dict[str, Any]:
    where = {'interface': 'public', 'region': REGION, 'region_id': REGION, 'url': url}
    endpoints = [{'id': f'{kind}-public', **where}]
    return {'type': kind, 'name': kind, 'id': kind, 'endpoints': endpoints}
