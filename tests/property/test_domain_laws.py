"""The planner's numbers with domains equal an exhaustive search of all placements."""

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.spread import Spread
from tests.support.asked import NamedRequest, plan
from tests.support.small_cloud import CONSTRAINTS
from tests.support.values import replace

RACKS = ('r1', 'r2', 'r3', 'r1,r2')
ZONES = ('az-1', 'az-2', 'az-3')
AGGREGATES = {name: Aggregate(name, name, None, {'rack': name}) for name in RACKS} | {
    f'{zone}/{name}': Aggregate(f'{zone}/{name}', 'rack', None, {'rack': f'{zone}/{name}'})
    for zone in ZONES
    for name in ('r1', 'r2')
}
HALLS = {name: Aggregate(name, name, None, {'hall': name}) for name in ('hall-1', 'hall-2')}
AGGREGATES |= HALLS


MODES = st.sampled_from(['hard', 'soft', None])


@st.composite
def clouds(draw, *, nested):
    """Draw up to six hypervisors of up to five hosts, and a request with spreads in any order.

    :param nested: one spread is hard, and its domains do not cross those of any other constraint.
    """
    names = draw(st.lists(st.sampled_from('abcde'), min_size=1, max_size=6))
    racks = st.sampled_from(['r1', 'r2'] if nested else RACKS)
    place = {}
    for name in sorted(set(names)):
        zone, rack = draw(st.sampled_from(ZONES)), draw(st.none() | racks | racks)
        rack = f'{zone}/{rack}' if nested and rack else rack
        found = {rack, draw(st.sampled_from([None, *HALLS]))} - {None}
        aggregates = frozenset(AGGREGATES[each].uuid for each in found)
        place[name] = zone, aggregates, draw(st.integers(0, 4))
    pool = draw(st.integers(0, 4))
    is_pooled = not nested and draw(st.booleans())
    hosts = []
    for number, name in enumerate(names):
        zone, aggregates, enabled = place[name]
        is_shared = is_pooled and draw(st.booleans())
        disk = Resource(pool, 0, pool='p') if is_shared else Resource(9, 0)
        resources = {'VCPU': Resource(draw(st.integers(0, 3)), 0), 'DISK_GB': disk}
        hosts.append(Host(name, f'{name}{number}', 'QEMU', zone, bool(enabled), True, aggregates,
                          resources=resources))  # fmt: skip
    members = draw(st.lists(st.sampled_from('abcdef'), max_size=4))
    limit = draw(st.integers(1, 3))
    policy = draw(st.sampled_from(['anti-affinity', 'soft-anti-affinity', 'affinity']))
    rules = {'max_server_per_host': limit} if policy == 'anti-affinity' else {}
    found = tuple(Member(str(number), host) for number, host in enumerate(members))
    keys = draw(st.permutations(['availability_zone', 'rack', 'hall']))
    modes = ['hard', 'soft' if nested else draw(MODES), draw(st.sampled_from(['soft', None]))]
    spreads = [
        Spread(by, draw(st.integers(1, 2)), draw(st.none() | st.integers(1, 4)), mode)
        for by, mode in zip(keys, modes, strict=True)
        if mode is not None
    ]
    spread = tuple(draw(st.permutations(spreads)))
    snapshot = Cloud(
        tuple(hosts),
        tuple(AGGREGATES.values()),
        (Flavor('f', 'f', 1, 0, 1),),
        (ServerGroup('g', 'web', policy, rules, found),),
        pools={'p': {'DISK_GB': Resource(pool, 0)}} if is_pooled else {},
    )
    return NamedRequest(draw(st.integers(0, 9)), 'f', 'g', spread=spread), snapshot


class ExhaustiveSearch:
    """An exhaustive search of all placements, which shares no code with the planner."""

    def __init__(self, request, snapshot):
        self.spreads = [spread for spread in request.spread if spread.is_hard]
        self.hosts = snapshot.hosts
        (self.group,) = snapshot.server_groups
        self.pool = snapshot.pools['p']['DISK_GB'].capacity if snapshot.pools else 0
        self.members = Counter(member.host for member in self.group.members)
        self.where = [{spread.by: self.domain(spread.by, host) for spread in self.spreads}
                      for host in self.hosts]  # fmt: skip
        self.open = [
            host.enabled and all(where.values())
            for host, where in zip(self.hosts, self.where, strict=True)
        ]

    def domain(self, by, host):
        """Return the domain of a host, or None if it is ambiguous."""
        if by == 'availability_zone':
            return host.availability_zone
        names = {
            name
            for uuid in host.aggregates
            for name in AGGREGATES[uuid].metadata.get(by, '').split(',')
            if name
        }
        return names.pop() if len(names) == 1 else None

    def takes(self, placed, index):
        """Return whether the next server may go to this host."""
        host = self.hosts[index]
        if not self.open[index] or placed[index] >= host.resources['VCPU'].capacity:
            return False
        pooled = [each for each, other in enumerate(self.hosts) if other.resources['DISK_GB'].pool]
        if index in pooled and sum(placed[each] for each in pooled) >= self.pool:
            return False
        on_host = Counter(self.members)
        for number, other in zip(placed, self.hosts, strict=True):
            on_host[other.host] += number
        on_host = +on_host
        limit = self.group.max_server_per_host
        if limit is not None and on_host[host.host] >= limit:
            return False
        if self.group.policy == 'affinity' and any(on_host) and not on_host[host.host]:
            return False
        return all(self.is_even(spread, placed, on_host, index) for spread in self.spreads)

    def is_even(self, spread, placed, on_host, index):
        """Return whether a spread allows the next server on this host."""
        held = Counter()
        domains = {
            host.host: where[spread.by] for where, host in zip(self.where, self.hosts, strict=True)
        }
        for name in on_host.keys() & domains.keys():
            held[domains[name]] += on_host[name]
        here = held[self.where[index][spread.by]]
        if spread.max_per_domain is not None and here >= spread.max_per_domain:
            return False
        least = min(held[where[spread.by]] for where, is_open
                    in zip(self.where, self.open, strict=True) if is_open)  # fmt: skip
        return here + 1 - least <= spread.max_skew

    def most(self):
        """Return the largest number of servers over all orders."""

        @cache
        def best(placed):
            found = 0
            for index in range(len(placed)):
                if self.takes(placed, index):
                    more = (*placed[:index], placed[index] + 1, *placed[index + 1 :])
                    found = max(found, 1 + best(more))
            return found

        return best((0,) * len(self.hosts))


def check_placements(search, decision):
    """Check that each server may go to its host, after those before it."""
    states = [(0,) * len(search.hosts)]
    for placed in decision.placements:
        states = [
            (*state[:index], state[index] + 1, *state[index + 1 :])
            for state in states
            for index, host in enumerate(search.hosts)
            if host.host == placed.host and search.takes(state, index)
        ]
        assert states, (placed, decision.placements)


def check_capacity(cloud, *, nested):
    """Check that nested domains are counted exactly, and crossing ones never too low."""
    request, snapshot = cloud
    search = ExhaustiveSearch(request, snapshot)
    decision = plan(request, snapshot, CONSTRAINTS, remedies=False)
    most = search.most()
    check_placements(search, decision)
    if decision.fits:
        assert len(decision.placements) == request.count
    if not nested:
        assert most <= decision.capacity
        assert decision.at_most or most == decision.capacity
        assert len(decision.placements) <= most
        return
    assert decision.capacity == most
    if search.group.policy != 'affinity' or search.members:
        assert decision.at_most == ()
        assert len(decision.placements) == min(request.count, most)


@pytest.mark.parametrize('nested', [True, False], ids=['nested', 'crossing'])
@given(st.data())
def test_the_capacity_equals_an_exhaustive_search(nested, data):
    check_capacity(data.draw(clouds(nested=nested)), nested=nested)


@settings(max_examples=60)
@given(clouds(nested=True), st.integers(1, 2))
def test_the_certain_capacity_fits_wherever_lost_members_are(cloud, lost):
    request, snapshot = cloud
    (group,) = snapshot.server_groups
    places = [*{host.host: None for host in snapshot.hosts}, 'elsewhere']

    def having(hosts):
        more = tuple(Member(f'lost-{number}', host) for number, host in enumerate(hosts))
        members = (*group.members, *more)
        soft = replace(group, policy='soft-anti-affinity', rules={}, members=members)
        return replace(snapshot, server_groups=(soft,))

    decision = plan(request, having([None] * lost), CONSTRAINTS, remedies=False)
    each = combinations_with_replacement(places, lost)
    rooms = [ExhaustiveSearch(request, having(hosts)).most() for hosts in each]
    assert decision.capacity_certain <= min(rooms) <= max(rooms) <= decision.capacity
    assert decision.at_most or min(rooms) == decision.capacity
