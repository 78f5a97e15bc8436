"""Record the requests of a snapshot to a real Nova and Placement: ``snapshot.json``.

The adapters use fixed microversions, so one record is sufficient. Ids, usage and order differ from
run to run; only the structure (:func:`shape`) is compared with the real services.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from senlin_affinity.sandbox.identities import ADMIN, DEMO
from tests.recordings import files
from tests.recordings.exchanges import Normaliser


def _quota_set(project: str) -> str:
    return f'/os-quota-sets/{project}/detail'


_ALL, _PAGE = {'all_tenants': '1'}, {'limit': '1'}
_MEMORY = {'resources': 'MEMORY_MB:1'}
_HYPERVISORS, _CANDIDATES = '/os-hypervisors/detail', '/allocation_candidates'
#: name -> user, service, path, microversion, query
REQUESTS: Mapping[str, tuple[str, str, str, str, Mapping[str, str]]] = {
    'hypervisors': ('admin', 'compute', _HYPERVISORS, '2.53', {'with_servers': 'true', **_PAGE}),
    'aggregates': ('admin', 'compute', '/os-aggregates', '2.41', {}),
    'aggregates, not allowed': ('demo', 'compute', '/os-aggregates', '2.41', {}),
    'flavors': ('demo', 'compute', '/flavors/detail', '2.61', {'is_public': 'None', **_PAGE}),
    'servers': ('admin', 'compute', '/servers/detail', '2.1', {**_ALL, **_PAGE}),
    'servers of the project': ('demo', 'compute', '/servers/detail', '2.1', _PAGE),
    'servers, not allowed': ('demo', 'compute', '/servers/detail', '2.1', _ALL),
    'quota set': ('admin', 'compute', _quota_set(DEMO.project.id), '2.1', {}),
    'quota set, not allowed': ('demo', 'compute', _quota_set(ADMIN.project.id), '2.1', {}),
    'quota set, no project': ('admin', 'compute', _quota_set('0' * 32), '2.1', {}),
    'placement version': ('admin', 'placement', '/', '1.29', {}),
    'candidates': ('admin', 'placement', _CANDIDATES, '1.29', _MEMORY),
    'no candidates': ('admin', 'placement', _CANDIDATES, '1.29', {'resources': 'VGPU:1'}),
    'candidates, not allowed': ('demo', 'placement', _CANDIDATES, '1.29', _MEMORY),
    'providers': ('admin', 'placement', '/resource_providers', '1.29', _MEMORY),
}


def record(connections: Mapping[str, Any]) -> dict[str, Any]:
    """Send all requests to a cloud with two servers of demo, through openstacksdk's adapters."""
    normalise = Normaliser()
    answers = {}
    for name, (user, service, path, microversion, query) in REQUESTS.items():
        response = getattr(connections[user], service).get(
            path, params=query, microversion=microversion, raise_exc=False
        )
        answers[name] = {'status': response.status_code, 'body': normalise(response.json())}
    return answers


def load() -> dict[str, Any]:
    """Return the record from its file."""
    loaded: dict[str, Any] = json.loads(files.SNAPSHOT.read_text(encoding='utf-8'))
    return loaded


def shape(value: Any, key: str = '') -> Any:
    """Return the keys and types of a response; one item represents a list, and one id all ids."""
    if isinstance(value, Mapping):
        if key in ('provider_summaries', 'allocations', 'resources', 'metadata'):
            value = dict(sorted(value.items())[:1])
            return [shape(item, name) for name, item in value.items()]
        return {name: shape(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return type(value).__name__
