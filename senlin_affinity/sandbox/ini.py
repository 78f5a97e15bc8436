"""Writes configuration files of oslo.config.

Shapes::

    render({'DEFAULT': {'debug': False, 'enabled': ['a', 'b']}})
        == '[DEFAULT]\\ndebug = false\\nenabled = a,b\\n'

A list is one line with commas; a tuple is one line per value, for options that may be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Sections = Mapping[str, Mapping[str, Any]]


def render(*layers: Sections) -> str:
    """Write the sections of all layers; an option of a later layer wins."""
    merged: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for section, options in layer.items():
            merged.setdefault(section, {}).update(options)
    lines = []
    for section, options in merged.items():
        lines.append(f'[{section}]')
        for name, value in options.items():
            values = value if isinstance(value, tuple) else (value,)
            lines.extend(f'{name} = {_text(item)}' for item in values)
    return '\n'.join(lines) + '\n'


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ','.join(str(item) for item in value)
    return str(value)


def service_credentials(username: str, password: str, auth_url: str, region: str) -> dict[str, str]:
    """Give the options with which a service authenticates (those of keystoneauth's loading)."""
    return {
        'auth_type': 'password',
        'auth_url': auth_url,
        'username': username,
        'password': password,
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
        'region_name': region,
    }
