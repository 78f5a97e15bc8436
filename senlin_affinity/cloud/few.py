"""All hosts that Placement has for a request, where they are few: a no of them is the cloud's.

Data flow: an answer of Placement's comes in. A longer answer to a broader question proves that it
was not cut. Each of its hosts is asked for by the id of its provider, the servers of the group are
the owner's own list, and the look that comes out has these hosts as a whole look has them. All
others are refused by Placement. Where something of this is not so, None comes out.

A member on another host is on one that is called by what the owner sees of it (``hostId``).

Units: ``MOST`` hosts, with a request for each; and up to 5 requests more: does Nova show the owner
the hosts, the longer answer, the servers, their migrations, the soft-deleted ones.

Errors: CloudError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qs

from senlin_affinity.cloud import allocations, hosts, members
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.eyes import Eyes
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.cloud.providers import CANDIDATES, SHARING, Room
from senlin_affinity.cloud.rest import CloudsRest, OwnersRest
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.objects import Resource
from senlin_affinity.core.server_group import Member, ServerGroup
from senlin_affinity.policy.question import Look

T = TypeVar('T')
_FORBIDDEN = 403
#: With more of them, the whole look costs little more.
MOST = 20


def see(
    eyes: Eyes, look: Look, query: str, answer: Any, timeout: float | None = None
) -> Look | None:
    """The look with these hosts, to be said to who may not see hosts."""
    owners = clouds.compute(eyes.owner, timeout)
    compute = clouds.clouds_compute(eyes, owners, timeout)
    placement = clouds.placement(eyes.cloud, timeout)
    longest = len(answer['allocation_requests']) + 1
    if compute.pick(hosts.UUIDS) < hosts.UUIDS or not _is_plain(query, answer):
        return None
    if not _is_longer(placement, query, longest):
        return None
    if clouds.ports(eyes, timeout).inventory.shows_hosts():
        return None  # and is told what would help of all of them
    found = [hosts.hypervisor(compute, root) for root in answer['provider_summaries']]
    seen = hosts.in_order(each for each in found if each is not None)
    rooms = {each.id: _room(answer['provider_summaries'][each.id], each) for each in seen}
    built = hosts.hosts(seen, {}, {}, rooms)
    granted = allocations.read(answer, query, built, [each.id for each in seen], longest)
    groups = _groups(owners, look, seen)
    groups = _allowed(lambda: members.moved(compute, groups)) or groups
    hidden = members.are_hidden(groups)
    snapshot = dataclasses.replace(
        look.snapshot,
        hosts=tuple(
            host.but(grants=each) for host, each in zip(built, granted.grants, strict=True)
        ),
        server_groups=groups,
        soft_deleted=_allowed(lambda: members.soft_deleted(compute, groups)) if hidden else None,
        answered=frozenset([query]),
    )
    return dataclasses.replace(look, snapshot=snapshot, is_owners=False)


def _is_plain(query: str, answer: Any) -> bool:
    """Is each host one provider, that nobody shares with, asked for one thing?"""
    with reading(CANDIDATES):
        summaries = answer['provider_summaries']
        return 'resources' in parse_qs(query) and all(
            each['root_provider_uuid'] == uuid and SHARING not in each['traits']
            for uuid, each in summaries.items()
        )


def _is_longer(placement: CloudsRest, query: str, longest: int) -> bool:
    """Does Placement answer with so many, where it is asked for little?"""
    name = parse_qs(query)['resources'][0].partition(':')[0]
    body = allocations.candidates(placement, f'resources={name}:1', longest)
    with reading(CANDIDATES):
        return len(body['allocation_requests']) >= longest


def _room(summary: Mapping[str, Any], hypervisor: Hypervisor) -> Room:
    with reading(CANDIDATES):
        resources = {
            name: Resource(has['capacity'], has['used'], hypervisor.largest.get(name))
            for name, has in summary['resources'].items()
        }
        return Room(resources, frozenset(summary['traits']))


def _groups(owners: OwnersRest, look: Look, seen: Sequence[Hypervisor]) -> tuple[ServerGroup, ...]:
    """The groups, with their members where they are."""
    groups = look.snapshot.server_groups or ()
    if not any(group.members for group in groups):
        return groups
    known = members.traced(owners, {each.service_host for each in seen})
    return members.located(groups, {server: _elsewhere(each) for server, each in known.items()})


def _allowed(read: Callable[[], T]) -> T | None:
    """What is read; None where the cloud's eyes may not see it."""
    try:
        return read()
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        return None


def _elsewhere(member: Member) -> Member:
    """A member on a host that is not among these, on one of that name."""
    return member if member.host else dataclasses.replace(member, host=member.host_id)
