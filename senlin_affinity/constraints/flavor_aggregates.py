"""Hosts of aggregates that name flavors: only for servers of these.

Source: Nova's AggregateTypeAffinityFilter. Any aggregate of the host may name the flavor, in a list
with commas under the metadata key ``instance_type``; a host without such a key takes every flavor.

At most: where the aggregates or the flavor are not known.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Host, Reason, ResolvedRequest, Verdict
from senlin_affinity.core.aggregates.metadata_of import aggregates_of, named, values

_FILTER = 'AggregateTypeAffinityFilter'
KEY = 'instance_type'


class FlavorAggregatesConstraint:
    """The flavors that a host is for."""

    name = 'flavor_aggregates'
    order = 74
    summary = 'hosts of aggregates that name flavors only for servers of these'
    needs = ('aggregates', 'flavors', 'hosts')
    filters = (_FILTER,)
    is_by_name = False
    is_by_resources = False
    reasons: ClassVar[Mapping[str, Reason]] = {
        'flavor_aggregates.every': Reason('is for every flavor'),
        'flavor_aggregates.named': Reason('is for servers of flavor {flavor}'),
        'flavor_aggregates.other': Reason(
            'is in {aggregates}, which is not for flavor {flavor}',
            advice=f'name the flavor in the aggregate, under {KEY}, or use another flavor',
        ),
        'flavor_aggregates.unknown': Reason('for which flavors it is, or which asks, is not known'),
        'flavor_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if not resolved.is_enforced(_FILTER):
            return Verdict.skipped('flavor_aggregates.not_enforced')
        flavor, aggregates = resolved.flavor, aggregates_of(resolved, host)
        if aggregates is None or flavor is None:
            return Verdict.passed('flavor_aggregates.unknown', is_at_most=True)
        lists = [values(each.metadata[KEY]) for each in aggregates if KEY in each.metadata]
        if not lists:
            return Verdict.passed('flavor_aggregates.every')
        if any(flavor.name in each for each in lists):
            return Verdict.passed('flavor_aggregates.named', flavor=flavor.name)
        names = named(aggregates, KEY)
        return Verdict.rejected('flavor_aggregates.other', aggregates=names, flavor=flavor.name)

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The host's aggregates are all that counts."""
        return host.aggregates if resolved.is_enforced(_FILTER) else None
