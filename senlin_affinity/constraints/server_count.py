"""No more servers on a host than its limit, whatever their size and whoever they belong to.

Source: Nova's NumInstancesFilter, which lets a server in where the host holds fewer than its option
``max_instances_per_host``, and AggregateNumInstancesFilter, for which the smallest of the metadata
``max_instances_per_host`` of the host's aggregates takes its place; a value that is no integer
makes it fall back to nova.conf's. What they count is what a hypervisor shows as ``running_vms``.

At most: the limit, where it is not known how many servers the host holds.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Host, Option, Reason, ResolvedRequest, Verdict
from senlin_affinity.core.aggregates.metadata_of import aggregates_of
from senlin_affinity.core.assumptions import Assumption

KEY = 'max_instances_per_host'
MOST = Option(
    KEY,
    50,
    'How many servers a host may hold where NumInstancesFilter or AggregateNumInstancesFilter '
    "runs; as in nova.conf's [filter_scheduler].",
    minimum=1,
    nova='filter_scheduler',
)
_OF_HOSTS, _OF_AGGREGATES = 'NumInstancesFilter', 'AggregateNumInstancesFilter'
DEFAULT = Assumption(f'server_count.{KEY}', f'{KEY} of {{most}}')


class ServerCountConstraint:
    """The number of servers on a host."""

    name = 'server_count'
    order = 102
    summary = 'no more servers on a host than its limit'
    needs = ('hosts', 'aggregates')
    filters = (_OF_HOSTS, _OF_AGGREGATES)
    is_by_name = True
    is_by_resources = False
    is_about_room = True
    options = (MOST,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_count.room': Reason('holds {servers} servers, it may hold {most}'),
        'server_count.full': Reason(
            'holds {servers} servers, it may hold {most}',
            advice=f'raise {KEY}, or add hosts',
        ),
        'server_count.not_counted': Reason(
            'may hold {most} servers, and how many it holds is not known',
            doubt='how many servers a host holds is not known',
        ),
        'server_count.unknown': Reason(
            'how many servers it may hold is not known',
            doubt='how many servers a host may hold is not known',
        ),
        'server_count.not_enforced': Reason(
            'not enforced here: the scheduler counts no servers of a host'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if not resolved.once(_is_enforced):
            return Verdict.skipped('server_count.not_enforced')
        most = _limit(resolved, host)
        if most is None:
            return Verdict.passed('server_count.unknown', is_at_most=True)
        if host.servers is None:
            room = max(0, most)
            return Verdict.passed('server_count.not_counted', room=room, is_at_most=True, most=most)
        if host.servers >= most:
            return Verdict.rejected('server_count.full', servers=host.servers, most=most)
        room = most - host.servers
        return Verdict.passed('server_count.room', room=room, servers=host.servers, most=most)

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host beside its servers."""
        return ('aggregates',) if resolved.once(_is_enforced) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The servers of the host, and the aggregates, which may limit them."""
        return (host.servers, host.aggregates) if resolved.once(_is_enforced) else None

    def named(self, resolved: ResolvedRequest) -> Collection[str] | None:
        """Any host, where servers are counted."""
        return None if resolved.once(_is_enforced) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """The limit of nova.conf, where a filter reads it."""
        if resolved.once(_is_enforced) and not resolved.rules.is_told(MOST):
            yield DEFAULT.of(most=resolved.option(MOST))


def _is_enforced(resolved: ResolvedRequest) -> bool:
    return any(map(resolved.is_enforced, (_OF_HOSTS, _OF_AGGREGATES)))


def _limit(resolved: ResolvedRequest, host: Host) -> int | None:
    """How many servers the filters that run allow on the host; None: that is not known."""
    most: int = resolved.option(MOST)
    if not resolved.is_enforced(_OF_AGGREGATES):
        return most
    aggregates = aggregates_of(resolved, host)
    if aggregates is None:
        return None
    limits = (each.metadata[KEY] for each in aggregates if KEY in each.metadata)
    try:
        of_aggregates = min(map(int, limits), default=most)
    except ValueError:
        of_aggregates = most
    return min(most, of_aggregates) if resolved.is_enforced(_OF_HOSTS) else of_aggregates
