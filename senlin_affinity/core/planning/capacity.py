"""How many servers fit in all: the rooms of the hosts, and what the request as a whole may have.

Units: numbers of servers; ``most`` None is no number that anybody knows. ``certain`` is what fits
whatever the unknown parts of the snapshot are, ``firm`` what of it fits whatever makes the number
"at most".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from senlin_affinity.core.answered import answered, may_take_of_pools
from senlin_affinity.core.flavor import DISK_GB
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.domains import Survey
from senlin_affinity.core.planning.table import Table
from senlin_affinity.core.reasons import Reason, doubt
from senlin_affinity.core.server_group import AFFINITY
from senlin_affinity.core.verdict import Verdict

#: In words, why a number is "at most" that Placement's answers do not determine.
CHOICE = 'resources of several providers (Placement chooses)'


@dataclass(frozen=True)
class Capacity:
    """``at_most`` says in words why Nova may place fewer than ``most``."""

    most: int | None
    certain: int
    at_most: tuple[str, ...] = ()
    firm: int = 0

    def fits(self, wanted: int) -> bool | None:
        """Do so many servers fit? None: nobody knows."""
        if wanted <= self.certain:
            return True
        if self.most is not None and wanted > self.most:
            return False
        return None


def is_open_affinity(resolved: ResolvedRequest) -> bool:
    """Has the group the policy affinity, and no server yet that binds it to a host?"""
    group = resolved.server_group
    return group is not None and group.policy == AFFINITY and not resolved.members_on


def measure(
    resolved: ResolvedRequest,
    hosts: Sequence[Host] | None,
    told: Table,
    found: Survey | None,
    request: Iterable[Verdict],
    unmodelled: Sequence[str],
    reasons: Mapping[str, Reason],
) -> Capacity:
    """The capacity, from what is told of every host, their domains, and of the request.

    :param reasons: those of the rules about hosts, by their codes.
    """
    most, certain = _of_hosts(hosts, told, found)
    sure: int | None = None
    for verdict in request:
        # A REJECT that names no number leaves none.
        room = verdict.room if verdict else verdict.room or 0
        if room is not None:
            most = room if most is None else min(most, room)
            certain = min(certain, room)
        if not verdict.is_known:
            certain = 0
        if verdict.least is not None:
            sure = verdict.least if sure is None else min(sure, verdict.least)
    if most == 0:
        return Capacity(0, 0)
    at_most = dict.fromkeys(unmodelled)
    firm = 0 if unmodelled or resolved.has_hidden_quotas else _firm(resolved, told, found)
    if is_open_affinity(resolved):
        if most is None or firm < most:  # it matters which of the hosts it is
            at_most['affinity without members (Nova chooses the host)'] = None
    elif told.is_at_most and (most is None or firm < most):
        words = dict.fromkeys(_vague(resolved, hosts or (), told, told.sure, reasons))
        if not words:  # each host takes what it seems to take, their domain does not
            never = [-1] * len(told.sure)
            words = dict.fromkeys(_vague(resolved, hosts or (), told, never, reasons))
        at_most |= words
    if most is not None and certain < most:
        if found is not None and found.crossing:
            at_most[f'domains that limit each other ({", ".join(found.crossing)})'] = None
        else:
            at_most['parts of the snapshot that are not known'] = None
    if sure is not None and (most is None or sure < most):
        at_most["quotas, which Nova's drivers count in two ways"] = None
        certain = min(certain, sure)
    if resolved.has_hidden_quotas:
        at_most["the project's quotas, which are not known"] = None
    # Of a number that is not known, only what is certain of it can have a condition.
    told_of = tuple(at_most) if certain or most is not None else ()
    return Capacity(most, certain, told_of, min(certain, firm))


def _firm(resolved: ResolvedRequest, told: Table, found: Survey | None) -> int:
    """What the hosts take that are not "at most" themselves, whatever Nova does with the others."""
    is_any = is_open_affinity(resolved)
    if found is not None and found.of_host:
        if is_any:
            return 0
        return found.firm if told.is_at_most else found.certain
    if is_any:
        places = (place for place, row in enumerate(told.rows) if row.by is None)
        return min((_alone(told, place) for place in places), default=0)
    return sum(told.sure)


def _alone(told: Table, place: int) -> int:
    """What a host takes of a group without members, of which "at most" says that it may be any."""
    row, certain = told.rows[place], told.certain[place]
    if not row.is_at_most:
        return certain
    said = told.verdicts(place).items()
    others = (verdict for name, verdict in said if name != 'server_group' and verdict.is_at_most)
    return 0 if row.roomless else min([certain, *(verdict.least or 0 for verdict in others)])


def _of_hosts(
    hosts: Sequence[Host] | None, told: Table, found: Survey | None
) -> tuple[int | None, int]:
    if hosts is None:
        return None, 0
    if found is not None:
        return found.most, found.certain
    most = sum(told.rooms)
    return None if most == math.inf else int(most), sum(told.certain)


def _vague(
    resolved: ResolvedRequest,
    hosts: Sequence[Host],
    told: Table,
    sures: Sequence[int],
    reasons: Mapping[str, Reason],
) -> Iterator[str]:
    """In words, whose room may be less than it seems."""
    asked = {} if resolved.demand is None else resolved.demand.amounts
    answer = resolved.once(answered)
    for host, row, room, sure in zip(hosts, told.rows, told.rooms, sures, strict=True):
        if not row.is_at_most or room in (sure, math.inf):
            continue
        if row.roomless:
            yield from (f'constraint {name}, which gives no room' for name in row.roomless)
            if not any(verdict.is_at_most for verdict in row.verdicts.values()):
                continue
        grant = host.grant(answer.query)
        is_exact = grant is not None and grant.room == grant.certain and not host.is_vsphere
        resources = () if is_exact else (host.resources or {}).items()
        is_choice = not is_exact or may_take_of_pools(resolved, host)
        if grant is not None and is_choice and not host.is_vsphere:
            disk = (host.resources or {}).get(DISK_GB)
            is_shared = disk is not None and disk.is_sum and DISK_GB in asked
            yield 'shared resources' if is_shared else CHOICE
        elif grant is None and host.grants is not None and answer.is_cut:
            yield "Placement's answer, which may be cut"
        elif host.is_nested and not is_exact:
            yield 'hosts with nested resource providers'
        elif any(has.is_sum for _name, has in resources):
            yield 'shared resources'
        elif host.is_vsphere:
            yield 'vSphere clusters'
        elif any(has.is_limit_untold(name, asked.get(name, 0)) for name, has in resources):
            yield 'resource classes whose unit limits Placement does not tell'
        elif any(has.pool for _name, has in resources):
            yield 'shared resources'
        elif resolved.server_group is not None and resolved.server_group.has_lost_members:
            yield 'members whose host is not known'
        elif resolved.snapshot.soft_deleted:
            yield 'soft-deleted servers, which may be members of the group'
        else:
            for name, verdict in row.verdicts.items():
                if verdict.is_at_most:
                    why = doubt(verdict, reasons)
                    yield f'constraint {name}{why and f" ({why})"}'
