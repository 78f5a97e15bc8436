"""Read which hosts nova-scheduler was offered by Placement, and which filter removed each.

The sandbox logs at debug (``DEBUG``), and records the requests for allocation candidates.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

import requests

from tests.support.sandbox import SandboxCloud

#: The configuration of a sandbox that logs the filters.
DEBUG: dict[str, dict[str, Any]] = {'DEFAULT': {'debug': True}}
_LOG = 'nova.log'
_RESULTS = re.compile(r"instance ID '([\w-]+)'\. Filter results: (\[\(.*\)\])")


def offered(cloud: SandboxCloud, placement: Any, names: Mapping[str, str]) -> set[str]:
    """Return the hosts in Placement's answer to Nova's last query; empty without a query.

    :param names: the host of each resource provider.
    """
    queries = [
        each['query']
        for each in cloud.requests('placement')
        if each['path'] == '/allocation_candidates' and 'openstacksdk' not in each['user_agent']
    ]
    if not queries:  # a request filter of Nova rejects the request
        return set()
    answer = placement.get(f'/allocation_candidates?{queries[-1]}', microversion='1.36')
    if answer.status_code == requests.codes.bad_request:  # such as an unknown resource class
        return set()
    body = answer.json()
    roots = {each['root_provider_uuid'] for each in body['provider_summaries'].values()}
    return {names[root] for root in roots if root in names}


def size(cloud: SandboxCloud) -> int:
    """Return the size of the log."""
    return (cloud.log_dir / _LOG).stat().st_size


def removed(
    cloud: SandboxCloud, server: str, left: Collection[str], since: int = 0
) -> dict[str, str]:
    """Return the filter that removed each host in the last request for a server.

    :param left: the hosts before the first filter.
    :param since: the size of the log before the request.
    """
    with (cloud.log_dir / _LOG).open('rb') as file:
        file.seek(since)
        text = file.read().decode(errors='replace')
    found = [each for each in _RESULTS.findall(text) if each[0] == server]
    if not found:
        return {}
    remaining, by_filter = set(left), {}
    for name, passed in ast.literal_eval(found[-1][1]):
        names = {host for host, _node in passed or ()}
        by_filter.update(dict.fromkeys(remaining - names, name))
        remaining &= names
    return by_filter
