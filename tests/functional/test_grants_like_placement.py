"""What is counted from Placement's answer, against servers that the real Placement takes.

Forests of hosts, their parts, and providers that share with some of them: of each host, servers are
claimed one by one until Placement has no candidate left there. Which candidate each of them takes
is drawn, for Nova takes the first, and Placement may shuffle them.
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
#: Each step to a smaller example would build a forest in Placement.
AS_FOUND = (Phase.explicit, Phase.generate)
COUNTS = st.integers(0, 7)
#: Of each part of a host: its GPUs, and whether it has the trait.
PARTS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=3)
#: Of each host: its CPUs, disk (0: none), and parts.
HOSTS = st.lists(st.tuples(st.integers(1, 9), COUNTS, PARTS), min_size=1, max_size=3)
#: A provider of disk: how much it has, and with which hosts it shares it.
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
    """The roots of the hosts."""
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


def view(forest, roots):
    """The hosts as the look at the cloud has them, and the longest of the answers."""
    seen = providers.rooms(forest, {root: {} for root in roots})
    hosts = []
    for root in roots:
        room = seen.rooms.get(root, providers.HostInventory(None))
        more = {'is_nested': room.is_nested, 'is_partial': room.is_partial}
        hosts.append(Host(root, root, traits=room.traits, resources=room.resources, **more))
    return hosts, seen.longest


def asked(forest, roots, query):
    hosts, longest = view(forest, roots)
    return allocations.ask(forest, query, hosts, roots, longest)


def on(forest, root, query):
    """The candidates of a host, as Nova looks for them."""
    found = forest.get(f'/allocation_candidates?{query}', '', None)['allocation_requests']
    return [each['allocations'] for each in found if root in each['allocations']]


CHOICES = st.lists(st.integers(0, 11), min_size=1, max_size=5)


@pytest.mark.long
@settings(max_examples=6, phases=AS_FOUND, deadline=None)
@given(HOSTS, DISK, QUERIES, CHOICES)
def test_as_many_fit_as_are_granted(judge, hosts, disk, query, choices):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        found = asked(forest, roots, query)
        for root, grants in zip(roots, found.grants, strict=True):
            room, certain = grants[0][1:] if grants else (0, 0)
            placed, claimed = 0, len(forest._used)
            while candidates := on(forest, root, query):
                forest.claim(candidates[choices[placed % len(choices)] % len(candidates)])
                placed += 1
            assert certain <= placed <= room, (query, found)
            forest.release(claimed)


@pytest.mark.parametrize(('disk', 'granted'), [(5, [(2, 2), (3, 3)]), (4, [(2, 1), (3, 3)])])
def test_what_is_shared_is_certain_where_there_is_enough_for_all(judge, disk, granted):
    """A CPU each: 5 servers; the first host has a disk for one, the second for all of its own."""
    with Forest(judge) as forest:
        roots = build(forest, [(2, 1, []), (3, 9, [])], (disk, {0, 1}))
        query = urlencode({'resources': 'VCPU:1,DISK_GB:1'})
        found = asked(forest, roots, query)
        assert found == allocations.CandidateAnswer(
            tuple((allocations.CandidateCapacity(query, *counts),) for counts in granted),
            is_whole=True,
        )


@pytest.mark.long
@settings(max_examples=8, phases=AS_FOUND, deadline=None)
@given(HOSTS, DISK, QUERIES)
def test_no_answer_that_is_cut_is_taken_to_be_whole(judge, hosts, disk, query):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        whole = asked(forest, roots, query)
        longest = len(
            forest.get(f'/allocation_candidates?{query}', '', None)['allocation_requests']
        )
        for most in range(1, longest + 1):
            with judge.cutting(most):
                cut = asked(forest, roots, query)
            if cut.is_whole:
                assert cut == whole, most


PLAIN, FAST = (4, 0, []), [(2, True), (2, True), (2, False)]


@pytest.mark.parametrize(
    ('hosts', 'disk', 'query'),
    [
        ([PLAIN] * 3, None, 'resources=VCPU:1'),
        ([PLAIN, PLAIN, (1, 0, [])], None, 'resources=VCPU:2'),
        ([(4, 0, FAST)] * 3, None, 'resources=VCPU:1'),
        ([(4, 0, FAST)] * 3, None, f'resources=VCPU:1&resources1={GPU}:1&required1={TRAIT}'),
        ([PLAIN] * 3, (7, {0, 1}), 'resources=VCPU:1,DISK_GB:2'),
        ([(4, 5, [])] * 3, (7, {0, 1}), 'resources=VCPU:1,DISK_GB:2'),
    ],
    ids=['all', 'one is full', 'nested', 'granular', 'a pool', 'own disk and a pool'],
)
def test_an_answer_that_is_not_cut_is_known_to_be_whole(judge, hosts, disk, query):
    with Forest(judge) as forest:
        roots = build(forest, hosts, disk)
        assert asked(forest, roots, query).is_whole
