"""Limit the number of servers on a host, regardless of their size and project.

Source: Nova's two filters, which count ``running_vms``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from senlin_affinity.constraints.base import (
    Assumption,
    Cloud,
    Constraint,
    Host,
    Option,
    Reason,
    Request,
    Switch,
    Verdict,
)
from senlin_affinity.nova.aggregates import aggregates_of

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


class _Limits(NamedTuple):
    """The value of the option, and which limits the enabled filters read."""

    most: int
    is_of_hosts: bool
    is_of_aggregates: bool

    def of(self, cloud: Cloud, host: Host) -> int:
        """Return the number of servers that the enabled filters allow on the host.

        For AggregateNumInstancesFilter, the lowest ``max_instances_per_host`` of its aggregates;
        the option without any, or if one is not an integer. For NumInstancesFilter, the option.
        With both, the lower number.
        """
        if not self.is_of_aggregates:
            return self.most
        found = (each.metadata[KEY] for each in aggregates_of(cloud, host) if KEY in each.metadata)
        try:
            of_aggregates = min(map(int, found))
        except ValueError:  # no limits, or one that is not an integer
            of_aggregates = self.most
        return min(self.most, of_aggregates) if self.is_of_hosts else of_aggregates


class ServerCountConstraint(Constraint):
    """The limit of servers on a host."""

    name = 'server_count'
    order = 102
    summary = 'the number of servers on the host is within its limit'
    needs = ('hosts', 'aggregates')
    reads_flavor = ()
    filters = (_OF_HOSTS, _OF_AGGREGATES)
    reads = ('servers', 'aggregates')
    is_capacity_rule = True
    options = (MOST,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'server_count.room': Reason('holds {servers} servers, and may hold {most}'),
        'server_count.full': Reason(
            'holds {servers} servers, and may hold {most}',
            advice=f'raise {KEY}, or add hosts',
            short='too many servers',
            of_host='{servers}',
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

    def prepare(self, request: Request, cloud: Cloud) -> _Limits | Verdict:
        """Return the limits.

        SKIP ``not_enforced`` without the filters; PASS ``unknown``, at most, if the limits of
        aggregates are.
        """
        if not _is_enforced(request):
            return Verdict.skipped('server_count.not_enforced')
        is_of_hosts, is_of_aggregates = map(request.is_enforced, (_OF_HOSTS, _OF_AGGREGATES))
        limits = _Limits(request.option(MOST), is_of_hosts, is_of_aggregates)
        if limits.is_of_aggregates and cloud.aggregates is None:
            return Verdict.passed('server_count.unknown', is_at_most=True)
        return limits

    def check(self, asked: _Limits, host: Host, cloud: Cloud) -> Verdict:
        """Return a PASS ``room`` with the limit less the servers on the host, or a REJECT ``full``.

        If the number of servers is unknown, PASS ``not_counted`` with the limit, at most.
        """
        most = asked.of(cloud, host)
        if host.servers is None:
            room = max(0, most)
            return Verdict.passed('server_count.not_counted', room=room, is_at_most=True, most=most)
        if host.servers >= most:
            return Verdict.rejected('server_count.full', servers=host.servers, most=most)
        room = most - host.servers
        return Verdict.passed('server_count.room', room=room, servers=host.servers, most=most)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption | Switch]:
        """Yield NumInstancesFilter if the option is set, and the other one if an aggregate has it.

        DEFAULT if a filter is enabled, and the option is not explicit.
        """
        if MOST.key in request.settings.options:
            yield _OF_HOSTS
        if KEY in cloud.metadata_keys:
            yield _OF_AGGREGATES
        if _is_enforced(request) and not request.settings.is_explicit(MOST):
            yield DEFAULT.of(most=request.option(MOST))


def _is_enforced(request: Request) -> bool:
    return any(map(request.is_enforced, (_OF_HOSTS, _OF_AGGREGATES)))
