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

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar, cast

from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.base import (
    Change,
    Constraint,
    Domain,
    Evaluated,
    Host,
    Kind,
    NewHosts,
    OneOf,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.flavor import PCPU, UNIT_CLASSES, VCPU
from senlin_affinity.model.host import Resource
from senlin_affinity.model.verdict import Outcome
from senlin_affinity.nova.alternatives import flavor_change, smaller_flavors
from senlin_affinity.nova.candidate_query import are_aggregates_asked
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import has_stale_trait
from senlin_affinity.nova.options import FALLBACK_OFF
from senlin_affinity.nova.placement_answer import may_take_of_pools, placement_answer
from senlin_affinity.nova.plain_rooms import plain_rooms

_FIELDS = 'hypervisor_type is_nested is_partial enabled availability_zone aggregates'

_LOOK = attrgetter(*_FIELDS.split(), 'unmirrored', 'stale_aggregates', 'traits')

_IN_QUERY = (AvailabilityZoneConstraint(), ReservationsConstraint(), TraitsConstraint())


class ResourcesConstraint(Constraint):
    """The requested resources."""

    name = 'resources'
    order = 110
    summary = 'the host has enough free resources for the flavor'
    needs = ('hosts', 'flavors')
    is_host_specific = False
    uses_resources = True
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
        ),
        'resources.too_large': Reason(
            'one server can get {max_unit} {resource} here, but the flavor requests {amount}',
            advice='use a smaller flavor, or larger hosts',
            detail='resource',
        ),
        'resources.step': Reason(
            '{resource} is allocated in steps of {step_size}, but the flavor requests {amount}',
            advice='use a flavor that requests a multiple of the step',
            detail='resource',
        ),
        'resources.not_offered': Reason(
            'offers no {resource}',
            advice='use hosts that offer the resource, or another flavor',
            detail='resource',
        ),
        'resources.not_granted': Reason(
            'Placement does not offer the host to a server of this flavor',
            advice="compare the inventories, traits and aggregates of the host's resource "
            'providers with what the flavor requests',
        ),
        'resources.nothing': Reason('the flavor requests no resources'),
        'resources.unknown': Reason('the free resources are not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return a PASS ``room`` with the number of servers that the free resources allow.

        Placement's grant decides if there is one; otherwise, the inventories do: REJECT
        ``not_offered``, ``too_large``, ``step`` or ``exhausted``. REJECT ``not_granted`` without a
        grant in a complete answer. SKIP ``nothing`` for a flavor that requests nothing,
        ``unknown`` without flavor or inventories.
        """
        return self._by_answer(resolved, host, self._by_model(resolved, host))

    def _by_answer(self, resolved: ResolvedRequest, host: Host, modelled: Verdict) -> Verdict:
        """Return the verdict by Placement's answer, or else ``modelled`` (by inventories).

        PASS ``room`` for a grant. Otherwise, a ``modelled`` REJECT stays. REJECT ``not_granted``
        for a grant of 0, or none in a complete answer, unless the host :func:`_is_excluded`. Else
        ``modelled``, with 0 guaranteed if Placement was asked.
        """
        if host.grants is None:
            return modelled
        asked = resolved.memo(placement_answer)
        grant = host.grant(asked.query)
        if grant is not None and grant.room:
            is_vague = host.is_vsphere or may_take_of_pools(resolved, host)
            is_at_most = is_vague or grant.room != grant.certain
            least = grant.certain if is_at_most and not is_vague else None
            return _enough(grant.room, is_at_most, least)
        if modelled.outcome is Outcome.REJECT or asked.query is None:
            return modelled
        if grant is None and _is_excluded(resolved, host):
            return modelled.with_caveat() if modelled.outcome is Outcome.PASS else modelled
        if grant is not None or asked.is_complete:
            return Verdict.rejected('resources.not_granted')
        return modelled.with_caveat() if modelled.room else modelled

    def check_hosts(self, resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[Verdict]:
        """Return ``check_host`` of each host."""
        numbers = plain_rooms(resolved, hosts)
        by_number = {number: _enough(number, False) for number in {*numbers} if number > 0}
        verdicts = [*map(by_number.get, numbers)]
        known: dict[Hashable, tuple[Verdict, Verdict]] = {}
        for index, (host, verdict) in enumerate(zip(hosts, verdicts, strict=True)):
            if verdict is None or host.grants is not None:
                modelled = verdict or self._by_model(resolved, host)
                key = id(modelled), host.grants, _LOOK(host)
                if key not in known:  # modelled is kept, so that its id is not reused
                    known[key] = modelled, self._by_answer(resolved, host, modelled)
                verdicts[index] = known[key][1]
        return cast('list[Verdict]', verdicts)

    def _by_model(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return the verdict by the inventories of the host.

        The first class that does not fit, in the order of the amounts, decides the code.
        """
        asked = demand_of(resolved)
        if asked is None or host.resources is None:
            return Verdict.unknown('resources.unknown')
        if not asked.amounts:
            return Verdict.skipped('resources.nothing')
        if not host.resources and not any(name in asked.amounts for name in UNIT_CLASSES):
            return Verdict.unknown('resources.unknown')
        room: int | None = None
        is_at_most = False
        is_known, may_be_pinned = True, asked.may_be_pinned and PCPU in host.resources
        for name, amount in asked.amounts.items():
            has = host.resources.get(name)
            is_hidden = has is None and host.is_partial
            if is_hidden or (name == VCPU and may_be_pinned and _is_more_pinned(amount, host)):
                is_known = False
                continue
            if has is None:
                return Verdict.rejected('resources.not_offered', resource=name)
            here, is_sum, pool = (has.capacity - has.used) // amount, has.is_sum, has.pool
            is_too_large = has.max_unit is not None and amount > has.max_unit
            if here < 1 or amount % has.step_size or is_too_large:
                return _too_little(name, amount, has, 0)
            room = here if room is None or here < room else room
            if is_sum or pool or name not in UNIT_CLASSES:
                is_at_most = is_at_most or is_sum or has.is_max_unit_unknown(name, amount)
                is_at_most = is_at_most or (pool is not None and are_aggregates_asked(resolved))
        if not is_known:
            return Verdict.unknown('resources.unknown', room=room)

        is_shared = all(host.resources[name].pool for name in asked.amounts)
        is_at_most = is_at_most or is_shared or host.is_nested or host.is_vsphere
        return _enough(room, is_at_most)

    def has_domains(self, resolved: ResolvedRequest) -> bool:
        """Check whether the snapshot has a sharing provider, used by a host or not."""
        return bool(resolved.snapshot.pools)

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """Return ``Domain(class, UUID)`` for each requested class with a ``Resource.pool``."""
        asked, has = demand_of(resolved), host.resources or {}
        names = [name for name in (asked.amounts if asked else ()) if name in has]
        return [Domain(name, has[name].pool or '') for name in names if has[name].pool]

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return the number of servers that fit on each sharing provider: PASS ``room``.

        Servers that are planned on its hosts reduce it. REJECT as ``check_host`` at 0. {} without a
        flavor.
        """
        asked, pools = demand_of(resolved), resolved.snapshot.pools
        if asked is None:
            return {}
        names: dict[Domain, set[str]] = {domain: set() for domain in rooms}
        for host in resolved.snapshot.hosts or () if resolved.placed else ():
            for domain in self.domains(resolved, host):
                names.setdefault(domain, set()).add(host.host)
        verdicts = {}
        for domain in rooms:
            amount, has = asked.amounts[domain.by], pools[domain.name][domain.by]
            planned = sum(resolved.placed.get(name, 0) for name in names[domain])
            room = (has.capacity - has.used) // amount - planned
            if room < 1:
                verdicts[domain] = _too_little(domain.by, amount, has, planned)
            else:
                verdicts[domain] = Verdict.passed('resources.room', room=room)
        return verdicts

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterator[Change]:
        """Yield NewHosts and, if ``is_limiting``, a OneOf of the smaller flavors, if any.

        No NewHosts for a request that names its host.
        """
        if not resolved.request.is_host_named:
            yield NewHosts('hosts', '')
        smaller = smaller_flavors(resolved.snapshot.flavors or (), resolved.flavor)
        if smaller and evaluation.is_limiting:
            yield OneOf(
                'flavor',
                '',
                size=resolved.request.count,
                kind=Kind.ASKERS,
                for_tenant=True,
                choices=tuple(map(flavor_change, smaller)),
            )


def _is_excluded(resolved: ResolvedRequest, host: Host) -> bool:
    """Check whether the host is disabled, or zone, reservations or traits reject it.

    Also for a stale trait of a host that is not nested.
    """
    if not host.enabled or (has_stale_trait(host) and not host.is_nested):
        return True
    return not all(each.check_host(resolved, host) for each in _IN_QUERY)


def _is_more_pinned(amount: int, host: Host) -> bool:
    """Check whether more servers with this many CPUs fit in PCPU than in VCPU."""
    kinds = map((host.resources or {}).get, (PCPU, VCPU))
    pinned, shared = (max(0, has.capacity - has.used) // amount if has else 0 for has in kinds)
    return pinned > shared


@lru_cache(maxsize=1024)
def _too_little(name: str, amount: int, has: Resource, servers: int) -> Verdict:
    """Return a REJECT ``too_large``, else ``step``, else ``exhausted`` with the free rest.

    This many ``servers`` of the amount reduce it.
    """
    asked = {'resource': name, 'amount': amount}
    if has.max_unit is not None and amount > has.max_unit:
        return Verdict.rejected('resources.too_large', max_unit=has.max_unit, **asked)
    if amount % has.step_size:
        return Verdict.rejected('resources.step', step_size=has.step_size, **asked)
    free = max(0, has.capacity - has.used - servers * amount)
    return Verdict.rejected('resources.exhausted', free=free, capacity=has.capacity, **asked)


@lru_cache(maxsize=1024)
def _enough(room: int | None, is_at_most: bool, least: int | None = None) -> Verdict:
    """Return a PASS ``room``; the same object for equal arguments."""
    return Verdict.passed('resources.room', room=room, is_at_most=is_at_most, least=least)
