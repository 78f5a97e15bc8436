"""Plans of drains hold what they promise, compared with an exact search on small random clouds."""

import pickle
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity import api
from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.property import exact_drain
from tests.property.exact_drain import EXPLICIT, Guest, Place, World

SEEDS = st.integers(0, 2**32)
ROOMY = Place('h1', 'az-1', (8, 8_192, 40))
FULL = Place('h0', 'az-1', (8, 8_192, 40))


def guest(number, host='h0', **fields):
    return Guest(f'{number:08x}-1da2-4437-a48a-000000000000', host, (4, 1_024, 0), **fields)


def world(*guests, places=(FULL, ROOMY), groups=(), filters=()):
    return World('capacity', places, guests, groups, 0, filters, ('h0',), None)


@given(SEEDS)
def test_no_plan_has_a_wrong_promise(seed):
    cloud = exact_drain.random_world(seed)
    plan = exact_drain.plan_of(cloud)
    assert not [*exact_drain.mistakes(cloud, plan, exact_drain.reachable(cloud))]


@given(SEEDS)
def test_a_plan_is_the_same_again_and_can_be_pickled(seed):
    cloud = exact_drain.random_world(seed)
    plan = exact_drain.plan_of(cloud)
    assert pickle.loads(pickle.dumps(plan)) == plan == exact_drain.plan_of(cloud)


def test_the_search_finds_every_state():
    two = world(guest(1), guest(2), guest(3, 'h1'))
    assert exact_drain.reachable(two) == {('h0', 'h0'), ('h0', 'h1'), ('h1', 'h0')}


def test_the_search_keeps_members_apart():
    two = world(guest(1, group=0), guest(2, 'h1', group=0), groups=(('anti-affinity', 1),))
    assert exact_drain.reachable(two) == {('h0',)}


def test_a_wrong_plan_is_a_mistake():
    roomy, tight = world(guest(1), guest(2)), world(guest(1), guest(2), guest(3, 'h1'))
    states = exact_drain.reachable(tight)
    found = [*exact_drain.mistakes(tight, exact_drain.plan_of(roomy), states)]
    assert 'it does not fit' in found
    assert any('is rejected in wave 1' in each for each in found)
    stuck = exact_drain.plan_of(world(guest(1), guest(2), places=(FULL,)))
    found = [*exact_drain.mistakes(tight, stuck, states)]
    assert sum('is not stuck' in each for each in found) == 2


def test_the_table_has_a_row_for_each_kind():
    counts = {'capacity': Counter({'drains': 3, 'fits': 3})}
    assert [*exact_drain.lines(counts)][3].split() == ['capacity', *'330000']


def test_the_only_member_of_an_affinity_group_is_stuck():
    """Nova has its own host among those of the group (a real one: tests/accuracy/drains.py)."""
    alone = world(guest(1, group=0), groups=(('affinity', 1),), filters=DEFAULT_FILTERS)
    plan = exact_drain.plan_of(alone)
    assert [each.code for each in plan.stuck] == ['server_group.other_host']


def test_a_move_that_the_scheduler_has_not_noticed_is_not_certain():
    """Nothing tells nova-scheduler where a server went by live migration, until the next report."""
    first = guest(1)
    second = guest(2, hints={'same_host': first.id})
    plan = exact_drain.plan_of(world(first, second, filters=exact_drain.HINTS))
    assert [(each.server.id, each.wave) for each in plan.moves] == [(first.id, 1), (second.id, 2)]
    assert [each.is_certain for each in plan.moves] == [True, False]
    assert 'scheduler_instance_sync_interval' in plan.moves[1].caveats[0]


@given(SEEDS)
def test_each_batch_of_rolling_maintenance_is_a_plan_of_the_cloud_after_the_last_one(seed):
    cloud = exact_drain.random_world(seed)
    view = exact_drain.snapshot(cloud)
    question = api.Question(0, enabled_filters=cloud.filters, explicit_options=EXPLICIT)
    plan = api.drain_in_batches(
        [each.name for each in cloud.places], 2, view, targets=cloud.targets, question=question
    )
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert sorted(plan.hosts) == sorted(each.name for each in cloud.places)
    for batch in plan.batches:
        assert 1 <= len(batch.hosts) <= 2
        cloud = replace(cloud, drained=batch.hosts)
        targets = {each.server.id: each.target for each in batch.moves}
        end = tuple(targets.get(each.id, each.host) for each in cloud.leaving)
        assert not {*end} & {*batch.hosts}
        assert not [*exact_drain.mistakes(cloud, batch, {end})]
        guests = (replace(each, host=targets.get(each.id, each.host)) for each in cloud.guests)
        cloud = replace(cloud, guests=(*guests,))
