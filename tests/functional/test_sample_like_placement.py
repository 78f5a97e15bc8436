"""A request that a sample accepts really fits in the real Placement.

Small forests contain hosts, nested providers and sharing providers; the members of groups are
anywhere. If a sample is enough, servers are claimed one by one from any host that the group allows,
and each must find a host.
"""

import random
import uuid
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from senlin_affinity.cloud import allocations
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import sample
from senlin_affinity.preflight.question import Question, resolve_question
from tests.functional.test_rooms_like_placement import A_HOST, NOT_MINIMIZED, Forest
from tests.support.our_constraints import OURS
from tests.support.placement_judge import SHARING

RULES = tuple(rule() for rule in OURS)
HOSTS = 4
SERVERS = st.fixed_dictionaries(
    {
        'VCPU': st.integers(1, 2),
        'MEMORY_MB': st.sampled_from([0, 1, 4]),
        'DISK_GB': st.sampled_from([0, 0, 3]),
    },
    optional={'CUSTOM_GPU': st.integers(1, 2)},
)
A_GROUP = st.tuples(
    st.sampled_from(['anti-affinity', 'soft-anti-affinity']),
    st.integers(1, 2),
    st.lists(st.integers(0, HOSTS - 1), max_size=3),
)
A_CLOUD = st.lists(A_HOST, min_size=HOSTS, max_size=HOSTS)
QUESTIONS = st.lists(st.tuples(SERVERS, A_GROUP, st.integers(1, 5)), min_size=9, max_size=9)
CASE = (A_CLOUD, st.sets(st.integers(0, HOSTS - 1), max_size=3), QUESTIONS, st.integers(0, 99))


@pytest.mark.nightly
@settings(max_examples=4, phases=NOT_MINIMIZED, deadline=None)
@given(*CASE)
def test_all_servers_of_an_accepted_request_fit(judge, hosts, sharing, questions, seed):
    check(judge, hosts, sharing, questions, seed)


@pytest.mark.parametrize('cut_after', [None, 2])
def test_a_sample_needs_one_host_for_each_server(judge, cut_after, monkeypatch):
    """A truncated answer never accepts too much."""
    plain = ({'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, False, None)
    monkeypatch.setattr(sample, 'SPARE', 0)
    with Forest(judge) as forest:
        roots = build(forest, [plain] * HOSTS, set())
        amounts, anti = {'VCPU': 2, 'MEMORY_MB': 1, 'DISK_GB': 0}, ('anti-affinity', 1, [0])
        with judge.cutting(-1 if cut_after is None else cut_after):
            results = [
                is_sample_enough(forest, roots, amounts, anti, count) for count in (1, 2, 3, 4)
            ]
    assert results == (
        [True, True, True, False] if cut_after is None else [True, False, False, False]
    )


def test_a_sample_that_shares_no_host_with_the_members_is_enough(judge, monkeypatch):
    """Three of four hosts have free capacity; the member is on the fourth one, or not."""
    monkeypatch.setattr(sample, 'SPARE', 0)
    plain, full = {'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, {'VCPU': (4, 4), 'MEMORY_MB': (8, 8)}
    with Forest(judge) as forest:
        roots = [forest.add(each) for each in (full, plain, plain, plain)]
        amounts = {'VCPU': 2, 'MEMORY_MB': 1, 'DISK_GB': 0}
        results = [
            is_sample_enough(
                forest, roots, amounts, ('anti-affinity', 1, [on]), 3, are_places_known=is_known
            )
            for on, is_known in ((0, False), (0, True), (1, True))
        ]
    assert results == [False, True, False]


@pytest.mark.parametrize(('count', 'expected'), [(2, True), (3, False)])
def test_hosts_in_rejected_aggregates_do_not_count(judge, monkeypatch, count, expected):
    """Only two of six hosts are in the required aggregate and in no other one."""
    monkeypatch.setattr(sample, 'SPARE', 0)
    ssd, hdd = (Aggregate(str(uuid.uuid4()), name, None, {'disk': name}) for name in ('ssd', 'hdd'))
    places = [(ssd,), (ssd,), (hdd,), (hdd,), (), ()]
    with Forest(judge) as forest:
        for each in places:
            forest.add({'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, aggregates=[one.uuid for one in each])
        request, cloud = request_and_cloud(
            {'VCPU': 1, 'MEMORY_MB': 1, 'DISK_GB': 0},
            ServerGroup('g', 'g', 'anti-affinity'),
            count,
            filters=('AggregateInstanceExtraSpecsFilter',),
            specs={'disk': 'ssd'},
            aggregates=(ssd, hdd),
        )
        sets = [frozenset(one.uuid for one in each) for each in places]
        asked = (*query_of(request, cloud, sets), request, cloud)
        assert is_query_enough(forest, *asked) == expected


def check(judge, hosts, sharing, questions, seed):
    dice = random.Random(seed)
    with mock.patch.object(sample, 'SPARE', 0), Forest(judge) as forest:
        roots = build(forest, hosts, sharing)
        for amounts, group, count in questions:
            if not is_sample_enough(forest, roots, amounts, group, count, are_places_known=True):
                continue
            before, held = len(forest._used), [roots[place] for place in group[2]]
            for number in range(count):
                assert boot(forest, roots, amounts, group, held, dice), (number, amounts, group)
            forest.release(before)


def build(forest, hosts, sharing):
    shared, roots = str(uuid.uuid4()), []
    for number, (own, _is_gold, part) in enumerate(hosts):
        roots.append(forest.add(own, aggregates=[shared] * (number in sharing)))
        if part:
            forest.add(part, parent=roots[-1])
    if sharing:
        forest.add({'DISK_GB': (7, 0)}, [SHARING], [shared])
    return roots


def is_sample_enough(forest, roots, amounts, group, count, *, are_places_known=False):
    """Return whether a sample is enough, by default without the hosts of the members."""
    policy, limit, members = group
    rules = {'max_server_per_host': limit} if policy == 'anti-affinity' else {}
    held = tuple(Member(f's{number}') for number in members)
    request, cloud = request_and_cloud(amounts, ServerGroup('g', 'g', policy, rules, held), count)
    places = {f's{number}': roots[number] for number in members}
    asked = (*query_of(request, cloud), request, cloud)
    if is_query_enough(forest, *asked, roots=roots):
        return True
    return are_places_known and is_query_enough(forest, *asked, roots=roots, places=places)


def query_of(request, cloud, sets=()):
    """Return the query for a sample, and the constraints that it does not enforce."""
    readers = sample.readers(sample.without_hosts(request, cloud, RULES), RULES)
    others = [each for each in RULES if each not in readers]
    return sample.query(request, cloud, others, readers, sets), others


def request_and_cloud(amounts, group, count, *, filters=DEFAULT_FILTERS, specs=(), aggregates=None):
    """Return the request and the owner's part of the cloud."""
    of_amounts = {f'resources:{name}': str(amount) for name, amount in amounts.items()}
    question = Question(
        count,
        server_group='g',
        policy={'type': TYPE, 'version': '1.1', 'properties': {}},
        profile={'properties': {'flavor': 'f', 'image': 'cirros'}},
        enabled_filters=filters,
    )
    snapshot = Cloud(
        aggregates=aggregates,
        flavors=(Flavor('f', 'f', 1, 1, 1, extra_specs=of_amounts | dict(specs)),),
        server_groups=(group,),
        quotas={'instances': Quota(None, 0)},
    )
    cloud = structs.replace(snapshot, images={'cirros': Image()})
    return resolve_question(question, cloud)[0], cloud


def is_query_enough(forest, query, others, request, cloud, *, roots=None, places=None):
    if query is None:
        return False
    rooms = allocations.lower_bounds(allocations.candidates(forest, query.text, query.limit))
    assert roots is None or rooms.keys() <= {*roots}
    found = [query.host(root, room, request) for root, room in rooms.items()]
    return sample.is_enough(request, cloud, others, found, places)


def boot(forest, roots, amounts, group, held, dice):
    """Reserve a candidate on any host that the group allows, as nova-scheduler does."""
    policy, limit, _members = group
    wanted = ','.join(f'{name}:{amount}' for name, amount in amounts.items() if amount)
    body = forest.get('/allocation_candidates', '', None, {'resources': wanted})
    candidates = []
    for request in body['allocation_requests']:
        root = next((root for root in roots if root in request['allocations']), None)
        if root is None:
            continue
        if policy == 'anti-affinity' and held.count(root) >= limit:
            continue
        candidates.append((root, request['allocations']))
    if not candidates:
        return False
    root, taken = dice.choice(candidates)
    held.append(root)
    forest.claim(taken)
    return True
