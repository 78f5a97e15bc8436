"""Laws of domains: what the planner counts is what searching all ways of placing servers finds."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.objects import Aggregate, CloudSnapshot, Flavor, PlacementRequest
from senlin_affinity.core.planner import plan
from senlin_affinity.core.server_group import Member, ServerGroup
from senlin_affinity.core.spread import Spread
from tests.support.small_cloud import CONSTRAINTS

RACKS = ('r1', 'r2', 'r3', 'r1,r2')
ZONES = ('az-1', 'az-2', 'az-3')
AGGREGATES = {name: Aggregate(name, name, None, {'rack': name}) for name in RACKS} | {
    f'{zone}/{name}': Aggregate(f'{zone}/{name}', 'rack', None, {'rack': f'{zone}/{name}'})
    for zone in ZONES
    for name in ('r1', 'r2')
}


@st.composite
def clouds(draw, *, nested):
    """Up to six hypervisors of up to five service hosts, and a request that is spread."""
    names = draw(st.lists(st.sampled_from('abcde'), min_size=1, max_size=6))
    racks = st.sampled_from(['r1', 'r2'] if nested else RACKS)
    place = {}
    for name in sorted(set(names)):
        zone, rack = draw(st.sampled_from(ZONES)), draw(st.none() | racks | racks)
        place[name] = zone, f'{zone}/{rack}' if nested and rack else rack, draw(st.integers(0, 4))
    pool = draw(st.integers(0, 4))
    is_pooled = not nested and draw(st.booleans())
    hosts = []
    for number, name in enumerate(names):
        zone, rack, enabled = place[name]
        is_shared = is_pooled and draw(st.booleans())
        disk = Resource(pool, 0, pool='p') if is_shared else Resource(9, 0)
        resources = {'VCPU': Resource(draw(st.integers(0, 3)), 0), 'DISK_GB': disk}
        aggregates = frozenset({AGGREGATES[rack].uuid} if rack else ())
        hosts.append(Host(name, f'{name}{number}', 'QEMU', zone, bool(enabled), True, aggregates,
                          resources=resources))  # fmt: skip
    members = draw(st.lists(st.sampled_from('abcdef'), max_size=4))
    limit = draw(st.integers(1, 3))
    policy = draw(st.sampled_from(['anti-affinity', 'soft-anti-affinity', 'affinity']))
    rules = {'max_server_per_host': limit} if policy == 'anti-affinity' else {}
    found = tuple(Member(str(number), host) for number, host in enumerate(members))
    by, limits = st.sampled_from(['availability_zone', 'rack']), st.none() | st.integers(1, 4)
    some = st.lists(
        st.builds(Spread, by, st.integers(1, 2), limits),
        min_size=1,
        max_size=1 if nested else 2,
        unique_by=lambda spread: spread.by,
    )
    snapshot = CloudSnapshot(
        tuple(hosts),
        tuple(AGGREGATES.values()),
        (Flavor('f', 'f', 1, 0, 1),),
        (ServerGroup('g', 'web', policy, rules, found),),
        pools={'p': {'DISK_GB': Resource(pool, 0)}} if is_pooled else {},
    )
    return PlacementRequest(draw(st.integers(0, 9)), 'f', 'g', spread=tuple(draw(some))), snapshot


class Trial:
    """Every way of placing servers one by one; it shares no code with the planner."""

    def __init__(self, request, snapshot):
        self.spreads, self.hosts = request.spread, snapshot.hosts
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
        """The one domain of a host."""
        if by == 'availability_zone':
            return host.availability_zone
        names = {
            name
            for uuid in host.aggregates
            for name in AGGREGATES[uuid].metadata['rack'].split(',')
        }
        return names.pop() if len(names) == 1 else None

    def takes(self, placed, index):
        """May the next server go there?"""
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
        """Does a spread let the next server go there?"""
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
        """The most servers that any order places."""

        @cache
        def best(placed):
            found = 0
            for index in range(len(placed)):
                if self.takes(placed, index):
                    more = (*placed[:index], placed[index] + 1, *placed[index + 1 :])
                    found = max(found, 1 + best(more))
            return found

        return best((0,) * len(self.hosts))


def check_placements(trial, decision):
    """Each server may go where it is sent, after those before it."""
    states = [(0,) * len(trial.hosts)]
    for placed in decision.placements:
        states = [
            (*state[:index], state[index] + 1, *state[index + 1 :])
            for state in states
            for index, host in enumerate(trial.hosts)
            if host.host == placed.host and trial.takes(state, index)
        ]
        assert states, (placed, decision.placements)


def holds(cloud, *, nested):
    """Nested domains are counted exactly; crossing ones are "at most", unless it is certain."""
    request, snapshot = cloud
    trial = Trial(request, snapshot)
    decision = plan(request, snapshot, CONSTRAINTS, remedies=False)
    most = trial.most()
    check_placements(trial, decision)
    if not nested:
        assert most <= decision.capacity
        assert decision.at_most or most == decision.capacity
        assert len(decision.placements) <= most
        return
    assert decision.capacity == most
    if trial.group.policy != 'affinity' or trial.members:
        assert decision.at_most == ()
        assert len(decision.placements) == min(request.count, most)


@pytest.mark.parametrize('nested', [True, False], ids=['nested', 'crossing'])
@given(st.data())
def test_domains_are_counted(nested, data):
    holds(data.draw(clouds(nested=nested)), nested=nested)


@settings(max_examples=60)
@given(clouds(nested=True), st.integers(1, 2))
def test_what_is_firm_fits_wherever_lost_members_are(cloud, lost):
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
    rooms = [Trial(request, having(hosts)).most() for hosts in each]
    assert decision.firm <= min(rooms) <= max(rooms) <= decision.capacity
    assert decision.at_most or min(rooms) == decision.capacity


@pytest.mark.long
@pytest.mark.parametrize('nested', [True, False], ids=['nested', 'crossing'])
@settings(max_examples=10_000)
@given(st.data())
def test_domains_are_counted_at_length(nested, data):
    holds(data.draw(clouds(nested=nested)), nested=nested)
