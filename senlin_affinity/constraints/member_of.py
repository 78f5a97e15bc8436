"""The aggregates that a request names itself: required and forbidden ones.

Source: document 001, ``member_of``. Nova does not pass a request's own expression on to Placement;
the policy keeps to it by choosing the host of every node.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Data,
    Host,
    Reason,
    Replanner,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.core.aggregates import membership as aggregates
from senlin_affinity.core.planning import more_hosts

#: Whatever the code is: which one it is tells of hosts.
_FOR_OWNER = 'they must keep to member_of {member_of}'


class MemberOfConstraint:
    """The request's own ``member_of``."""

    name = 'member_of'
    order = 40
    summary = 'only hosts in the aggregates that member_of requires, and in none that it forbids'
    needs = ('aggregates', 'hosts')
    is_by_name = False
    is_by_resources = False
    is_lasting = True
    may_be_given_up = True
    filters: tuple[str, ...] = ()
    reasons: ClassVar[Mapping[str, Reason]] = {
        'member_of.admitted': Reason('its aggregates are what member_of asks for'),
        'member_of.forbidden': Reason(
            'is in {aggregates}, which member_of forbids',
            advice='take the host out of the aggregate, or leave the aggregate out of member_of',
            for_owner=_FOR_OWNER,
        ),
        'member_of.required': Reason(
            'is not in {aggregates}, which member_of requires',
            advice='add the host to the aggregate, or name another one in member_of',
            for_owner=_FOR_OWNER,
        ),
        'member_of.unknown': Reason('the aggregates of the host are not known'),
        'member_of.none': Reason('no member_of is asked for'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        member_of = resolved.member_of
        if not member_of:
            return Verdict.skipped('member_of.none')
        if not aggregates.is_known(resolved, host):
            return Verdict.unknown('member_of.unknown')
        codes = 'member_of.admitted', 'member_of.forbidden', 'member_of.required'
        return aggregates.check(resolved, host, member_of, codes)

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts put into an aggregate that is required."""
        kept = kept_for_others(planner.resolved)
        required = planner.resolved.member_of.required
        found = more_hosts.joined(planner, self.name, frozenset().union(*required), kept)
        if found is not None:
            yield planner.change('aggregate_hosts', found[0], *found[1])

    def without(self, _question: ResolvedRequest) -> Data:
        """What gives the rule up."""
        return {'member_of': []}

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates',) if resolved.member_of else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The aggregates that the expression names, as far as the host is in them."""
        if not resolved.member_of:
            return None
        return aggregates.shape(resolved, host, resolved.member_of)
