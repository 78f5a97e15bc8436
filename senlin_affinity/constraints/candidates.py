"""Warn if Nova may miss hosts because of ``max_placement_results``.

Source: nova-scheduler passes this limit to Placement before its filters run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter, not_
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Constraint,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.scheduler_hints import DIFFERENT_HOST, SAME_HOST
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.nova.options import ROUTED

LIMIT = Option(
    'max_placement_results',
    1000,
    'The maximum number of hosts that Nova requests from Placement. Use the value in section '
    '[scheduler] of nova.conf.',
    minimum=1,
    nova='scheduler',
)
NO_SEGMENTS = Assumption('candidates.segments', 'networks without segments')
_IS_UP = attrgetter('up')
#: They accept every host, unless hints name servers.
_HARMLESS = (*DEFAULT_FILTERS, 'AllHostsFilter', *scheduler_hints.OF_SERVERS.values())


class CandidatesConstraint(Constraint):
    """The limit on the number of allocation candidates."""

    name = 'candidates'
    order = 895
    summary = 'Nova considers no more hosts than max_placement_results'
    needs = ('hosts',)
    enforced_by_placement = True
    options = LIMIT, ROUTED
    reasons: ClassVar[Mapping[str, Reason]] = {
        'candidates.all': Reason('Nova considers every host that Placement offers'),
        'candidates.enough': Reason(
            'Nova considers {limit} hosts, and filters cannot reject all of them'
        ),
        'candidates.cut': Reason(
            'Nova considers {limit} of the hosts that Placement offers, and filters may reject '
            'all of them'
        ),
    }

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """Return :func:`_verdict`."""
        return resolved.memo(_verdict)

    def caveats(self, resolved: ResolvedRequest) -> Iterator[str]:
        """Yield one phrase if the verdict is ``candidates.cut``."""
        if resolved.memo(_verdict).code == 'candidates.cut':
            limit = f'{LIMIT.key} ({resolved.option(LIMIT)})'
            yield f'{limit} (filters may reject every host that Nova gets)'

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """Yield NO_SEGMENTS if Nova reads segments."""
        if resolved.option(ROUTED):
            yield NO_SEGMENTS


def _verdict(resolved: ResolvedRequest) -> Verdict:
    """Return a SKIP ``all`` if hosts are pinned, or not more than ``max_placement_results``.

    Else ``enough`` if filters may reject fewer; else ``all`` if Placement may return no more; else
    ``cut``.
    """
    limit, hosts = resolved.option(LIMIT), resolved.snapshot.hosts or ()
    if len(hosts) <= limit or resolved.rules.is_pinned:
        return Verdict.skipped('candidates.all')
    if _most_rejected(resolved) < limit:
        return Verdict.skipped('candidates.enough', limit=limit)
    offered = _offered(resolved, hosts)
    if next(islice(offered, limit, None), None) is None:
        return Verdict.skipped('candidates.all')
    return Verdict.skipped('candidates.cut', limit=limit)


def _offered(resolved: ResolvedRequest, hosts: Iterable[Host]) -> Iterator[Host]:
    """Yield the hosts that Placement may return: enabled, in the zone, and with free resources.

    Unknown resources and zones count; for the default zone, any zone.
    """
    zone, zones = resolved.memo(wanted_zone), resolved.snapshot.zones
    carrying = zones.carried_by.get(zone or '', frozenset())
    is_any = zone in (None, zones.default)
    demand = demand_of(resolved)
    amounts = [] if demand is None else [*demand.amounts.items()]
    for host in hosts:
        if not host.enabled or DISABLED in host.traits:
            continue
        has, here = host.resources, host.availability_zone
        is_here = here in (zone, None) or not carrying.isdisjoint(host.stale_aggregates)
        if (is_any or is_here) and (
            not has
            or host.is_partial
            or all(name in has and has[name].capacity - has[name].used >= n for name, n in amounts)
        ):
            yield host


def _most_rejected(resolved: ResolvedRequest) -> int:
    """Return the number of hosts that filters may reject before the last server is placed.

    All with a filter that is not ``_HARMLESS``, affinity and members, or ``same_host``. Else those
    that are down, one for each server of ``different_host``, and with anti-affinity those with
    members and one for each requested server.
    """
    hosts, group = resolved.snapshot.hosts or (), resolved.server_group
    policy = None if group is None else group.policy
    is_any = not set(resolved.request.enabled_filters) <= {*_HARMLESS}
    hints, read = resolved.request.scheduler_hints, scheduler_hints.enforced(resolved)
    if is_any or SAME_HOST in read or (policy == AFFINITY and resolved.members_on):
        return len(hosts)
    down = sum(map(not_, map(_IS_UP, hosts)))
    if DIFFERENT_HOST in read:
        down += len(scheduler_hints.servers(hints, DIFFERENT_HOST))
    if policy != ANTI_AFFINITY:
        return down
    return down + len(resolved.members_on) + resolved.request.count
