"""Read the scheduler hints of a request: the servers that they name, and their filters.

Source: the schema of ``os:scheduler_hints`` in nova-api. The hint ``group`` is not among them: it
is the server group of the request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import canonical
from senlin_affinity.model.request import Request

SAME_HOST, DIFFERENT_HOST = 'same_host', 'different_host'
#: The hints that name servers, and the filters that read them.
OF_SERVERS: Mapping[str, str] = {SAME_HOST: 'SameHostFilter', DIFFERENT_HOST: 'DifferentHostFilter'}
#: The other hints that filters of Nova read.
_OTHERS: Mapping[str, str] = {
    'query': 'JsonFilter',
    'build_near_host_ip': 'SimpleCIDRAffinityFilter',
}
#: Read only together with ``build_near_host_ip``.
_CIDR = 'cidr'


def check(hints: Mapping[str, Any], path: str) -> None:
    """Raise InvalidSpec if ``same_host`` or ``different_host`` has a value that nova-api rejects.

    Both accept an id or a list of ids; ``same_host`` accepts any other string as well.
    """
    for name in OF_SERVERS:
        value = hints.get(name, ())
        ids = value if isinstance(value, list | tuple) else (value,)
        is_any_text = name == SAME_HOST and isinstance(value, str)
        if not (is_any_text or all(isinstance(each, str) and canonical(each) for each in ids)):
            words = f'must be the id of a server, or a list of ids, not {value!r}'
            raise InvalidSpec(words, f'{path}.{name}')


def servers(hints: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the ids of the servers that a hint names; () for an invalid value."""
    value = hints.get(name) or ()
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def named(hints: Mapping[str, Any], filters: Collection[str] | None) -> tuple[str, ...]:
    """Return the servers of the hints that the given filters read; None: those of all hints."""
    read = (name for name, reader in OF_SERVERS.items() if filters is None or reader in filters)
    every = (server for name in read for server in servers(hints, name))
    return tuple(dict.fromkeys(filter(may_exist, every)))


def may_exist(server: str) -> bool:
    """Check whether an id has Nova's spelling; its filters compare ids as strings."""
    return canonical(server) == server


def enforced(request: Request) -> tuple[str, ...]:
    """Return the hints that name servers and are enforced: for a pinned server, by the planner."""
    is_pinned = request.is_pinned
    return tuple(
        name
        for name, reader in OF_SERVERS.items()
        if servers(request.scheduler_hints, name) and (is_pinned or request.is_enforced(reader))
    )


def unmodelled(request: Request) -> Iterator[str]:
    """Yield a description of each hint that may reject hosts and that no constraint models."""
    pinned = ', which is not enforced on pinned hosts' if request.is_pinned else ''
    yield from (f'scheduler hint {name}{pinned}' for name in readers(request))


def readers(request: Request) -> Mapping[str, str]:
    """Return the hints of :func:`unmodelled`, each with its filter of Nova, or ''."""
    is_open = request.is_pinned or request.settings.are_filters_unspecified
    return {
        name: reader
        for name, value in request.scheduler_hints.items()
        if value and name not in OF_SERVERS and name != _CIDR
        for reader in (_OTHERS.get(name, ''),)
        if is_open or request.is_enforced(reader)
    }
