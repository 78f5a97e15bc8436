"""Limit the number of servers on a host, regardless of their size and project.

Source: Nova's two filters, which count ``running_vms``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Constraint,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Switch,
    Verdict,
)
from senlin_affinity.nova.aggregate_lookup import aggregates_of

KEY = 'max_instances_per_host'
MOST = Option(
    KEY,
    50,
    'The maximum number of servers on a host if NumInstancesFilter or AggregateNumInstancesFilter '
    'is enabled. Use the value in section [filter_scheduler] of nova.conf.',
    minimum=1,
    nova='filter_scheduler',
)
_OF_HOSTS, _OF_AGGREGATES = 'NumInstancesFilter', 'AggregateNumInstancesFilter'
DEFAULT = Assumption(f'server_count.{KEY}', f'{KEY} of {{most}}')


class ServerCountConstraint(Constraint):
    """The limit of servers on a host."""

    name = 'server_count'
    order = 102
    summary = 'the number of servers on the host is within its limit'
    needs = ('hosts', 'aggregates')
    filters = (_OF_HOSTS, _OF_AGGREGATES)
    is_host_specific = True
    uses_resources = False
    is_capacity_rule = True
    options = (MOST,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_count.room': Reason('holds {servers} servers, and may hold {most}'),
        'server_count.full': Reason(
            'holds {servers} servers, and may hold {most}',
            advice=f'raise {KEY}, or add hosts',
        ),
        'server_count.not_counted': Reason(
            'may hold {most} servers, but its current number of servers is not known',
            caveat='the number of servers on a host is not known',
        ),
        'server_count.unknown': Reason(
            'its limit of servers is not known',
            caveat='the limit of servers on a host is not known',
        ),
        'server_count.not_enforced': Reason(
            'not enforced here: no filter limits the number of servers on a host'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return a PASS ``room`` with the limit less the servers on the host, or a REJECT ``full``.

        SKIP ``not_enforced`` without the filters. At most: PASS ``not_counted`` with the limit if
        the number of servers is unknown, and ``unknown`` without room if the limit is.
        """
        if not resolved.memo(_is_enforced):
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

    def specific_hosts(self, resolved: ResolvedRequest) -> Collection[str] | None:
        """Return None (any host), or () without the filters."""
        return None if resolved.memo(_is_enforced) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption | Switch]:
        """Yield NumInstancesFilter if the option is set, and the other one if an aggregate has it.

        DEFAULT if a filter is enabled, and the option is not explicit.
        """
        if MOST.key in resolved.rules.options:
            yield _OF_HOSTS
        if any(KEY in each.metadata for each in resolved.snapshot.aggregates or ()):
            yield _OF_AGGREGATES
        if resolved.memo(_is_enforced) and not resolved.rules.is_explicit(MOST):
            yield DEFAULT.of(most=resolved.option(MOST))


def _is_enforced(resolved: ResolvedRequest) -> bool:
    return any(map(resolved.is_enforced, (_OF_HOSTS, _OF_AGGREGATES)))


def _limit(resolved: ResolvedRequest, host: Host) -> int | None:
    """Return the number of servers that the enabled filters allow on the host; None: unknown.

    For AggregateNumInstancesFilter, the lowest ``max_instances_per_host`` of its aggregates; the
    option without any, or if one is not an integer. For NumInstancesFilter, the option. With both,
    the lower number.
    """
    most: int = resolved.option(MOST)
    if not resolved.is_enforced(_OF_AGGREGATES):
        return most
    aggregates = aggregates_of(resolved, host)
    if aggregates is None:
        return None
    limits = (each.metadata[KEY] for each in aggregates if KEY in each.metadata)
    try:
        of_aggregates = min(map(int, limits))
    except ValueError:  # no limits, or one that is not an integer
        of_aggregates = most
    return min(most, of_aggregates) if resolved.is_enforced(_OF_HOSTS) else of_aggregates
