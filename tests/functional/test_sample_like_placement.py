"""A yes by a few hosts, against the real Placement: the servers are then really granted.

Small forests of hosts, their parts, and providers that share; groups whose members are anywhere.
Where a few of the candidates are enough, servers are claimed one after the other, each from any
host that the group still allows, and none of them may find no host.
"""

import random
import uuid
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud import allocations
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.snapshot import Aggregate, CloudSnapshot, Flavor, Quota
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import sample
from senlin_affinity.preflight.cloud_view import CloudView
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.functional.test_rooms_like_placement import A_HOST, AS_FOUND, Forest
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


@pytest.mark.long
@settings(max_examples=4, phases=AS_FOUND, deadline=None)
@given(*CASE)
def test_a_yes_is_kept(judge, hosts, sharing, questions, seed):
    check(judge, hosts, sharing, questions, seed)


@pytest.mark.parametrize('cut', [None, 2])
def test_a_yes_and_none_on_plain_hosts(judge, cut, monkeypatch):
    """As many hosts as are needed are enough, and an answer that is cut is never too much."""
    plain = ({'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, False, None)
    monkeypatch.setattr(sample, 'SPARE', 0)
    with Forest(judge) as forest:
        roots = build(forest, [plain] * HOSTS, set())
        amounts, anti = {'VCPU': 2, 'MEMORY_MB': 1, 'DISK_GB': 0}, ('anti-affinity', 1, [0])
        with judge.cutting(-1 if cut is None else cut):
            said = [yes(forest, roots, amounts, anti, count) for count in (1, 2, 3, 4)]
    assert said == ([True, True, True, False] if cut is None else [True, False, False, False])


@pytest.mark.parametrize(('count', 'expected'), [(2, True), (3, False)])
def test_hosts_in_aggregates_that_a_rule_refuses_are_not_counted(
    judge, monkeypatch, count, expected
):
    """Two of six may have the servers: in the aggregate that the flavor asks for, and no other."""
    monkeypatch.setattr(sample, 'SPARE', 0)
    ssd, hdd = (Aggregate(str(uuid.uuid4()), name, None, {'disk': name}) for name in ('ssd', 'hdd'))
    places = [(ssd,), (ssd,), (hdd,), (hdd,), (), ()]
    with Forest(judge) as forest:
        for each in places:
            forest.add({'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, aggregates=[one.uuid for one in each])
        asked, view = ask_about(
            {'VCPU': 1, 'MEMORY_MB': 1, 'DISK_GB': 0},
            ServerGroup('g', 'g', 'anti-affinity'),
            count,
            filters=('AggregateInstanceExtraSpecsFilter',),
            specs={'disk': 'ssd'},
            aggregates=(ssd, hdd),
        )
        sets = [frozenset(one.uuid for one in each) for each in places]
        outline = sample.outline(asked, view)._replace(sets=sets)
        query = sample.query(asked, view, outline)
        assert is_yes(forest, query, view) == expected


def check(judge, hosts, sharing, questions, seed):
    dice = random.Random(seed)
    with mock.patch.object(sample, 'SPARE', 0), Forest(judge) as forest:
        roots = build(forest, hosts, sharing)
        for amounts, group, count in questions:
            if not yes(forest, roots, amounts, group, count):
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


def yes(forest, roots, amounts, group, count):
    """Are a few of the candidates enough? The hosts of the members are not told."""
    policy, most, members = group
    rules = {'max_server_per_host': most} if policy == 'anti-affinity' else {}
    held = tuple(Member(f's{number}') for number in members)
    asked, view = ask_about(amounts, ServerGroup('g', 'g', policy, rules, held), count)
    return is_yes(forest, sample.query(asked, view, sample.outline(asked, view)), view, roots)


def ask_about(amounts, group, count, *, filters=DEFAULT_FILTERS, specs=(), aggregates=None):
    """A question, and what the owner sees."""
    of_amounts = {f'resources:{name}': str(amount) for name, amount in amounts.items()}
    question = Question(
        count,
        server_group='g',
        policy={'type': TYPE, 'version': '1.1', 'properties': {}},
        profile={'properties': {'flavor': 'f', 'image': 'cirros'}},
        enabled_filters=filters,
    )
    snapshot = CloudSnapshot(
        aggregates=aggregates,
        flavors=(Flavor('f', 'f', 1, 1, 1, extra_specs=of_amounts | dict(specs)),),
        server_groups=(group,),
        quotas={'instances': Quota(None, 0)},
    )
    request = ScaleRequest(question, Binding('g', True), RULES)
    return request, CloudView(snapshot, images={'cirros': Image()})


def is_yes(forest, query, view, roots=None):
    if query is None:
        return False
    rooms = allocations.some(allocations.candidates(forest, query.text, query.limit))
    assert roots is None or rooms.keys() <= {*roots}
    found = [query.host(root, room) for root, room in rooms.items()]
    return sample.is_enough(query.request, view, found)


def boot(forest, roots, amounts, group, held, dice):
    """Claim what Placement has on any host that the group allows, as nova-scheduler does."""
    policy, most, _members = group
    wanted = ','.join(f'{name}:{amount}' for name, amount in amounts.items() if amount)
    body = forest.get('/allocation_candidates', '', None, {'resources': wanted})
    candidates = []
    for request in body['allocation_requests']:
        root = next((root for root in roots if root in request['allocations']), None)
        if root is None:
            continue
        if policy == 'anti-affinity' and held.count(root) >= most:
            continue
        candidates.append((root, request['allocations']))
    if not candidates:
        return False
    root, taken = dice.choice(candidates)
    held.append(root)
    forest.claim(taken)
    return True
