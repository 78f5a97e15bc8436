"""Verdicts about lost hosts hold what they promise, compared with an exact search."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.engine.drain_plan import DrainPlan, Unblocking
from senlin_affinity.engine.resilience import Loss
from tests.property import exact_drain, exact_loss
from tests.property.exact_drain import Guest, Place, World

SEEDS = st.integers(0, 2**32)
LOST, OTHER = (Place(name, 'az-1', (8, 8_192, 40)) for name in ('h0', 'h1'))


def world(*guests, places=(LOST, OTHER), groups=(), pool=0, filters=()):
    return World('capacity', places, guests, groups, pool, filters, ('h0',), None)


def guest(number, host='h0', amounts=(4, 1_024, 0), **fields):
    return Guest(f'{number:08x}-1da2-4437-a48a-000000000000', host, amounts, **fields)


def wrong(cloud, loss):
    return [*exact_loss.mistakes(cloud, loss, exact_drain.reachable(cloud, is_loss=True))]


@given(SEEDS)
def test_no_verdict_is_wrong(seed):
    assert not [each for _kind, _outcome, found in exact_loss.compare(seed) for each in found]


def test_nothing_of_a_lost_host_is_freed():
    """The pool has room for one more copy of both disks, as the lost host keeps its share."""
    places = tuple(Place(name, 'az-1', (8, 8_192, 0), is_pooled=True) for name in ('h0', 'h1'))
    two = world(
        guest(1, amounts=(1, 512, 10)), guest(2, amounts=(1, 512, 10)), places=places, pool=35
    )
    assert not exact_drain.all_move(two, exact_drain.reachable(two, is_loss=True))
    assert exact_drain.all_move(two, exact_drain.reachable(two))
    losses = {loss.name: loss for _world, loss in exact_loss.losses_of(two)}
    assert losses['h0'].verdict == 'cannot'


def test_the_scheduler_notices_evacuations():
    """The target reports the server, which a live migration leaves to the next periodic report."""
    first = guest(1)
    both = world(first, guest(2, hints={'same_host': first.id}), filters=exact_drain.HINTS)
    losses = {loss.name: loss for _world, loss in exact_loss.losses_of(both)}
    assert losses['h0'].verdict == 'in_order'


def test_wrong_verdicts_are_mistakes():
    full = world(guest(1), guest(2), guest(3, 'h1'))
    assert 'it does not fit (any_host)' in wrong(full, Loss('h0', DrainPlan(('h0',)), 2, 2))[0]
    roomy = world(guest(1))
    proven = DrainPlan(('h0',), not_found=(), is_proven=True)
    assert any('it fits' in each for each in wrong(roomy, Loss('h0', proven, 1, 1)))
    missing = (Unblocking('more_hosts', '0 more hosts', {'like': 'h0', 'number': 0}),)
    few = Loss('h0', DrainPlan(('h0',), is_proven=True), 2, 2, missing=missing)
    assert '0 more hosts is not enough' in wrong(full, few)


def test_a_server_without_a_host_in_some_state_is_a_mistake():
    """A small server may take the only host for the large one."""
    both = world(
        guest(1, amounts=(8, 512, 0)),
        guest(2, amounts=(1, 512, 0)),
        places=(LOST, OTHER, Place('h2', 'az-1', (4, 8_192, 40))),
    )
    assert any('has no host' in each for each in wrong(both, Loss('h0', DrainPlan(('h0',)), 2, 2)))
    losses = {loss.name: loss for _world, loss in exact_loss.losses_of(both)}
    assert [each.target for each in losses['h0'].plan.moves][:1] == ['h1']


def test_the_table_has_a_row_for_each_kind():
    counts = {'capacity': Counter({'losses': 3, 'any host': 3})}
    assert [*exact_drain.lines(counts, exact_loss.COLUMNS)][3].split() == ['capacity', *'3300000']
