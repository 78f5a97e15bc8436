"""Storage that several providers share with hosts in any pattern, against the real Placement.

Servers are claimed on all hosts together until Placement has no candidate left. Which candidate
each of them takes is drawn: whatever Nova chooses, no more come than a plan says, and no fewer than
what is sure of it.
"""

import uuid
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud import allocations, providers
from senlin_affinity.core import candidate_query
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, Flavor, PlacementRequest
from senlin_affinity.core.planner import plan
from senlin_affinity.core.planning.resolution import resolve
from tests.functional.test_grants_like_placement import AS_FOUND, SHARING
from tests.functional.test_rooms_like_placement import Forest
from tests.support.small_cloud import CONSTRAINTS

MEMORY = 64
#: Of each host: its CPUs, and its own disk (0: none).
A_HOST = st.tuples(st.integers(1, 7), st.sampled_from([0, 0, 0, 2]))
HOSTS = st.lists(A_HOST, min_size=2, max_size=4)
#: Of each provider of disk: how much it has, and with which hosts it shares it.
POOLS = st.lists(
    st.tuples(st.integers(1, 9), st.sets(st.integers(0, 3), min_size=1)), min_size=2, max_size=3
)
CHOICES = st.lists(st.integers(0, 11), min_size=1, max_size=7)
DISKS = st.sampled_from([1, 1, 2, 3])


def look(forest, hosts, pools, disk):
    """The question, and the snapshot with Placement's answer to it."""
    shared = [str(uuid.uuid4()) for _ in pools]
    roots = []
    for number, (cpus, own) in enumerate(hosts):
        amounts = {'VCPU': (cpus, 0), 'MEMORY_MB': (MEMORY, 0)}
        mine = [shared[at] for at, (_has, whose) in enumerate(pools) if number in whose]
        roots.append(forest.add(amounts | ({'DISK_GB': (own, 0)} if own else {}), (), mine))
    for (has, _whose), aggregate in zip(pools, shared, strict=True):
        forest.add({'DISK_GB': (has, 0)}, [SHARING], [aggregate])
    seen = providers.rooms(forest, {root: {} for root in roots})
    known = []
    for root in roots:
        room = seen.rooms[root]
        more = {'is_nested': room.is_nested, 'is_partial': room.is_partial}
        known.append(Host(root, root, traits=room.traits, resources=room.resources, **more))
    of_pools = {uuid: has for room in seen.rooms.values() for uuid, has in room.pools.items()}
    flavor = Flavor('f', 'f', 1, 1, disk)
    snapshot = CloudSnapshot(tuple(known), (), (flavor,), (), {}, pools=of_pools)
    request = PlacementRequest(1, 'f', image_properties={})
    query = candidate_query.query(resolve(request, snapshot))
    answer = allocations.ask(forest, query, known, roots, seen.longest)
    granted = tuple(
        host.but(grants=grants) for host, grants in zip(known, answer.grants, strict=True)
    )
    answered = frozenset({query} if answer.is_whole else ())
    return request, CloudSnapshot(granted, (), (flavor,), (), {}, pools=of_pools, answered=answered)


def claim_all(forest, disk, choices):
    """How many servers come, each by a candidate that is drawn."""
    query = urlencode({'resources': f'VCPU:1,MEMORY_MB:1,DISK_GB:{disk}'})
    placed = 0
    while found := forest.get(f'/allocation_candidates?{query}', '', None)['allocation_requests']:
        forest.claim(found[choices[placed % len(choices)] % len(found)]['allocations'])
        placed += 1
    return placed


def check(judge, hosts, pools, disk, choices):
    with Forest(judge) as forest:
        decision = plan(*look(forest, hosts, pools, disk), CONSTRAINTS, remedies=False)
        placed = claim_all(forest, disk, choices)
    said = (hosts, pools, disk, placed, decision.firm, decision.line())
    assert placed <= decision.capacity, said
    if not decision.capacity_is_upper_bound:
        assert placed == decision.capacity, said
    assert decision.firm <= placed, said
    return decision, placed


@pytest.mark.long
@settings(max_examples=6, phases=AS_FOUND, deadline=None)
@given(HOSTS, POOLS, DISKS, CHOICES)
def test_any_pools(judge, hosts, pools, disk, choices):
    check(judge, hosts, pools, disk, choices)


#: What overlaps, and what is then said: the capacity, whether it is "at most", and what is sure.
OVERLAPPING = {
    'two pools of the same hosts': ([(7, 0), (7, 0)], [(3, {0, 1}), (4, {0, 1})], (14, True, 0)),
    'one pool between two': ([(7, 0), (7, 0)], [(3, {0}), (4, {0, 1}), (2, {1})], (13, True, 0)),
    'a pool of one host': ([(7, 0), (7, 0)], [(3, {0}), (4, {0, 1})], (11, True, 4)),
    'enough for all': ([(2, 0), (2, 0)], [(4, {0}), (9, {0, 1}), (4, {1})], (4, True, 0)),
}


@pytest.mark.parametrize('name', OVERLAPPING)
def test_pools_that_overlap(judge, name):
    """Each host counts with all that it may take, which is "at most".

    Even where there is enough for all: no answer of Placement's tells that it was not cut, and that
    no other pool gives a host disk.
    """
    hosts, pools, said = OVERLAPPING[name]
    decision, _placed = check(judge, hosts, pools, 1, [3, 1, 5])
    assert (decision.capacity, decision.capacity_is_upper_bound, decision.firm) == said
