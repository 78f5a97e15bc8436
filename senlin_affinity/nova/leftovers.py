"""Describe and remove what consumers that are no servers use on a host.

nova-compute keeps the allocations of its servers. Others stay after a failed deletion, rebuild or
evacuation, and nobody removes them. Those of a migration or resize belong to a server, which must
be confirmed or reverted.

Source: "nova-manage placement audit" in Nova's guide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from senlin_affinity.model.host import Host, Leftover


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


def split(host: Host, resource_class: str) -> str:
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


def in_words(host: Host) -> str:
    """Return "cmp-1: 12288 MEMORY_MB, 4 VCPU"."""
    return f'{host.host}: {_listed(orphans(host))}'


def sentences(host: Host) -> Iterator[str]:
    """Yield what each kind of leftovers uses, and what removes it."""
    if found := orphans(host):
        number = 'a consumer that is no server of this host uses'
        if len(found) > 1:
            number = f'{len(found)} consumers that are no servers of this host use'
        yield f'{host.host}: {number} {_listed(found)}: nova-manage placement audit'
    for each in host.leftovers or ():
        if each.server is not None:
            yield (
                f'{host.host}: a migration or resize of server {each.server} uses '
                f'{_listed([each])}: confirm or revert it'
            )


def _amounts(found: Iterable[Leftover]) -> Counter[str]:
    amounts: Counter[str] = Counter()
    for each in found:
        amounts.update(each.amounts)
    return amounts


def _listed(found: Iterable[Leftover]) -> str:
    return ', '.join(f'{amount} {name}' for name, amount in sorted(_amounts(found).items()))
