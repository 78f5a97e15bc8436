"""Compare the state of compute services in Nova and in Placement.

nova-compute adds the trait COMPUTE_STATUS_DISABLED to its provider when the service is disabled,
and removes it when the service is enabled, or else when it starts. Nova never requests a host with
the trait. Everything else about a service is checked by ComputeFilter only.
"""

from __future__ import annotations

from collections.abc import Iterator

from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import leftovers
from senlin_affinity.nova.aggregate_membership import names

DISABLED = 'COMPUTE_STATUS_DISABLED'
_MOST_NAMED = 5
_MEMBERSHIP = (
    (
        'in Nova, but not in Placement',
        'unmirrored',
        ', ',
        'run "nova-manage placement sync_aggregates"',
    ),
    (
        'in Placement, but not in Nova',
        'stale_aggregates',
        ' or ',
        'Nova treats the host as a member; remove its provider from the aggregate ("openstack '
        'resource provider aggregate set" with the aggregates of the host in Nova)',
    ),
)


def has_stale_trait(host: Host) -> bool:
    """Check whether the service is enabled, but its provider has the trait of a disabled one."""
    return host.enabled and DISABLED in host.traits


def is_forbidden(host: Host) -> bool:
    """Check whether the trait keeps Placement from offering the host.

    False for an enabled host with several providers: the trait may belong to another one.
    """
    return DISABLED in host.traits and not (host.enabled and host.is_nested)


def is_filtered(request: Request) -> bool:
    """Check whether ComputeFilter, or the planner for pinned hosts, rejects idle services."""
    return request.is_pinned or request.is_enforced('ComputeFilter')


def is_in_use(request: Request, host: Host) -> bool:
    """Check whether the state of its service lets Nova use the host."""
    is_idle = not (host.enabled and host.up)
    return not is_forbidden(host) and not (is_idle and is_filtered(request))


def started(host: Host) -> Host:
    """Return the host with its service enabled and up, in Nova and in Placement."""
    return enabled(host).but(up=True)


def enabled(host: Host) -> Host:
    """Return the host with its service enabled, in Nova and in Placement."""
    return host.but(enabled=True, disabled_reason=None, traits=host.traits - {DISABLED})


def disabled(host: Host) -> Host:
    """Return the host with its service disabled, in Nova and in Placement."""
    return host.but(enabled=False, traits=host.traits | {DISABLED})


def differences(snapshot: CloudSnapshot) -> Iterator[str]:
    """Yield a sentence for each difference between Nova and Placement, with its repair."""
    hosts = snapshot.hosts or ()
    for host in hosts:
        yield from leftovers.sentences(host)
    if orphans := [host.host for host in hosts if may_have_orphans(host)]:
        yield (
            f'{_listed(orphans)}: allocations in Placement, but no servers in Nova: orphaned '
            'allocations (nova-manage placement audit), or an unconfirmed resize'
        )
    if offered := [host.host for host in hosts if _is_unknown_to_placement(host)]:
        yield (
            f'{_listed(offered)}: disabled in Nova, but still offered by Placement: restart '
            'nova-compute'
        )
    yield from _of_aggregates(snapshot)


def _of_aggregates(snapshot: CloudSnapshot) -> Iterator[str]:
    for where, field, joined, change in _MEMBERSHIP:
        hosts_of: dict[frozenset[str], list[str]] = {}
        for host in snapshot.hosts or ():
            if uuids := getattr(host, field):
                hosts_of.setdefault(uuids, []).append(host.host)
        for uuids, hosts in sorted(hosts_of.items(), key=lambda item: item[1]):
            listed = names(snapshot, uuids, joined)
            yield f'{_listed(hosts)}: in aggregate {listed} {where}: {change}'


def may_have_orphans(host: Host) -> bool:
    """Check whether the host has allocations but no servers, and what uses them was not read.

    False unless a single provider of its own supplies the used resources: other allocations may
    belong to other hosts.
    """
    resources = {} if host.is_nested else host.resources or {}
    own = [has for has in resources.values() if not (has.is_sum or has.pool)]
    return host.leftovers is None and host.servers == 0 and any(has.used for has in own)


def _is_unknown_to_placement(host: Host) -> bool:
    return host.up and not host.enabled and bool(host.traits) and DISABLED not in host.traits


def _listed(hosts: list[str]) -> str:
    more = f' and {len(hosts) - _MOST_NAMED} more' if len(hosts) > _MOST_NAMED else ''
    return f'{", ".join(hosts[:_MOST_NAMED])}{more}'
