"""Compare the flavor's extra specs with the metadata of the host's aggregates.

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters), and Nova's own
AggregateInstanceExtraSpecsFilter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.nova.aggregate_lookup import aggregates_of
from senlin_affinity.nova.aggregate_metadata import Requirements
from senlin_affinity.nova.aggregate_reasons import NOVA_REASONS, REASONS
from senlin_affinity.nova.alternatives import joining, with_aggregate
from senlin_affinity.nova.host_metadata import FORCE
from senlin_affinity.nova.instance_extra_specs import NOVAS, NovaRequirements, is_compared
from senlin_affinity.nova.reserved_aggregates import (
    are_asked_by_nova,
    is_nova_keeping,
    reserved_prefixes,
)

OURS = 'AggregateInstanceTypeFilter'
ZONE = 'availability_zone'
UNCERTAIN = 'aggregate_metadata.reservation_unknown'
_MOST_EXAMPLES = 5


class AggregateMetadataConstraint(Constraint):
    """The filters that compare extra specs with aggregates."""

    name = 'aggregate_metadata'
    order = 70
    summary = "the extra specs of the flavor match the metadata of the host's aggregates"
    needs = ('aggregates', 'flavors')
    is_host_specific = False
    uses_resources = False
    is_waivable = True
    filters = OURS, NOVAS
    reasons: ClassVar[Mapping[str, Reason]] = {
        **REASONS,
        **NOVA_REASONS,
        'aggregate_metadata.not_enforced': Reason(
            'not enforced here: the scheduler runs neither AggregateInstanceTypeFilter '
            'nor AggregateInstanceExtraSpecsFilter'
        ),
        'aggregate_metadata.unknown': Reason('the flavor or the aggregates are not known'),
        UNCERTAIN: Reason(
            "senlin-affinity's request filter may exclude the keys of reservations from the "
            'comparison'
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return the first REJECT of the enabled filters, or else the verdict of the first filter.

        SKIP ``not_enforced`` without a filter; ``unknown`` without flavor or aggregates;
        ``reservation_unknown`` if only keys that Nova may not compare reject the host.
        """
        rules = resolved.memo(_rules)
        if not rules:
            return Verdict.skipped('aggregate_metadata.not_enforced')
        aggregates = aggregates_of(resolved, host)
        if resolved.flavor is None or aggregates is None:
            return Verdict.unknown('aggregate_metadata.unknown')
        metadata = [_metadata(aggregate) for aggregate in aggregates]
        names = [aggregate.name for aggregate in aggregates]
        verdicts = [rule.check(metadata, names) for rule in rules]
        verdict = next((verdict for verdict in verdicts if not verdict), verdicts[0])
        strict = resolved.memo(_strict)
        if verdict and strict is not None and not strict.check(metadata, names):
            return Verdict.unknown(UNCERTAIN)
        return verdict

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return ``('aggregates',)`` if one of the filters is enabled, or else ()."""
        return ('aggregates',) if resolved.memo(_rules) else ()

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[str]:
        """Yield ``NOVAS`` for an extra spec that it compares.

        ``OURS`` if an aggregate has ``force_metadata_check``.
        """
        if any(map(is_compared, resolved.extra_specs)):
            yield NOVAS
        if any(FORCE in each.metadata for each in resolved.snapshot.aggregates or ()):
            yield OURS

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterator[Change]:
        """Yield at most one change: rejected hosts added to an aggregate whose metadata agrees.

        Of several, the one that most hosts may join.
        """
        rejected = evaluation.rejected
        by_aggregates = {host.aggregates: host for host in rejected}
        examples = [*by_aggregates.values()][:_MOST_EXAMPLES]
        agreeing = [
            each.uuid
            for each in resolved.snapshot.aggregates or ()
            if any(self.check_host(resolved, with_aggregate(host, each)) for host in examples)
        ]
        yield from joining(resolved, rejected, agreeing, kept_for_others(resolved))

    def without(self, resolved: ResolvedRequest) -> Data:
        """Return ``{'removed_extra_specs': [...]}``, the sorted keys that the filters compare.

        They are scoped (``aggregate_instance_extra_specs:``), or have no colon.
        """
        return {'removed_extra_specs': sorted(filter(is_compared, resolved.extra_specs))}


def _metadata(aggregate: Aggregate) -> Mapping[str, str]:
    """Return the metadata, with the zone under ``availability_zone`` unless the key exists."""
    zone = aggregate.availability_zone
    return aggregate.metadata if zone is None else {ZONE: zone, **aggregate.metadata}


def _rules(resolved: ResolvedRequest) -> Sequence[Requirements | NovaRequirements]:
    """Return the extra specs as each enabled filter reads them: ``OURS``, then ``NOVAS``.

    ``OURS`` ignores keys of reservations if Nova runs the request filter of this project.
    """
    rules: list[Requirements | NovaRequirements] = []
    if resolved.is_enforced(OURS):
        ignored = reserved_prefixes(resolved.rules) if is_nova_keeping(resolved.rules) else ()
        rules.append(Requirements.parse(resolved.extra_specs, ignored))
    if resolved.is_enforced(NOVAS):
        rules.append(NovaRequirements.parse(resolved.extra_specs))
    return rules


def _strict(resolved: ResolvedRequest) -> Requirements | None:
    """Return the requirements with reservations, if Nova enforces these and isolates aggregates.

    None otherwise, and without a flavor or ``OURS``.
    """
    rules, flavor = resolved.rules, resolved.flavor
    is_unknown = is_nova_keeping(rules) and not are_asked_by_nova(rules)
    if flavor is None or not is_unknown or not resolved.is_enforced(OURS):
        return None
    return Requirements.parse(flavor.extra_specs)
