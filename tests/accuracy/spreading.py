"""Create the servers of a spread as planned, and check the spread after each server.

Servers get what the policy sends to Nova for the placements of the decision: a host if hosts are
pinned, or else a zone. The result is the number of active servers before the first one whose host,
chosen by Nova, violates a hard spread.

This module shares no code with the planner.
"""

from __future__ import annotations

from collections import Counter

from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.spread import ZONE
from tests.accuracy.case import Ask, Case
from tests.accuracy.stage import Stage

#: Nova's default zone; no aggregate of a case has it.
_DEFAULT = 'nova'


def place(stage: Stage, case: Case, asked: Ask, decision: Decision) -> int:
    """Return the number of active servers before one violates a hard spread; delete all."""
    nova = stage.novas[asked.user]
    is_pinned = any(item.by != ZONE for item in asked.spread)
    group = None if asked.group is None else stage.groups[asked.group]
    on = [server.host for server in case.servers if server.group == asked.group and server.host]
    made: list[str] = []
    placed = 0
    for planned in decision.placements:
        zone = f'{planned.zone}:{planned.host}' if is_pinned else planned.zone
        server, status = nova.boot(stage.flavors[asked.flavor], group=group, zone=zone)
        made += [server] if server is not None else []
        if server is None or status != 'ACTIVE':
            break
        on.append(nova.call('GET', f'/servers/{server}')['server']['OS-EXT-SRV-ATTR:host'])
        if not _holds(case, asked, on, is_pinned=is_pinned):
            break
        placed += 1
    stage.delete(made)
    return placed


def _holds(case: Case, asked: Ask, on: list[str], *, is_pinned: bool) -> bool:
    """Check whether the domains of the last server satisfy the skew of each hard spread."""
    for spread in asked.spread:
        if spread.mode != 'hard':
            continue
        domain_of = {name: _domain(case, spread.by, name) for name in case.hosts}
        domains = {domain_of[name] for name in case.hosts if _may_take(case, name)}
        if spread.by == ZONE and not is_pinned and len(domains) > 1:
            domains.discard(_DEFAULT)
        held = Counter(domain_of[name] for name in on)
        last = domain_of[on[-1]]
        if (
            last not in domains
            or held[last] - min(held[each] for each in domains) > spread.max_skew
        ):
            return False
    return True


def _may_take(case: Case, name: str) -> bool:
    """Check whether Nova may place a server of the host's zone on the host."""
    host = case.hosts[name]
    is_lost = name in case.stale.unmirrored and host['availability_zone'] != _DEFAULT
    return not (host.get('disabled') or is_lost)


def _domain(case: Case, by: str, name: str) -> str:
    if by == ZONE:
        return str(case.hosts[name]['availability_zone'])
    each = (item for item in case.aggregates.values() if name in item['hosts'])
    return next(item['metadata'][by] for item in each if by in item['metadata'])
