"""The flavor's extra specs and the metadata of the host's aggregates.

Source: document 000, and Nova's own AggregateInstanceExtraSpecsFilter, which is older and compares
less. Each holds where the cloud's scheduler runs it; where it runs both, both.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
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
from senlin_affinity.core.aggregate_agreement import Agreement
from senlin_affinity.core.aggregate_metadata import Requirements
from senlin_affinity.core.aggregates.host_metadata import SCOPE
from senlin_affinity.core.aggregates.instance_extra_specs import NovaRequirements
from senlin_affinity.core.aggregates.reasons import NOVA_REASONS, REASONS
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.planning import more_hosts
from senlin_affinity.core.planning.actions import with_aggregate

#: Nova's scheduler filters, and the rule of each.
RULES: Mapping[str, type[Requirements | NovaRequirements]] = {
    'AggregateInstanceTypeFilter': Requirements,
    'AggregateInstanceExtraSpecsFilter': NovaRequirements,
}
ZONE = 'availability_zone'
#: Of hosts that are refused, so many kinds are tried in other aggregates.
_MOST_LOOKS = 5


class AggregateMetadataConstraint:
    """The extra specs of the flavor against the metadata of the aggregates, as the cloud does."""

    name = 'aggregate_metadata'
    order = 70
    summary = "the flavor's extra specs agree with the metadata of the host's aggregates"
    needs = ('aggregates', 'flavors')
    is_by_name = False
    is_by_resources = False
    may_be_given_up = True
    filters = tuple(RULES)
    reasons: ClassVar[Mapping[str, Reason]] = {
        **REASONS,
        **NOVA_REASONS,
        'aggregate_metadata.not_enforced': Reason(
            'not enforced here: the scheduler runs neither AggregateInstanceTypeFilter '
            'nor AggregateInstanceExtraSpecsFilter'
        ),
        'aggregate_metadata.unknown': Reason('the flavor or the aggregates are not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        rules = resolved.once(_rules)
        if not rules:
            return Verdict.skipped('aggregate_metadata.not_enforced')
        if resolved.flavor is None or resolved.snapshot.aggregates is None:
            return Verdict.unknown('aggregate_metadata.unknown')
        known = resolved.snapshot.aggregates_by_uuid
        # An aggregate that Nova does not have has no metadata.
        aggregates = [known[uuid] for uuid in sorted(host.aggregates) if uuid in known]
        metadata = [_metadata(aggregate) for aggregate in aggregates]
        names = [aggregate.name for aggregate in aggregates]
        verdicts = [rule.check(metadata, names) for rule in rules]
        return next((verdict for verdict in verdicts if not verdict), verdicts[0])

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates',) if resolved.once(_rules) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The host's aggregates are all that counts; those that agree for sure are alike."""
        return self.shapes(resolved, (host,))[0]

    def shapes(self, resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[Hashable]:
        """The same of each of these hosts."""
        told, sets = resolved.once(_told), [host.aggregates for host in hosts]
        if told is None:
            return sets
        each = zip(told.are_told(sets), sets, strict=True)
        return [is_told or aggregates for is_told, aggregates in each]

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts put into an aggregate whose metadata the rule takes."""
        resolved = planner.resolved
        looks = {host.aggregates: host for host in more_hosts.refused(planner, self.name)}
        some = [*looks.values()][:_MOST_LOOKS]
        taking = [
            each.uuid
            for each in resolved.snapshot.aggregates or ()
            if any(self.check_host(resolved, with_aggregate(host, each)) for host in some)
        ]
        found = more_hosts.joined(planner, self.name, taking, kept_for_others(resolved))
        if found is not None:
            yield planner.change('aggregate_hosts', found[0], *found[1])

    def without(self, resolved: ResolvedRequest) -> Data:
        """What gives the rule up: a flavor that asks nothing. Aggregates may still force theirs."""
        specs = () if resolved.flavor is None else resolved.flavor.extra_specs
        asked = (key for key in specs if key.startswith(SCOPE) or ':' not in key)
        return {'removed_extra_specs': sorted(asked)}


def _metadata(aggregate: Aggregate) -> Mapping[str, str]:
    """What Nova's scheduler sees: the zone is a key like the others."""
    zone = aggregate.availability_zone
    return aggregate.metadata if zone is None else {ZONE: zone, **aggregate.metadata}


def _told(resolved: ResolvedRequest) -> Agreement | None:
    """What can be told at once, where the rule of this project alone counts."""
    rules, known = resolved.once(_rules), resolved.snapshot.aggregates
    if known is None or len(rules) != 1 or not isinstance(rules[0], Requirements):
        return None
    return Agreement.of(rules[0], {each.uuid: _metadata(each) for each in known})


def _rules(resolved: ResolvedRequest) -> Sequence[Requirements | NovaRequirements]:
    """The extra specs as the filters that the scheduler runs read them."""
    extra_specs = resolved.flavor.extra_specs if resolved.flavor is not None else {}
    return [rule.parse(extra_specs) for name, rule in RULES.items() if resolved.is_enforced(name)]
