"""Evaluate all constraints for a request, and derive how many servers fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import is_not

from senlin_affinity.model.constraint import Constraint, is_of_hosts, is_of_requests
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.placement_answer import placement_answer
from senlin_affinity.planner import plugin_errors, scheduler_filters
from senlin_affinity.planner.assignment import choose
from senlin_affinity.planner.capacity import Capacity, has_unknown_host, total_capacity
from senlin_affinity.planner.domains import DomainCapacity, domain_capacity
from senlin_affinity.planner.matrix import VerdictMatrix, evaluate_hosts

#: If criteria cross, the expected number is found by placing at most this many servers.
_MOST_TRIED = 100_000


@dataclass(frozen=True)
class Evaluation:
    """A request with the verdicts about it, and its capacity.

    ``matrix`` is about single hosts; ``domains`` adds the verdicts about their domains (None:
    nothing couples hosts). ``request`` are the verdicts about the request, by constraint.
    """

    resolved: ResolvedRequest
    constraints: Sequence[Constraint]
    matrix: VerdictMatrix
    domains: DomainCapacity | None
    request: Mapping[str, Verdict]
    total: Capacity

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts of the snapshot; () if they are unknown."""
        return self.resolved.snapshot.hosts or ()

    @property
    def fits(self) -> bool | None:
        """True up to the expected number, False above the upper bound, else None."""
        return self.total.bounds.fits(self.resolved.request.count)

    @property
    def capacity(self) -> int | None:
        """The upper bound of the number of servers; None: unlimited or unknown."""
        return self.total.bounds.upper

    def chosen(self) -> list[int]:
        """Return the host index of each requested server that is expected to fit."""
        number = min(self.resolved.request.count, self.total.bounds.expected or 0)
        return choose(self.resolved, self.hosts, self.matrix, self.domains, number)


def evaluate(
    resolved: ResolvedRequest,
    constraints: Sequence[Constraint],
    previous: Evaluation | None = None,
) -> Evaluation:
    """Evaluate each constraint that is not in ``given_up``, and compute the capacity.

    :param previous: its verdicts about unchanged hosts are reused if :func:`_is_alike`. With it,
        the result has at most one caveat about hosts.
    """
    hosts = resolved.snapshot.hosts
    constraints = [item for item in constraints if item.name not in resolved.rules.given_up]
    request = {}
    for item in constraints:
        if is_of_requests(item):
            with plugin_errors.attributing(item, 'check_request'):
                verdict = item.check_request(resolved)
                request[item.name] = plugin_errors.check_verdict(item, verdict)
    of_hosts = [item for item in constraints if is_of_hosts(item)]
    matrix = _matrix(resolved, of_hosts, previous)
    is_together = has_unknown_host(resolved)
    domains = domain_capacity(resolved, constraints, hosts or (), matrix, is_together=is_together)
    if domains is not None and domains.crossing:
        tried = choose(resolved, hosts or (), matrix, domains, _MOST_TRIED)
        domains = replace(domains, bounds=domains.bounds._replace(expected=len(tried)))
    phrases = tuple(_unmodelled(resolved, constraints, matrix))
    reasons = {code: why for item in constraints for code, why in item.reasons.items()}
    most = None if previous is None else 1
    total = total_capacity(resolved, hosts, matrix, domains, request, phrases, reasons, most)
    return Evaluation(resolved, constraints, matrix, domains, request, total)


def _matrix(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], previous: Evaluation | None
) -> VerdictMatrix:
    """Return the verdicts about all hosts; reuse the previous ones about unchanged hosts.

    A host is unchanged if it is the same object. Evaluate all hosts if ``previous`` is None or has
    more hosts, and unless :func:`_is_alike`.
    """
    hosts = resolved.snapshot.hosts or ()
    old = () if previous is None else previous.hosts
    if previous is None or len(hosts) < len(old) or not _is_alike(resolved, previous.resolved):
        return evaluate_hosts(resolved, constraints, hosts, resolved.snapshot.host_classes)
    changed = [index for index, other in enumerate(map(is_not, hosts, old)) if other]
    changed += range(len(old), len(hosts))
    if not changed:
        return previous.matrix
    others = evaluate_hosts(resolved, constraints, [hosts[index] for index in changed])
    return previous.matrix.patched(changed, others)


def _is_alike(one: ResolvedRequest, two: ResolvedRequest) -> bool:
    """Check whether the requests differ at most in the count, the hosts and the quotas.

    The zones must be equal; the other parts of both snapshots the same objects.
    """
    request = replace(one.request, count=two.request.count), one.flavor, one.rules, one.member_of
    if request != (two.request, two.flavor, two.rules, two.member_of):
        return False
    if (one.server_group, one.placed) != (two.server_group, two.placed):
        return False
    clouds = one.snapshot, two.snapshot
    changed = (each for each in CloudSnapshot.__struct_fields__ if each not in ('hosts', 'quotas'))
    if any(getattr(clouds[0], each) is not getattr(clouds[1], each) for each in changed):
        return False
    return clouds[0].zones == clouds[1].zones


def _unmodelled(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], matrix: VerdictMatrix
) -> Iterator[str]:
    """Yield phrases about filters, flavor and constraints that may reduce the number of servers.

    ``Demand.only_placement`` only if a host that takes servers has no grant.
    """
    modelled = {name for item in constraints for name in item.filters}
    yield from scheduler_filters.unmodelled(resolved, modelled)
    demand = demand_of(resolved)
    if demand is not None:
        yield from demand.unmodelled
        only_placement = demand.only_placement
        query = resolved.memo(placement_answer).query
        hosts = compress(resolved.snapshot.hosts or (), matrix.upper)
        if only_placement and any(host.grant(query) is None for host in hosts):
            yield from only_placement
    for item in constraints:
        yield from item.caveats(resolved)
