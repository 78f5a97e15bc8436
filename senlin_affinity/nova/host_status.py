"""Compare the state of compute services in Nova and in Placement.

nova-compute adds the trait COMPUTE_STATUS_DISABLED to its provider when the service is disabled,
and removes it when the service is enabled, or else when it starts. Nova never requests a host with
the trait. Everything else about a service is checked by ComputeFilter only.

Leftovers are what consumers that are no servers use: nova-compute keeps the allocations of its
servers; others stay after a failed deletion, rebuild or evacuation, and nobody removes them. Those
of a migration or resize belong to a server, which must be confirmed or reverted.

Source: "nova-manage placement audit" in Nova's guide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host, Leftover
from senlin_affinity.model.numbers import listed
from senlin_affinity.model.request import Request
from senlin_affinity.nova.aggregates import names

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


def differences(snapshot: Cloud) -> Iterator[str]:
    """Yield a sentence for each difference between Nova and Placement, with its repair."""
    hosts = snapshot.hosts or ()
    for host in hosts:
        yield from about_leftovers(host)
    numbers = [(host, snapshot.number_of_servers(host)) for host in hosts]
    if empty := [host.host for host, number in numbers if number == 0 and _is_used(host)]:
        yield (
            f'{listed(empty, _MOST_NAMED)}: allocations in Placement, but no servers in Nova: '
            'orphaned allocations (nova-manage placement audit), or an unconfirmed resize'
        )
    if doubtful := [
        host.host for host, number in numbers if number is None and may_have_orphans(host)
    ]:
        yield (
            f'{listed(doubtful, _MOST_NAMED)}: allocations in Placement, but the hypervisor counts '
            'no servers. The count may be stale: check with "openstack server list --all-projects '
            f'--host {doubtful[0]}" before you remove allocations'
        )
    if offered := [host.host for host in hosts if _is_unknown_to_placement(host)]:
        yield (
            f'{listed(offered, _MOST_NAMED)}: disabled in Nova, but still offered by Placement: '
            'restart nova-compute'
        )
    yield from _of_aggregates(snapshot)


def _of_aggregates(snapshot: Cloud) -> Iterator[str]:
    for where, field, joined, change in _MEMBERSHIP:
        hosts_of: dict[frozenset[str], list[str]] = {}
        for host in snapshot.hosts or ():
            if uuids := getattr(host, field):
                hosts_of.setdefault(uuids, []).append(host.host)
        for uuids, hosts in sorted(hosts_of.items(), key=lambda item: item[1]):
            aggregates = names(snapshot, uuids, joined)
            shown = listed(hosts, _MOST_NAMED)
            yield f'{shown}: in aggregate {aggregates} {where}: {change}'


def may_have_orphans(host: Host) -> bool:
    """Check whether the host has allocations, but its hypervisor counts no servers.

    The count may be stale: nova-compute updates it some time after a migration or a resize.
    False if what uses the host was read.
    """
    return host.servers == 0 and _is_used(host)


def _is_used(host: Host) -> bool:
    """Check whether the host has allocations, and what uses them was not read.

    False unless a single provider of its own supplies the used resources: other allocations may
    belong to other hosts.
    """
    resources = {} if host.is_nested else host.resources or {}
    own = [has for has in resources.values() if not (has.is_sum or has.pool)]
    return host.leftovers is None and any(has.used for has in own)


def _is_unknown_to_placement(host: Host) -> bool:
    return host.up and not host.enabled and bool(host.traits) and DISABLED not in host.traits


def orphans(host: Host) -> tuple[Leftover, ...]:
    """Return the leftovers that belong to no migration."""
    found = host.leftovers
    return tuple(each for each in found if each.server is None) if found else ()


def without_orphans(host: Host) -> Host:
    """Return the host as if these did not exist."""
    gone = _amounts(orphans(host))
    resources = {
        name: replace(has, used=max(0, has.used - gone[name])) if gone[name] else has
        for name, has in (host.resources or {}).items()
    }
    left = tuple(each for each in host.leftovers or () if each.server is not None)
    return host.but(resources=resources, leftovers=left)


def consumption(host: Host, resource_class: str) -> str:
    """Return "cmp-1: of MEMORY_MB, servers use 4096, other consumers 12288, and 512 is reserved".

    Empty if neither others use some, nor any is reserved, as far as they were read.
    """
    has = (host.resources or {}).get(resource_class)
    others = _amounts(host.leftovers or ())[resource_class]
    if host.leftovers is None or has is None or not (others or has.reserved):
        return ''
    return (
        f'{host.host}: of {resource_class}, servers use {max(0, has.used - others)}, other '
        f'consumers {others}, and {has.reserved} is reserved'
    )


def orphans_in_words(host: Host) -> str:
    """Return "cmp-1: 12288 MEMORY_MB, 4 VCPU"."""
    return f'{host.host}: {_used(orphans(host))}'


def about_leftovers(host: Host) -> Iterator[str]:
    """Yield what each kind of leftovers uses, and what removes it."""
    if found := orphans(host):
        number = 'a consumer that is no server of this host uses'
        if len(found) > 1:
            number = f'{len(found)} consumers that are no servers of this host use'
        yield f'{host.host}: {number} {_used(found)}: nova-manage placement audit'
    for each in host.leftovers or ():
        if each.server is not None:
            yield (
                f'{host.host}: a migration or resize of server {each.server} uses '
                f'{_used([each])}: confirm or revert it'
            )


def _amounts(found: Iterable[Leftover]) -> Counter[str]:
    amounts: Counter[str] = Counter()
    for each in found:
        amounts.update(each.amounts)
    return amounts


def _used(found: Iterable[Leftover]) -> str:
    return ', '.join(f'{amount} {name}' for name, amount in sorted(_amounts(found).items()))
