"""Count the servers of the flavor for which a host has free resources.

The room of a host is the minimum of free // amount over the requested classes. It is an upper
bound

* on a vSphere host (its ESXi hosts limit the size of a server), in a tree of providers, and for
  storage to which a sharing provider adds;
* for a class other than VCPU, MEMORY_MB and DISK_GB whose ``max_unit`` is unknown;
* for shared storage, if Nova sends aggregates to Placement, or if the flavor requests nothing else
  (allocation candidates then name no host).

It is unknown for a class that a partially known host lacks, and without any inventory unless the
flavor requests VCPU, MEMORY_MB or DISK_GB.

Units: ``capacity`` is after allocation ratio and reserved amount.

Source: Placement's inventories and allocation candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.base import (
    Change,
    ChangedHosts,
    Constraint,
    Domain,
    Evaluated,
    Host,
    Kind,
    NewHosts,
    OneOf,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds
from senlin_affinity.model.flavor import DISK_GB, UNIT_CLASSES, Demand
from senlin_affinity.model.host import Resource, is_ironic, is_vsphere
from senlin_affinity.model.proposal import MovedServer
from senlin_affinity.nova import host_status
from senlin_affinity.nova.alternatives import (
    flavor_change,
    much_smaller_flavors,
    smaller_flavors,
)
from senlin_affinity.nova.candidate_query import (
    are_aggregates_asked,
    placement_answer,
    scarce_classes,
)
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.nova.options import FALLBACK_OFF
from senlin_affinity.scenario.column import Column, in_order, number
from senlin_affinity.scenario.columns import INFINITE, Flags, Numbers
from senlin_affinity.scenario.fits import FIELDS, FITS, FULL, Code, fit_of
from senlin_affinity.scenario.scenario import FREE, Scenario

_IN_QUERY = (AvailabilityZoneConstraint(), ReservationsConstraint(), TraitsConstraint())


class ResourcesConstraint(Constraint):
    """The requested resources."""

    name = 'resources'
    order = 110
    summary = 'the host has enough free resources for the flavor'
    needs = ('hosts', 'flavors')
    reads = (FREE,)
    enforced_by_placement = True
    is_capacity_rule = True
    couples_domains = False
    options = (FALLBACK_OFF,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'resources.room': Reason('the resources are free'),
        'resources.exhausted': Reason(
            '{free} of {capacity} {resource} are free, but the flavor requests {amount}',
            advice='free capacity, add hosts, or use a smaller flavor',
            detail='resource',
            short='too little {resource} left',
            of_host='{free} of {amount}',
        ),
        'resources.too_large': Reason(
            'one server can get {max_unit} {resource} here, but the flavor requests {amount}',
            advice='use a smaller flavor, or larger hosts',
            detail='resource',
            is_state=False,
            short='one server cannot have as much {resource}',
            of_host='{max_unit} of {amount}',
        ),
        'resources.step': Reason(
            '{resource} is allocated in steps of {step_size}, but the flavor requests {amount}',
            advice='use a flavor that requests a multiple of the step',
            detail='resource',
            is_state=False,
            of_several='{resource} is allocated in steps, and {amount} is not a multiple',
            of_host='steps of {step_size}',
        ),
        'resources.not_offered': Reason(
            'offers no {resource}',
            advice='use hosts that offer the resource, or another flavor',
            detail='resource',
            is_state=False,
        ),
        'resources.reserved': Reason(
            '{reserved} of {reserved} {resource} reserved, as for a node that is not available in '
            'Ironic',
            advice='make the node available in Ironic (maintenance, cleaning, provision state)',
            detail='resource',
            short='all {resource} reserved, as for a node that is not available in Ironic',
            of_host='{reserved} reserved',
        ),
        'resources.not_granted': Reason(
            'Placement does not offer the host to a server of this flavor',
            advice="compare the inventories, traits and aggregates of the host's resource "
            'providers with what the flavor requests',
        ),
        'resources.nothing': Reason('the flavor requests no resources'),
        'resources.unknown': Reason('the free resources are not known'),
    }

    def column(self, request: Request, scenario: Scenario) -> Column:
        """Return a PASS ``room`` with the number of servers that the free resources allow.

        Placement's grant decides if there is one; otherwise, the inventories do: REJECT
        ``not_offered``, ``too_large``, ``step`` or ``exhausted``. REJECT ``not_granted`` without a
        grant in a complete answer. SKIP ``nothing`` for a flavor that requests nothing,
        ``unknown`` without flavor or inventories.
        """
        asked = demand_of(request)
        size = len(scenario.hosts)
        if asked is None:
            return Column.of_all(Verdict.unknown('resources.unknown'), size)
        columns, is_pool_asked = scenario.columns, are_aggregates_asked(request)
        if columns.flags('is_asked', lambda host: host.grants is not None).any():
            verdicts = _by_model(scenario, asked, is_pool_asked=is_pool_asked)
            _by_answer(request, scenario, verdicts)
            return verdicts.column(scenario, asked)

        def column() -> Column:
            verdicts = _by_model(scenario, asked, is_pool_asked=is_pool_asked)
            return verdicts.column(scenario, asked)

        if scenario.placed is not None:
            return column()
        key = (*asked.amounts.items(),), asked.may_be_pinned, is_pool_asked
        last: dict[Any, Column] = columns.known(self.name, dict, (*FIELDS, 'is_nested'))
        if key not in last:  # the changes of a request leave its amounts alone
            last.clear()
            last[key] = column()
        return last[key]

    def has_domains(self, request: Request, scenario: Scenario) -> bool:
        """Check whether the snapshot has a sharing provider, used by a host or not."""
        return bool(scenario.cloud.pools)

    def domains(self, request: Request, scenario: Scenario, host: Host) -> Collection[Domain]:
        """Return ``Domain(class, UUID)`` for each requested class with a ``Resource.pool``."""
        asked, has = demand_of(request), host.resources or {}
        names = [name for name in (asked.amounts if asked else ()) if name in has]
        return [Domain(name, has[name].pool or '') for name in names if has[name].pool]

    def check_domains(
        self, request: Request, scenario: Scenario, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return the number of servers that fit on each sharing provider: PASS ``room``.

        What planned servers on its hosts take reduces it. REJECT as ``check_host`` at 0. {} without
        a flavor.
        """
        asked, pools = demand_of(request), scenario.cloud.pools
        if asked is None:
            return {}
        taken: Counter[Domain] = Counter()
        placed = scenario.placed
        for index in () if placed is None else np.flatnonzero(placed).tolist():
            for domain in self.domains(request, scenario, scenario.hosts[index]):
                if domain.by in scenario.used:
                    taken[domain] += int(scenario.used[domain.by][index])
        verdicts = {}
        for domain in rooms:
            amount, has = asked.amounts[domain.by], pools[domain.name][domain.by]
            verdicts[domain] = _of_pool(domain.by, amount, has, taken[domain])
        return verdicts

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield NewHosts and, if ``is_limiting``, a boot from a volume and smaller flavors.

        The boot comes first: it keeps all amounts.

        No NewHosts for a request that names its host. Before it, the removal of what consumers use
        that are no servers, if any are known, Ironic nodes that become available, and the move of a
        server, if any are known. A flavor with less than half of an amount gives up a requirement.
        """
        asked = demand_of(request)
        hosts = tuple(host for host in scenario.cloud.hosts or () if host_status.orphans(host))
        if hosts:
            names = frozenset(host.host for host in hosts)
            yield ChangedHosts(
                'removed_consumers',
                'leftover allocations removed from {hosts}',
                hosts=hosts,
                lists=((('removed_consumers',), names),),
                details={host.host: host_status.orphans_in_words(host) for host in hosts},
            )
        nodes = tuple(each for each in evaluation.rejected if _is_reserved(each, asked))
        if nodes:
            names = frozenset(host.host for host in nodes)
            yield ChangedHosts(
                'available_nodes',
                'reserved nodes of {names} made available in Ironic (check their maintenance, '
                'cleaning and provision state first)',
                hosts=nodes,
                lists=((('available_nodes',), names),),
            )
        if scenario.cloud.servers_by_host:
            yield MovedServer('moved_server', '')
        if not request.is_host_named:
            yield NewHosts('hosts', '')
        known = scenario.cloud.flavors or ()
        smaller = smaller_flavors(known, request.flavor)
        tiny = much_smaller_flavors(known, request.flavor)
        whose: dict[str, Any] = {
            'size': request.count,
            'kind': Kind.REQUESTER,
            'for_tenant': True,
        }
        is_disk_asked = asked is not None and DISK_GB in asked.amounts
        is_flavors = request.flavor is not None and request.flavor.disk > 0
        if is_disk_asked and is_flavors and evaluation.is_limiting:
            data = {'is_volume_booted': True}
            yield Change('boot_from_volume', 'boot from a volume', data, **whose)
        if smaller and evaluation.is_limiting:
            yield OneOf('flavor', '', **whose, choices=tuple(map(flavor_change, smaller)))
        if tiny and evaluation.is_limiting:
            less = whose | {'kind': Kind.GIVEN_UP}
            yield OneOf('flavor', '', **less, choices=tuple(map(flavor_change, tiny)))


@dataclass
class _Verdicts:
    """The verdict about each host, while it is determined.

    ``code`` is an element of ``Code``; from ``Code.EXHAUSTED`` on, plus ``len(Code)`` times the
    index of the requested class. ``lower``, ``expected`` and ``upper`` are the bounds.
    """

    code: Numbers
    lower: Numbers
    expected: Numbers
    upper: Numbers

    def set(self, hosts: Flags, code: int, bounds: Bounds) -> None:
        """Set the same code and bounds for all marked hosts."""
        self.code[hosts] = code
        for array, bound in zip((self.lower, self.expected, self.upper), bounds, strict=True):
            array[hosts] = number(bound)

    def column(self, scenario: Scenario, asked: Demand) -> Column:
        """Return the column. Verdicts with equal codes, and the same kind of bounds, share one."""
        kind = self.code
        if self.lower is not self.upper:  # otherwise, all are known
            is_known, is_at_most = self.expected == self.upper, self.lower != self.expected
            kind = kind * 8 + is_known * 4 + is_at_most * 2 + (self.upper >= INFINITE)
        verdict_of, firsts = in_order(kind)
        codes, amounts = self.code[firsts].tolist(), [*asked.amounts.items()]
        verdicts, facts = [], []
        for place, code in (divmod(each, len(Code)) for each in codes):
            name, amount = amounts[place] if amounts else ('', 0)
            verdicts.append(_verdict(Code(code), name, amount))
            facts.append(_own_facts(Code(code), scenario, name))
        bounds = self.lower, self.expected, self.upper
        return Column(verdicts, verdict_of, *bounds, facts, is_counted=True)


def _verdict(code: Code, name: str, amount: int) -> Verdict:
    """Return the verdict with the facts that hosts share."""
    if code is Code.ROOM:
        return Verdict.passed('resources.room')
    if code is Code.UNKNOWN:
        return Verdict.unknown('resources.unknown')
    if code is Code.NOTHING:
        return Verdict.skipped('resources.nothing')
    asked = {'resource': name, 'amount': amount}
    if code is Code.NOT_GRANTED:
        asked = {}
    elif code in (Code.NOT_OFFERED, Code.RESERVED):
        del asked['amount']
    return Verdict.rejected(f'resources.{code.name.lower()}', **asked)


def _own_facts(code: Code, scenario: Scenario, name: str) -> Mapping[str, Numbers]:
    """Return the facts that differ between hosts, of which one resource class is not enough."""
    if code is Code.TOO_LARGE:
        return {'max_unit': scenario.columns.inventories(name).max_unit}
    if code is Code.STEP:
        return {'step_size': scenario.columns.inventories(name).step_size}
    if code is Code.EXHAUSTED:
        capacity = scenario.columns.inventories(name).capacity
        return {'free': np.maximum(0, scenario.free(name)), 'capacity': capacity}
    if code is Code.RESERVED:
        return {'reserved': scenario.columns.inventories(name).reserved}
    return {}


def _by_model(scenario: Scenario, asked: Demand, *, is_pool_asked: bool) -> _Verdicts:
    """Return the verdicts by the inventories of the hosts.

    The first class that no server on the host can get decides the code; without any, the first one
    that is exhausted. The order is that of the amounts. An Ironic node offers none of UNIT_CLASSES.
    """
    columns, size = scenario.columns, len(scenario.hosts)
    zeros = np.zeros(size, np.int64)
    is_any = columns.flags('has_resources', lambda host: host.resources is not None)
    if not asked.amounts:
        verdicts = _Verdicts(zeros.copy(), zeros.copy(), zeros.copy(), zeros.copy())
        verdicts.set(is_any, Code.NOTHING, UNLIMITED)
        verdicts.set(~is_any, Code.UNKNOWN, Bounds.unknown())
        return verdicts
    if not any(name in asked.amounts for name in UNIT_CLASSES):
        is_any = columns.flags('has_some_resources', lambda host: bool(host.resources))
    is_at_most = columns.flags('is_nested') | columns.flags_by_class('hypervisor_type', is_vsphere)
    is_shared = np.ones(size, bool)
    room, failure, is_known = np.full(size, INFINITE), np.full(size, FITS), ~zeros.astype(bool)
    for place, name in enumerate(asked.amounts):
        fit, is_pooled = fit_of(scenario, asked, name), columns.inventories(name).is_pooled
        room = np.minimum(room, fit.room)
        failure = np.minimum(failure, fit.failure + place * len(Code))
        if fit.is_any_hidden:
            is_known &= fit.room < INFINITE
        is_at_most |= fit.is_at_most
        is_shared &= is_pooled
        if is_pool_asked:
            is_at_most |= is_pooled
    is_at_most |= is_shared
    is_open, code = is_any & (failure >= FITS), zeros
    fails = np.flatnonzero(failure < FITS)
    code[fails] = failure[fails] % FULL
    upper = np.where(is_open, room, 0)
    # The same array, of which the table makes use.
    verdicts = _Verdicts(code, upper, upper, upper)
    if is_at_most.any() or not (is_known.all() and is_any.all()):
        fits = is_open & is_known
        verdicts.lower = np.where(fits & ~is_at_most, room, 0)
        verdicts.expected = np.where(fits, room, 0)
        verdicts.code[is_open & ~is_known] = Code.UNKNOWN
        verdicts.set(~is_any, Code.UNKNOWN, Bounds.unknown())
    return verdicts


def _by_answer(request: Request, scenario: Scenario, verdicts: _Verdicts) -> None:
    """Let Placement's answer decide about the hosts for which it was asked.

    PASS ``room`` for a grant. Otherwise, a REJECT by the model stays. REJECT ``not_granted`` for a
    grant of 0, or none in a complete answer, unless the host :func:`_is_excluded`. Else the verdict
    by the model, with 0 guaranteed if Placement was asked.
    """
    answer = request.memo(placement_answer, scenario.cloud)
    grants = scenario.grants(answer.query)
    is_granted = grants.room > 0
    is_vague = scenario.columns.flags_by_class('hypervisor_type', is_vsphere)
    for name in request.memo(scarce_classes, scenario.cloud):
        is_vague = is_vague | scenario.columns.inventories(name).is_sum
    certain = np.where(is_vague, 0, grants.certain)
    verdicts.code[is_granted] = Code.ROOM
    verdicts.lower = np.where(is_granted, certain, verdicts.lower)
    verdicts.expected = np.where(is_granted, grants.room, verdicts.expected)
    verdicts.upper = np.where(is_granted, grants.room, verdicts.upper)
    if answer.query is None:
        return
    is_rejected = verdicts.code > Code.NOTHING
    is_left = grants.is_asked & ~is_granted & ~is_rejected
    is_excluded = np.zeros(len(is_left), bool)
    if is_left.any():
        is_excluded = is_left & ~grants.is_listed & _is_excluded(request, scenario)
    passes = verdicts.code == Code.ROOM
    verdicts.lower[is_excluded & passes] = 0
    is_left &= ~is_excluded
    if answer.is_complete:
        verdicts.set(is_left, Code.NOT_GRANTED, NONE)
        return
    verdicts.set(is_left & grants.is_listed, Code.NOT_GRANTED, NONE)
    is_limited = (verdicts.upper > 0) & (verdicts.upper < INFINITE)
    verdicts.lower[is_left & ~grants.is_listed & is_limited] = 0


def _is_reserved(host: Host, asked: Demand | None) -> bool:
    """Check whether an Ironic node has what is requested, but all of it is reserved."""
    has, amounts = host.resources or {}, {} if asked is None else asked.amounts
    return is_ironic(host.hypervisor_type) and any(
        name in has and has[name].capacity == 0 and has[name].reserved >= amount
        for name, amount in amounts.items()
    )


def _is_excluded(request: Request, scenario: Scenario) -> Flags:
    """Return which hosts are disabled, or are rejected by zone, reservations or traits.

    Also for a stale trait of a host that is not nested.
    """
    columns = scenario.columns
    is_excluded = ~columns.flags('enabled')
    is_marked = columns.flags_by_class('traits', lambda traits: DISABLED in traits)
    is_excluded |= is_marked & ~columns.flags('is_nested')
    for each in _IN_QUERY:
        column = each.column(request, scenario)
        rejects = np.array([not verdict for verdict in column.verdicts], bool)
        is_excluded |= rejects[column.verdict_of]
    return is_excluded


def _of_pool(name: str, amount: int, has: Resource, taken: int) -> Verdict:
    """Return the verdict on a sharing provider of which planned servers take this amount."""
    free = has.capacity - has.used - taken
    asked = {'resource': name, 'amount': amount}
    if free >= amount:
        return Verdict.passed('resources.room', room=free // amount)
    if has.max_unit is not None and amount > has.max_unit:
        return Verdict.rejected('resources.too_large', max_unit=has.max_unit, **asked)
    if amount % has.step_size:
        return Verdict.rejected('resources.step', step_size=has.step_size, **asked)
    facts = {'free': max(0, free), 'capacity': has.capacity, **asked}
    return Verdict.rejected('resources.exhausted', **facts)
