"""Allow hosts of aggregates that name flavors for these flavors only.

Source: Nova's AggregateTypeAffinityFilter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Cloud,
    Constraint,
    Host,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.nova.aggregates import aggregates_of, named, values

_FILTER = 'AggregateTypeAffinityFilter'
KEY = 'instance_type'


class FlavorAggregatesConstraint(Constraint):
    """The flavors that aggregates name."""

    name = 'flavor_aggregates'
    order = 74
    summary = 'hosts in aggregates that name flavors accept only these flavors'
    needs = ('aggregates', 'flavors', 'hosts')
    filters = (_FILTER,)
    reads = ('aggregates',)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'flavor_aggregates.every': Reason('accepts every flavor'),
        'flavor_aggregates.named': Reason('accepts flavor {flavor}'),
        'flavor_aggregates.other': Reason(
            'is in aggregate {aggregates}, which does not accept flavor {flavor}',
            advice=f'name the flavor in the aggregate, under {KEY}, or use another flavor',
            of_several='is in an aggregate that does not accept flavor {flavor}',
            of_host='{aggregates}',
        ),
        'flavor_aggregates.unknown': Reason('it is not known whether the host accepts the flavor'),
        'flavor_aggregates.not_enforced': Reason(
            f'not enforced here: the scheduler does not run {_FILTER}'
        ),
    }

    def prepare(self, request: Request, cloud: Cloud) -> str | Verdict:
        """Return the name of the flavor.

        About every host: SKIP ``not_enforced`` without the filter; PASS ``unknown``, at most,
        without flavor or aggregates; PASS ``every`` if no aggregate names flavors.
        """
        if not request.is_enforced(_FILTER):
            return Verdict.skipped('flavor_aggregates.not_enforced')
        flavor = request.flavor
        if flavor is None or cloud.aggregates is None:
            return Verdict.passed('flavor_aggregates.unknown', is_at_most=True)
        if KEY not in cloud.metadata_keys:
            return Verdict.passed('flavor_aggregates.every')
        return flavor.name

    def check(self, asked: str, host: Host, cloud: Cloud) -> Verdict:
        """Reject (``other``) a host whose aggregates name flavors, but not this one.

        The metadata key is ``instance_type``, with commas between names. PASS ``named`` if any
        aggregate names the flavor, ``every`` if none names flavors.
        """
        aggregates = aggregates_of(cloud, host)
        lists = [values(each.metadata[KEY]) for each in aggregates if KEY in each.metadata]
        if not lists:
            return Verdict.passed('flavor_aggregates.every')
        if any(asked in each for each in lists):
            return Verdict.passed('flavor_aggregates.named', flavor=asked)
        names = named(aggregates, KEY)
        return Verdict.rejected('flavor_aggregates.other', aggregates=names, flavor=asked)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[str]:
        """Yield the filter if any aggregate names flavors."""
        if KEY in cloud.metadata_keys:
            yield _FILTER
