"""Require or forbid aggregates that the request names in ``member_of``.

Nova does not pass it to Placement; the policy chooses the host of each node instead.

Source: Placement's specification "Support filtering by forbidden aggregate membership".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Constraint,
    Data,
    Evaluated,
    Host,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.nova import aggregate_membership as aggregates
from senlin_affinity.nova.alternatives import joining

_FOR_OWNER = 'the servers must satisfy member_of {member_of}'


class MemberOfConstraint(Constraint):
    """The ``member_of`` expression of the request."""

    name = 'member_of'
    order = 40
    summary = 'the aggregates of the host satisfy member_of'
    needs = ('aggregates', 'hosts')
    is_host_specific = False
    uses_resources = False
    is_unresolvable = True
    is_waivable = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'member_of.admitted': Reason('its aggregates satisfy member_of'),
        'member_of.forbidden': Reason(
            'is in {aggregates}, which member_of forbids',
            advice='remove the host from the aggregate, or the aggregate from member_of',
            for_owner=_FOR_OWNER,
        ),
        'member_of.required': Reason(
            'is not in {aggregates}, which member_of requires',
            advice='add the host to the aggregate, or name another aggregate in member_of',
            for_owner=_FOR_OWNER,
        ),
        'member_of.unknown': Reason('the aggregates of the host are not known'),
        'member_of.none': Reason('the request has no member_of'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Reject a host in a ``forbidden`` aggregate, or in none of a ``required`` set.

        SKIP ``none`` without an expression; ``unknown`` if the aggregates of the host are;
        otherwise PASS ``admitted``.
        """
        member_of = resolved.member_of
        if not member_of:
            return Verdict.skipped('member_of.none')
        if not aggregates.is_known(resolved, host):
            return Verdict.unknown('member_of.unknown')
        codes = 'member_of.admitted', 'member_of.forbidden', 'member_of.required'
        return aggregates.check(resolved, host, member_of, codes)

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterator[Change]:
        """Yield at most one change: the required aggregate that most rejected hosts may join."""
        required = frozenset().union(*resolved.member_of.required)
        kept = kept_for_others(resolved)
        yield from joining(resolved, evaluation.rejected, required, kept)

    def without(self, _question: ResolvedRequest) -> Data:
        """Return ``{'member_of': []}``."""
        return {'member_of': []}

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return ``('aggregates',)``, or () without an expression."""
        return ('aggregates',) if resolved.member_of else ()
