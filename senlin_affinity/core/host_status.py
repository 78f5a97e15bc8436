"""Whether a compute service takes servers, and where Nova and Placement differ about it.

Source: nova-compute gives its provider the trait COMPUTE_STATUS_DISABLED when the service is
disabled, and takes it away again; what it could not do then, it does when it starts. Nova never
asks Placement for a host with the trait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from senlin_affinity.core.host import Host

DISABLED = 'COMPUTE_STATUS_DISABLED'
#: So many hosts are named.
_MOST_NAMED = 5


def is_left_behind(host: Host) -> bool:
    """Is the service enabled, and has its provider the trait of a disabled one?"""
    return host.enabled and DISABLED in host.traits


def started(host: Host) -> Host:
    """The host with its service enabled and up, of which Placement knows."""
    return host.but(enabled=True, up=True, traits=host.traits - {DISABLED})


def differences(hosts: Iterable[Host]) -> Iterator[str]:
    """In words, what an operator should look at, beside what rules refuse hosts for."""
    hosts = list(hosts)
    if orphans := [host.host for host in hosts if _has_orphans(host)]:
        yield (
            f'{_listed(orphans)}: Placement holds allocations, and Nova counts no servers: orphans '
            '(nova-manage placement audit), or a resize that waits for its confirmation'
        )
    if disabled := [host.host for host in hosts if _is_unknown_to_placement(host)]:
        yield (
            f'{_listed(disabled)}: disabled in Nova, and not in Placement: restart nova-compute, '
            'or it is a candidate that every request looks at in vain'
        )


def _has_orphans(host: Host) -> bool:
    """Only of one provider is it known that what is used is used on the host itself."""
    resources = {} if host.is_nested else host.resources or {}
    own = [has for has in resources.values() if not (has.is_sum or has.pool)]
    return host.servers == 0 and any(has.used for has in own)


def _is_unknown_to_placement(host: Host) -> bool:
    return host.up and not host.enabled and bool(host.traits) and DISABLED not in host.traits


def _listed(names: list[str]) -> str:
    more = f' and {len(names) - _MOST_NAMED} more' if len(names) > _MOST_NAMED else ''
    return f'{", ".join(names[:_MOST_NAMED])}{more}'
