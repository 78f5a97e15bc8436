"""Allow hosts of aggregates that name flavors for these flavors only.

Source: Nova's AggregateTypeAffinityFilter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Constraint, Host, Reason, ResolvedRequest, Verdict
from senlin_affinity.nova.aggregate_lookup import aggregates_of, named, values

_FILTER = 'AggregateTypeAffinityFilter'
KEY = 'instance_type'


class FlavorAggregatesConstraint(Constraint):
    """The flavors that aggregates name."""

    name = 'flavor_aggregates'
    order = 74
    summary = 'hosts in aggregates that name flavors accept only these flavors'
    needs = ('aggregates', 'flavors', 'hosts')
    filters = (_FILTER,)
    is_host_specific = False
    uses_resources = False
    reasons: ClassVar[Mapping[str, Reason]] = {
        'flavor_aggregates.every': Reason('accepts every flavor'),
        'flavor_aggregates.named': Reason('accepts flavor {flavor}'),
        'flavor_aggregates.other': Reason(
            'is in {aggregates}, which does not accept flavor {flavor}',
            advice=f'name the flavor in the aggregate, under {KEY}, or use another flavor',
        ),
        'flavor_aggregates.unknown': Reason('it is not known whether the host accepts the flavor'),
        'flavor_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Reject (``other``) a host whose aggregates name flavors, but not this one.

        The metadata key is ``instance_type``, with commas between names. PASS ``named`` if any
        aggregate names the flavor, ``every`` if none names flavors, and, at most, ``unknown``
        without flavor or aggregates. SKIP ``not_enforced`` without the filter.
        """
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

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return ``('aggregates',)``, or () without the filter."""
        return ('aggregates',) if resolved.is_enforced(_FILTER) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[str]:
        """Yield the filter if any aggregate names flavors."""
        if any(KEY in each.metadata for each in resolved.snapshot.aggregates or ()):
            yield _FILTER
