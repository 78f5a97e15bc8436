"""How many servers of the flavor a host still has the resources for.

Source: Placement grants an amount when it is a multiple of ``step_size``, at most
``max_unit``, and at most what is free (``capacity`` is after ratio and reserve). One server more at
a time: the room is the least, over the classes that are asked for, of free // amount.

At most: a vSphere host is the sum over a cluster, and no server can be larger than what its largest
ESXi host has free; a tree of several providers is a sum as well, and so is shared storage beside
more of it. Of a class besides VCPU, MEMORY_MB and DISK_GB no list tells ``max_unit`` and
``step_size``: where the snapshot has no ``max_unit``, one server may not get that much.

Storage from one pool is exact: its hosts together have room for no more than it has. But where Nova
asks Placement for aggregates (a zone, tenants, isolation), the pool must be in them as well, and
the snapshot does not tell whether it is: at most.

Not known: a class that is not listed on a host of which only a part is known (``is_partial``), or
on one that lists nothing at all, unless a unit class is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from senlin_affinity.core.answered import answered, may_take_of_pools
from senlin_affinity.core.candidate_query import are_aggregates_asked
from senlin_affinity.core.constraint import Domain
from senlin_affinity.core.flavor import PCPU, UNIT_CLASSES, VCPU
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.nova_options import FALLBACK_OFF
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.plain_rooms import plain_rooms
from senlin_affinity.core.planning import new_hosts, other_flavors
from senlin_affinity.core.planning.column import Column
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Outcome, Verdict

#: What counts of a host, beside its resources.
_LOOK = attrgetter('hypervisor_type', 'is_nested', 'is_partial', 'enabled', 'grants')


class ResourcesConstraint:
    """What the flavor asks of a host's resources."""

    name = 'resources'
    order = 110
    summary = 'only a host with enough free resources for the flavor'
    needs = ('hosts', 'flavors')
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = True
    is_in_placement = True
    is_about_room = True
    is_joint = False
    options = (FALLBACK_OFF,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'resources.room': Reason('the resources are free'),
        'resources.exhausted': Reason(
            '{free} of {capacity} {resource} are free, the flavor asks for {amount}',
            advice='free or add hosts, or use a smaller flavor',
            detail='resource',
        ),
        'resources.too_large': Reason(
            'one server may have {max_unit} {resource} here, the flavor asks for {amount}',
            advice='use a smaller flavor, or larger hosts',
            detail='resource',
        ),
        'resources.step': Reason(
            '{resource} is given in steps of {step_size}, the flavor asks for {amount}',
            advice='use a flavor that asks for a multiple of the step',
            detail='resource',
        ),
        'resources.not_offered': Reason(
            'offers no {resource}',
            advice='use hosts that offer the resource, or another flavor',
            detail='resource',
        ),
        'resources.not_granted': Reason(
            'Placement grants none of it to one more server of this flavor',
            advice='compare the inventories, traits and aggregates of its resource providers with '
            'what the flavor asks for',
        ),
        'resources.nothing': Reason('the flavor asks for no resources'),
        'resources.unknown': Reason('the free resources are not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if host.grants is None:
            return self._by_model(resolved, host)
        asked = resolved.once(answered)
        grant = host.grant(asked.query)
        if grant is not None and grant.room:
            is_vague = host.is_vsphere or may_take_of_pools(resolved, host)
            is_at_most = is_vague or grant.room != grant.certain
            least = grant.certain if is_at_most and not is_vague else None
            return resolved.once(_enough)(grant.room, is_at_most, least)
        modelled = self._by_model(resolved, host)
        if modelled.outcome is Outcome.REJECT or asked.query is None or not host.enabled:
            return modelled  # for a host that is disabled, Placement has nothing, whatever is there
        if grant is not None or asked.is_whole:
            return Verdict.rejected('resources.not_granted')
        return replace(modelled, is_at_most=True) if modelled.room else modelled

    def check_hosts(self, resolved: ResolvedRequest, hosts: Sequence[Host]) -> Column:
        """See :meth:`HostConstraint.check_hosts`: hosts with room by plain figures are alike."""
        enough = resolved.once(_enough)
        rooms = plain_rooms(resolved, hosts)
        by_room = {room: enough(room, False) for room in {*rooms} if room > 0}
        key_of = {room: id(verdict) for room, verdict in by_room.items()}
        verdicts = dict(zip(key_of.values(), by_room.values(), strict=True))
        keys: list[Any] = [*map(key_of.get, rooms)]
        known: dict[Hashable, Verdict] = {}
        for place in [place for place, key in enumerate(keys) if key is None]:
            host = hosts[place]
            look = id(host.resources), *_LOOK(host)
            if look not in known:
                known[look] = self.check_host(resolved, host)
            keys[place] = id(known[look])
        return Column(keys, verdicts | {id(each): each for each in known.values()})

    def less(
        self,
        resolved: ResolvedRequest,
        hosts: Sequence[Host],
        said: Sequence[Verdict],
        servers: Sequence[int],
    ) -> list[Verdict | None]:
        """See :class:`Constraint`: where Placement told nothing, the figures tell it."""
        enough, asked = resolved.once(_enough), resolved.demand
        may_be_pinned = asked is not None and asked.may_be_pinned

        def left(host: Host, verdict: Verdict, number: int) -> Verdict | None:
            if may_be_pinned and PCPU in (host.resources or ()):
                return None
            is_exact = verdict.code == 'resources.room' and not verdict.is_at_most
            if is_exact and verdict.room is not None and verdict.room > number:
                return enough(verdict.room - number, False)
            return self._by_model(resolved, host, number) if host.grants is None else None

        return [*map(left, hosts, said, servers)]

    def asks(self, resolved: ResolvedRequest) -> Hashable:
        """What counts of the question."""
        is_in_aggregates = bool(resolved.snapshot.pools) and are_aggregates_asked(resolved)
        return resolved.demand, resolved.once(answered), is_in_aggregates

    def _by_model(self, resolved: ResolvedRequest, host: Host, servers: int = 0) -> Verdict:
        """What the figures of the resources tell, once so many servers more are there."""
        asked = resolved.demand
        if asked is None or host.resources is None:
            return Verdict.unknown('resources.unknown')
        if not asked.amounts:
            return Verdict.skipped('resources.nothing')
        if not host.resources and not any(name in asked.amounts for name in UNIT_CLASSES):
            # A snapshot is taken by the unit classes: it does not see a host that has none free.
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
            capacity, used, max_unit, step_size, is_sum, pool = has
            here = (capacity - used) // amount - servers
            if here < 1 or amount % step_size or (max_unit is not None and amount > max_unit):
                return resolved.once(_too_little)(name, amount, has, servers)
            room = here if room is None or here < room else room
            if is_sum or pool or name not in UNIT_CLASSES:
                is_at_most = is_at_most or is_sum or has.is_limit_untold(name, amount)
                is_at_most = is_at_most or (pool is not None and are_aggregates_asked(resolved))
        if not is_known:
            return Verdict.unknown('resources.unknown', room=room)
        return resolved.once(_enough)(room, is_at_most or host.is_nested or host.is_vsphere)

    def has_domains(self, resolved: ResolvedRequest) -> bool:
        """Do some hosts share resources?"""
        return bool(resolved.snapshot.pools)

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """The pools that give the host what the flavor asks for."""
        asked, has = resolved.demand, host.resources or {}
        names = [name for name in (asked.amounts if asked else ()) if name in has]
        return [Domain(name, has[name].pool or '') for name in names if has[name].pool]

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """How many servers each pool has enough for, less those that are planned on its hosts."""
        asked, pools = resolved.demand, resolved.snapshot.pools
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
                verdicts[domain] = resolved.once(_too_little)(domain.by, amount, has, planned)
            else:
                verdicts[domain] = Verdict.passed('resources.room', room=room)
        return verdicts

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The resources that are asked for."""
        asked = resolved.demand
        if asked is None:
            return None
        grant = None
        if host.grants is not None:
            grant = host.grant(resolved.once(answered).query)
            if grant is not None and grant.room:
                return grant, host.hypervisor_type, may_take_of_pools(resolved, host)
        has = host.resources
        return (
            None
            if has is None
            else (
                host.is_nested,
                host.is_partial,
                host.hypervisor_type,
                bool(has),
                *map(has.get, asked.amounts),
                has.get(PCPU) if asked.may_be_pinned else None,
            ),
            host.grants is not None and (grant, host.enabled),
        )

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts like the one that would hold the most if it were empty, or a smaller flavor."""
        if (found := new_hosts.fewest(planner)) is not None:
            yield planner.change('hosts', *found)
        if (smaller := other_flavors.best(planner, self.name)) is not None:
            kind, wanted = Kind.ASKERS, planner.wanted
            change, then = smaller
            yield planner.change('flavor', change, wanted, then, kind=kind, is_owners=True)


def _is_more_pinned(amount: int, host: Host) -> bool:
    """Would more servers fit here if their CPUs were pinned, as an unread image may ask?"""
    kinds = map((host.resources or {}).get, (PCPU, VCPU))
    pinned, shared = (max(0, has.capacity - has.used) // amount if has else 0 for has in kinds)
    return pinned > shared


def _too_little(_question: ResolvedRequest) -> Callable[[str, int, Resource, int], Verdict]:
    """One verdict for all hosts with the same figures, where not even one server finds enough."""

    @cache
    def too_little(name: str, amount: int, has: Resource, servers: int) -> Verdict:
        """Of this class, once so many servers more are there."""
        asked = {'resource': name, 'amount': amount}
        if has.max_unit is not None and amount > has.max_unit:
            return Verdict.rejected('resources.too_large', max_unit=has.max_unit, **asked)
        if amount % has.step_size:
            return Verdict.rejected('resources.step', step_size=has.step_size, **asked)
        free = max(0, has.capacity - has.used - servers * amount)
        return Verdict.rejected('resources.exhausted', free=free, capacity=has.capacity, **asked)

    return too_little


def _enough(_question: ResolvedRequest) -> Callable[..., Verdict]:
    """One verdict for all hosts with the same room."""

    @cache
    def enough(room: int | None, is_at_most: bool, least: int | None = None) -> Verdict:
        return Verdict.passed('resources.room', room=room, is_at_most=is_at_most, least=least)

    return enough
