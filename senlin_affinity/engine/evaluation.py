"""Evaluate all constraints for a request, and derive how many servers fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

from senlin_affinity.engine import scheduler_filters
from senlin_affinity.engine.assign import choose
from senlin_affinity.engine.capacity import (
    TotalCapacity,
    has_unknown_host,
    of_constraint,
    total_capacity,
)
from senlin_affinity.engine.domains import DomainCapacity, domain_capacity
from senlin_affinity.engine.table import Table, column_of, evaluate_hosts
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import UNMODELLED, Assumption, Caveat, Verdict
from senlin_affinity.nova.candidate_query import placement_answer
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.scenario.column import Column
from senlin_affinity.scenario.constraint import (
    Constraint,
    Switch,
    attributing,
    check_verdict,
    is_of_hosts,
    is_of_requests,
    reasons_of,
)
from senlin_affinity.scenario.scenario import Scenario

#: If criteria cross, the expected number is found by placing at most this many servers.
_MOST_TRIED = 100_000


@dataclass(frozen=True)
class Shared:
    """The answers of some constraints, by their names, which several requests share.

    ``declared`` and ``caveats`` are the answers of ``assumptions`` and ``caveats``.
    """

    columns: Mapping[str, Column]
    verdicts: Mapping[str, Verdict]
    declared: Mapping[str, Sequence[Assumption | Switch]]
    caveats: Mapping[str, Sequence[str | Caveat]]

    @classmethod
    def of(cls, request: Request, scenario: Scenario, constraints: Iterable[Constraint]) -> Shared:
        """Return the answers for a request."""
        cloud, own = scenario.cloud, [*constraints]
        return cls(
            {each.name: column_of(each, request, scenario) for each in filter(is_of_hosts, own)},
            {each.name: _of_request(each, request, cloud) for each in filter(is_of_requests, own)},
            {each.name: of_constraint(request, cloud, each) for each in own},
            {each.name: (*each.caveats(request, cloud),) for each in own},
        )

    def __or__(self, other: Shared) -> Shared:
        """Return the answers of both."""
        return Shared(
            {**self.columns, **other.columns},
            {**self.verdicts, **other.verdicts},
            {**self.declared, **other.declared},
            {**self.caveats, **other.caveats},
        )


NOTHING = Shared({}, {}, {}, {})


@dataclass(frozen=True)
class Evaluation:
    """A request with the verdicts about it, and its capacity.

    ``table`` is about single hosts; ``domains`` adds the verdicts about their domains (None:
    nothing couples hosts). ``verdicts`` are those about the request, by constraint.
    """

    request: Request
    scenario: Scenario
    constraints: Sequence[Constraint]
    table: Table
    domains: DomainCapacity | None
    verdicts: Mapping[str, Verdict]
    total: TotalCapacity
    shared: Shared = NOTHING

    @cached_property
    def declared(self) -> Sequence[Assumption | Switch]:
        """The assumptions, filters and options that the constraints declare; they may repeat."""
        known = self.shared.declared
        return [
            found
            for each in self.constraints
            for found in (
                known[each.name]
                if each.name in known
                else of_constraint(self.request, self.scenario.cloud, each)
            )
        ]

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts; () if they are unknown."""
        return self.scenario.hosts

    @property
    def fits(self) -> bool | None:
        """True up to the expected number, False above the upper bound, else None."""
        return self.total.bounds.fits(self.request.count)

    @property
    def capacity(self) -> int | None:
        """The upper bound of the number of servers; None: unlimited or unknown."""
        return self.total.bounds.upper

    def chosen(self) -> list[int]:
        """Return the host index of each requested server that is expected to fit."""
        number = min(self.request.count, self.total.bounds.expected or 0)
        return choose(self.request, self.scenario, self.table, self.domains, number)


def evaluate(
    request: Request,
    scenario: Scenario,
    constraints: Sequence[Constraint],
    *,
    is_brief: bool = False,
    shared: Shared = NOTHING,
) -> Evaluation:
    """Evaluate each constraint that is not waived, and compute the capacity.

    :param is_brief: whether at most one caveat about hosts is enough.
    :param shared: answers that are known to hold for this request.
    """
    constraints = [item for item in constraints if item.name not in request.settings.waived]
    verdicts = {
        item.name: shared.verdicts.get(item.name) or _of_request(item, request, scenario.cloud)
        for item in filter(is_of_requests, constraints)
    }
    of_hosts = [*filter(is_of_hosts, constraints)]
    table = evaluate_hosts(request, of_hosts, scenario, shared.columns)
    domains = coupled(request, scenario, constraints, table)
    unmodelled = [
        each if isinstance(each, Caveat) else Caveat(UNMODELLED, each)
        for each in _unmodelled(request, scenario.cloud, constraints, table, shared.caveats)
    ]
    reasons = reasons_of(constraints)
    most = 1 if is_brief else None
    total = total_capacity(request, scenario, table, domains, verdicts, unmodelled, reasons, most)
    return Evaluation(request, scenario, constraints, table, domains, verdicts, total, shared)


def coupled(
    request: Request, scenario: Scenario, constraints: Sequence[Constraint], table: Table
) -> DomainCapacity | None:
    """Return the capacity of hosts that racks, zones, pools or affinity couple; None without these.

    If criteria cross, the expected number is that of servers that can be placed one by one.
    """
    is_together = has_unknown_host(request, scenario)
    found = domain_capacity(request, scenario, constraints, table, is_together=is_together)
    if found is None or not found.crossing:
        return found
    tried = choose(request, scenario, table, found, _MOST_TRIED)
    return replace(found, bounds=found.bounds._replace(expected=len(tried)))


def _of_request(constraint: Constraint, request: Request, cloud: Cloud) -> Verdict:
    """Return the verdict about the request."""
    with attributing(constraint, 'check_request'):
        return check_verdict(constraint, constraint.check_request(request, cloud))


def _unmodelled(
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    table: Table,
    known: Mapping[str, Sequence[str | Caveat]],
) -> Iterator[str | Caveat]:
    """Yield what filters, flavor and constraints may still reject; a text has no code of its own.

    ``Demand.only_placement`` only if a host that takes servers has no grant.
    """
    modelled = {name for item in constraints for name in item.filters}
    yield from scheduler_filters.unmodelled(request, modelled)
    demand = demand_of(request)
    if demand is not None:
        yield from demand.unmodelled
        only_placement = demand.only_placement
        if only_placement:
            query = request.memo(placement_answer, cloud).query
            hosts = compress(cloud.hosts or (), (table.upper > 0).tolist())
            if any(host.grant(query) is None for host in hosts):
                yield from only_placement
    for item in constraints:
        yield from known[item.name] if item.name in known else item.caveats(request, cloud)
