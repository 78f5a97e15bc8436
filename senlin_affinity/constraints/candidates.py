"""Nova looks at no more hosts than ``max_placement_results`` of those that Placement has for it.

Source: nova-scheduler asks Placement with this limit, before its filters run. If there are more
hosts, and those in the answer are just the ones that filters refuse, Nova finds none. It may also
ask for the hosts of the networks' segments alone, which is assumed to leave none out.

It never refuses anything. A number is "at most" where Placement has more hosts than the limit, as
far as zones, services and resources tell, and filters may refuse as many before the servers that
are asked for are placed: any but Nova's default ones, affinity with members, and anti-affinity with
so many servers. A server that is sent to a host has that one looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter, not_
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.core.host import Resource
from senlin_affinity.core.host_status import DISABLED
from senlin_affinity.core.nova_options import ROUTED
from senlin_affinity.core.objects import DEFAULT_FILTERS
from senlin_affinity.core.server_group import AFFINITY, ANTI_AFFINITY
from senlin_affinity.core.wanted_zone import wanted_zone

LIMIT = Option(
    'max_placement_results',
    1000,
    "How many hosts Nova asks Placement for at most; as in nova.conf's [scheduler].",
    minimum=1,
    nova='scheduler',
)
NO_SEGMENTS = Assumption('candidates.segments', 'networks without segments')
_IS_UP = attrgetter('up')
#: They let every host through: nothing of ours has what they read.
_HARMLESS = (*DEFAULT_FILTERS, 'AllHostsFilter', 'SameHostFilter', 'DifferentHostFilter')


class CandidatesConstraint:
    """The limit of Placement's answer."""

    name = 'candidates'
    order = 895
    summary = 'Nova looks at no more hosts than max_placement_results'
    needs = ('hosts',)
    is_by_name = False
    is_by_resources = False
    is_in_placement = True
    filters: tuple[str, ...] = ()
    options = LIMIT, ROUTED
    reasons: ClassVar[Mapping[str, Reason]] = {
        'candidates.all': Reason('Nova looks at every host that Placement has for it'),
        'candidates.enough': Reason(
            'Nova looks at {limit} hosts, and filters can not refuse as many'
        ),
        'candidates.cut': Reason(
            'Nova looks at {limit} of the hosts that Placement has for it, '
            'and filters may refuse as many'
        ),
    }

    def check_request(self, resolved: ResolvedRequest) -> Verdict:
        """See :meth:`RequestConstraint.check_request`."""
        return resolved.once(_verdict)

    def unmodelled(self, resolved: ResolvedRequest) -> Iterator[str]:
        """In words, why Nova may place fewer than the rules have room for."""
        if resolved.once(_verdict).code == 'candidates.cut':
            limit = f'{LIMIT.key} ({resolved.option(LIMIT)})'
            yield f'{limit}, which hosts that filters refuse may fill'

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """The servers' networks are not known, and with segments Nova asks for their hosts."""
        if resolved.option(ROUTED):
            yield NO_SEGMENTS


def _verdict(resolved: ResolvedRequest) -> Verdict:
    limit, hosts = resolved.option(LIMIT), resolved.snapshot.hosts or ()
    if len(hosts) <= limit or resolved.rules.is_pinned:
        return Verdict.skipped('candidates.all')
    if _refused(resolved) < limit:
        return Verdict.skipped('candidates.enough', limit=limit)
    offered = _offered(resolved, hosts)
    if len(list(islice(offered, limit + 1))) <= limit:
        return Verdict.skipped('candidates.all')
    return Verdict.skipped('candidates.cut', limit=limit)


def _offered(resolved: ResolvedRequest, hosts: Iterable[Host]) -> Iterator[Host]:
    """The hosts that Placement may have for the servers, as far as is told at once."""
    zone = resolved.once(wanted_zone)
    is_default = zone == resolved.snapshot.zones.default
    amounts = [] if resolved.demand is None else [*resolved.demand.amounts.items()]
    for host in hosts:
        if not host.enabled or DISABLED in host.traits:
            continue
        has, here = host.resources, host.availability_zone
        if zone is not None and here is not None and here != zone:
            if is_default:
                yield host
        elif not has or host.is_partial or _is_enough(has, amounts):
            yield host


def _is_enough(has: Mapping[str, Resource], amounts: Iterable[tuple[str, int]]) -> bool:
    for name, amount in amounts:
        if name not in has:
            return False
        capacity, used, *_others = has[name]
        if capacity - used < amount:
            return False
    return True


def _refused(resolved: ResolvedRequest) -> float:
    """How many hosts filters may refuse at most, before the last of the servers is placed."""
    hosts, group = resolved.snapshot.hosts or (), resolved.server_group
    policy = None if group is None else group.policy
    is_any = not set(resolved.request.enabled_filters) <= {*_HARMLESS}
    if is_any or (policy == AFFINITY and resolved.members_on):
        return len(hosts)
    down = sum(map(not_, map(_IS_UP, hosts)))
    if policy != ANTI_AFFINITY:
        return down
    return down + len(resolved.members_on) + resolved.request.count
