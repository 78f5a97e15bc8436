"""Compare the flavor's extra specs with the metadata of the host's aggregates.

Source: "Filter - Aggregate Instance Type Filter" (nfv-filters), and Nova's own
AggregateInstanceExtraSpecsFilter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

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
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.nova.aggregate_metadata import (
    FORCE,
    NOVA_REASONS,
    REASONS,
    Requirements,
    compared_metadata,
)
from senlin_affinity.nova.aggregates import aggregates_of
from senlin_affinity.nova.alternatives import joining, with_aggregate
from senlin_affinity.nova.instance_extra_specs import NOVAS, NovaRequirements, is_compared
from senlin_affinity.nova.queried_aggregates import (
    are_asked_by_nova,
    is_nova_keeping,
    reserved_prefixes,
)
from senlin_affinity.scenario.scenario import Scenario

OURS = 'AggregateInstanceTypeFilter'
UNCERTAIN = 'aggregate_metadata.reservation_unknown'
_MOST_EXAMPLES = 5


class _Asked(NamedTuple):
    """The extra specs as each enabled filter reads them: ``OURS``, then ``NOVAS``.

    ``with_reserved`` are those of ``OURS`` with the keys of reservations, if it is not known
    whether Nova compares these, or else None.
    """

    of_filters: tuple[Requirements | NovaRequirements, ...]
    with_reserved: Requirements | None


class AggregateMetadataConstraint(Constraint):
    """The filters that compare extra specs with aggregates."""

    name = 'aggregate_metadata'
    order = 70
    summary = "the extra specs of the flavor match the metadata of the host's aggregates"
    needs = ('aggregates', 'flavors')
    reads_flavor = ('extra_specs',)
    reads = ('aggregates',)
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

    def prepare(self, request: Request, cloud: Cloud) -> _Asked | Verdict:
        """Return the extra specs that the enabled filters compare.

        About every host: SKIP ``not_enforced`` without a filter; ``unknown`` without flavor or
        aggregates; the PASS of the first filter if the filters compare no extra spec, and no
        aggregate may force its metadata.
        """
        asked = _Asked((*_of_filters(request),), _with_reserved(request))
        if not asked.of_filters:
            return Verdict.skipped('aggregate_metadata.not_enforced')
        known = cloud.aggregates
        if request.flavor is None or known is None:
            return Verdict.unknown('aggregate_metadata.unknown')
        every = (*asked.of_filters, *filter(None, [asked.with_reserved]))
        if not any(each.asked for each in every) and not _may_be_forced(known):
            return asked.of_filters[0].check(())
        return asked

    def check(self, asked: _Asked, host: Host, cloud: Cloud) -> Verdict:
        """Return the first REJECT of the enabled filters, or else the verdict of the first filter.

        ``reservation_unknown`` if only keys that Nova may not compare reject the host.
        """
        aggregates = aggregates_of(cloud, host)
        metadata = [*map(compared_metadata, aggregates)]
        names = [aggregate.name for aggregate in aggregates]
        verdicts = [each.check(metadata, names) for each in asked.of_filters]
        verdict = next((verdict for verdict in verdicts if not verdict), verdicts[0])
        strict = asked.with_reserved
        if verdict and strict is not None and not strict.check(metadata, names):
            return Verdict.unknown(UNCERTAIN)
        return verdict

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[str]:
        """Yield ``NOVAS`` for an extra spec that it compares.

        ``OURS`` if an aggregate has ``force_metadata_check``.
        """
        if any(map(is_compared, request.extra_specs)):
            yield NOVAS
        if _may_be_forced(cloud.aggregates or ()):
            yield OURS

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield at most one change: rejected hosts added to an aggregate whose metadata agrees.

        Of several, the one that most hosts may join.
        """
        cloud = scenario.cloud
        rejected, asked = evaluation.rejected, self.prepare(request, cloud)
        if isinstance(asked, Verdict):
            return
        by_aggregates = {host.aggregates: host for host in rejected}
        examples = [*by_aggregates.values()][:_MOST_EXAMPLES]
        agreeing = [
            each.uuid
            for each in cloud.aggregates or ()
            if any(self.check(asked, with_aggregate(host, each), cloud) for host in examples)
        ]
        yield from joining(cloud, rejected, agreeing, kept_for_others(request, cloud))

    def without(self, request: Request) -> Data:
        """Return ``{'removed_extra_specs': [...]}``, the sorted keys that the filters compare.

        They are scoped (``aggregate_instance_extra_specs:``), or have no colon.
        """
        return {'removed_extra_specs': sorted(filter(is_compared, request.extra_specs))}


def _may_be_forced(aggregates: Iterable[Aggregate]) -> bool:
    return any(FORCE in each.metadata for each in aggregates)


def _of_filters(request: Request) -> Iterator[Requirements | NovaRequirements]:
    """Yield the extra specs as each enabled filter reads them.

    ``OURS`` ignores keys of reservations if Nova runs the request filter of this project.
    """
    if request.is_enforced(OURS):
        ignored = reserved_prefixes(request.settings) if is_nova_keeping(request.settings) else ()
        yield Requirements.parse(request.extra_specs, ignored)
    if request.is_enforced(NOVAS):
        yield NovaRequirements.parse(request.extra_specs)


def _with_reserved(request: Request) -> Requirements | None:
    """Return the requirements with reservations, if Nova enforces these and isolates aggregates.

    None otherwise, and without ``OURS``.
    """
    rules = request.settings
    is_unknown = is_nova_keeping(rules) and not are_asked_by_nova(rules)
    if not is_unknown or not request.is_enforced(OURS):
        return None
    return Requirements.parse(request.extra_specs)
