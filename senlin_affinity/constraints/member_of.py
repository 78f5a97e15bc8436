"""Require or forbid aggregates that the request names in ``member_of``.

Nova does not pass it to Placement; the policy chooses the host of each node instead.

Source: Placement's specification "Support filtering by forbidden aggregate membership".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Cloud,
    Constraint,
    Data,
    Evaluated,
    Host,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova import aggregates
from senlin_affinity.nova.alternatives import joining
from senlin_affinity.scenario.scenario import Scenario

#: The expression, and its required sets in the order that decides which of them a verdict names.
_Asked = tuple[MemberOf, tuple[frozenset[str], ...]]
_FOR_OWNER = 'the servers must satisfy member_of {member_of}'


class MemberOfConstraint(Constraint):
    """The ``member_of`` expression of the request."""

    name = 'member_of'
    order = 40
    summary = 'the aggregates of the host satisfy member_of'
    needs = ('aggregates', 'hosts')
    reads_flavor = ()
    reads = ('aggregates',)
    is_unresolvable = True
    is_waivable = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'member_of.admitted': Reason('its aggregates satisfy member_of'),
        'member_of.forbidden': Reason(
            'is in aggregate {aggregates}, which member_of forbids',
            advice='remove the host from the aggregate, or the aggregate from member_of',
            for_owner=_FOR_OWNER,
            of_several='is in an aggregate that member_of forbids',
            of_host='{aggregates}',
        ),
        'member_of.required': Reason(
            'is not in {aggregates}, which member_of requires',
            advice='add the host to the aggregate, or name another aggregate in member_of',
            for_owner=_FOR_OWNER,
        ),
        'member_of.unknown': Reason('the aggregates of the host are not known'),
        'member_of.none': Reason('the request has no member_of'),
    }

    def prepare(self, request: Request, cloud: Cloud) -> Verdict | _Asked:
        """Return the expression; SKIP ``none`` without one."""
        asked = request.member_of
        return (asked, asked.required) if asked else Verdict.skipped('member_of.none')

    def check(self, asked: _Asked, host: Host, cloud: Cloud) -> Verdict:
        """Reject a host in a ``forbidden`` aggregate, or in none of a ``required`` set.

        ``unknown`` if the aggregates are unknown, and the host has none; otherwise PASS
        ``admitted``.
        """
        if cloud.aggregates is None and not host.aggregates:
            return Verdict.unknown('member_of.unknown')
        codes = 'member_of.admitted', 'member_of.forbidden', 'member_of.required'
        return aggregates.check(cloud, host.aggregates, asked[0], codes)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield at most one change: the required aggregate that most rejected hosts may join."""
        cloud = scenario.cloud
        required = frozenset().union(*request.member_of.required)
        kept = kept_for_others(request, cloud)
        yield from joining(cloud, evaluation.rejected, required, kept)

    def without(self, request: Request) -> Data:
        """Return ``{'member_of': []}``."""
        return {'member_of': []}
