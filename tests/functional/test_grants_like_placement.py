"""The capacity per candidate equals the number of servers that the real Placement accepts.

Forests contain hosts, nested providers and sharing providers. Servers are claimed on each host
until Placement has no candidate left. The candidate of each server is random, because Placement may
return candidates in random order.
"""

import uuid
from urllib.parse import urlencode

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud import allocations, providers
from senlin_affinity.model.host import Host
from tests.functional.test_rooms_like_placement import SHARING, TRAIT, Forest

GPU = 'CUSTOM_GPU'
#: Examples are not minimized, because each step would build a forest in Placement.
NOT_MINIMIZED = (Phase.explicit, Phase.generate)
COUNTS = st.integers(0, 7)
#: Of each nested provider: its GPUs, and whether it has the trait.
PARTS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=3)
#: Of each host: its CPUs, disk (0: none), and nested providers.
HOSTS = st.lists(st.tuples(st.integers(1, 9), COUNTS, PARTS), min_size=1, max_size=3)
#: A sharing provider: its disk, and the hosts that it shares with.
DISK = st.none() | st.tuples(st.integers(1, 7), st.sets(st.integers(0, 2)))
QUERIES = st.sampled_from(
    [
        {'resources': 'VCPU:1'},
        {'resources': 'VCPU:2'},
        {'resources': 'VCPU:1,DISK_GB:1'},
        {'resources': f'VCPU:1,{GPU}:2'},
        {'resources': f'VCPU:1,{GPU}:1', 'required': TRAIT},
        {'resources': 'VCPU:1', 'resources1': f'{GPU}:1', 'required1': TRAIT},
        {'resources': 'VCPU:1', 'resources1': f'{GPU}:2', 'required1': f'!{TRAIT}'},
        {
            'resources': 'VCPU:1',
            'resources1': f'{GPU}:1',
            'resources2': f'{GPU}:1',
            'group_policy': 'isolate',
        },
        {
            'resources': 'VCPU:1',
            'resources1': f'{GPU}:1',
            'resources2': f'{GPU}:2',
            'group_policy': 'none',
        },
        {'resources': 'VCPU:1,DISK_GB:2', 'resources1': f'{GPU}:1', 'root_required': f'!{TRAIT}'},
    ]
).map(urlencode)


def build(forest, hosts, disk):
    """Create the providers, and return the roots of the hosts."""
    shared = str(uuid.uuid4())
    roots = []
    for number, (cpus, own, parts) in enumerate(hosts):
        amounts = {'VCPU': (cpus, 0), 'MEMORY_MB': (8, 0)} | ({'DISK_GB': (own, 0)} if own else {})
        with_disk = disk is not None and number in disk[1]
        root = forest.add(amounts, aggregates=[shared] if with_disk else [])
        roots.append(root)
        for gpus, is_gold in parts:
            forest.add({GPU: (gpus, 0)}, [TRAIT] * is_gold, parent=root)
    if disk is not None:
        forest.add({'DISK_GB': (disk[0], 0)}, [SHARING], [shared])
    return roots


def hosts_and_longest(forest, roots):
    """Return the hosts as in a snapshot, and the length of the longest answer."""
    inventories = providers.rooms(forest, {root: {} for root in roots})
    hosts = []
    for root in roots:
        room = inventories.rooms.get(root, providers.HostInventory(None))
        more = {'is_nested': room.is_nested, 'is_partial': room.is_partial}
        hosts.append(Host(root, root, traits=room.traits, resources=room.resources, **more))
    return hosts, inventories.longest


def fetch_grants(forest, roots, query):
    hosts, longest = hosts_and_longest(forest, roots)
    return allocations.fetch(forest, query, hosts, roots, longest)


def candidates_on(forest, root, query):
    """Return the candidates on a host."""
    found = forest.get(f'/allocation_candidates?{query}', '', None)['allocation_requests']
    return [each['allocations'] for each in found if root in each['allocations']]


CHOICES = st.lists(st.integers(0, 11), min_size=1, max_size=5)


@pytest.mark.nightly
@settings(max_examples=6, phases=NOT_MINIMIZED, deadline=None)
@given(HOSTS, DISK, QUERIES, CHOICES)
def test_the_capacity_equals_the_claimed_servers(judge, hosts, disk, query, choices):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        found = fetch_grants(forest, roots, query)
        for root, grants in zip(roots, found.grants, strict=True):
            room, certain = (grants[0].room, grants[0].certain) if grants else (0, 0)
            placed, claimed = 0, len(forest._used)
            while candidates := candidates_on(forest, root, query):
                forest.claim(candidates[choices[placed % len(choices)] % len(candidates)])
                placed += 1
            assert certain <= placed <= room, (query, found)
            forest.release(claimed)


@pytest.mark.parametrize(('disk', 'granted'), [(5, [(2, 2), (3, 3)]), (4, [(2, 1), (3, 3)])])
def test_shared_disk_is_certain_if_it_suffices_for_all_hosts(judge, disk, granted):
    """Each server needs one CPU. The first host has a local disk for one server, the second for
    all.
    """
    with Forest(judge) as forest:
        roots = build(forest, [(2, 1, []), (3, 9, [])], (disk, {0, 1}))
        query = urlencode({'resources': 'VCPU:1,DISK_GB:1'})
        found = fetch_grants(forest, roots, query)
        assert found == allocations.CandidateAnswer(
            tuple((allocations.CandidateCapacity(query, *counts),) for counts in granted),
            is_whole=True,
        )


@pytest.mark.long
@settings(max_examples=8, phases=NOT_MINIMIZED, deadline=None)
@given(HOSTS, DISK, QUERIES)
def test_a_truncated_answer_is_never_considered_complete(judge, hosts, disk, query):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        whole = fetch_grants(forest, roots, query)
        longest = len(
            forest.get(f'/allocation_candidates?{query}', '', None)['allocation_requests']
        )
        for cut_after in range(1, longest + 1):
            with judge.cutting(cut_after):
                cut = fetch_grants(forest, roots, query)
            if cut.is_whole:
                assert cut == whole, cut_after


TYPICAL, FAST = (4, 0, []), [(2, True), (2, True), (2, False)]


@pytest.mark.parametrize(
    ('hosts', 'disk', 'query'),
    [
        ([TYPICAL] * 3, None, 'resources=VCPU:1'),
        ([TYPICAL, TYPICAL, (1, 0, [])], None, 'resources=VCPU:2'),
        ([(4, 0, FAST)] * 3, None, 'resources=VCPU:1'),
        ([(4, 0, FAST)] * 3, None, f'resources=VCPU:1&resources1={GPU}:1&required1={TRAIT}'),
        ([TYPICAL] * 3, (7, {0, 1}), 'resources=VCPU:1,DISK_GB:2'),
        ([(4, 5, [])] * 3, (7, {0, 1}), 'resources=VCPU:1,DISK_GB:2'),
    ],
    ids=['all hosts', 'a full host', 'nested', 'granular', 'a pool', 'a local disk and a pool'],
)
def test_a_complete_answer_is_considered_complete(judge, hosts, disk, query):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        assert fetch_grants(forest, roots, query).is_whole
