"""Laws of what would help: the capacity that a remedy states is what planning with it gives."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.core.objects import Aggregate, Flavor, Rules
from senlin_affinity.core.planner import decide
from senlin_affinity.core.planning.actions import apply
from senlin_affinity.core.planning.evaluation import evaluate
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.core.spread import Spread
from tests.property import one_by_one
from tests.property.cloud_strategies import MOSTLY, clouds, hidden
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of
from tests.support.tables import rows

RACKS = tuple(
    Aggregate(f'r{number}', f'rack-{number}', None, {'rack': f'{number}'}) for number in (1, 2)
)
MEMBER_OF = st.sampled_from(
    [(), (), ('one',), ('rack-1',), ('in:one,rack-2', '!rack-1'), ('!two',)]
)
SPREADS = st.sampled_from(
    [(), (), (Spread('rack'),), (Spread('availability_zone', 2),), (Spread('rack', 1, 3),)]
)
MORE_FLAVORS = (Flavor('less', 'less', 1, 256, 0), Flavor('more', 'more', 4, 4096, 9))


@st.composite
def questions(draw):
    """Whatever a remedy can be about, and a cloud of which some may be hidden."""
    request, snapshot = draw(clouds() | clouds(policies=None))
    racks = (frozenset(), frozenset({'r1'}), frozenset({'r2'}))
    hosts = (
        replace(each, aggregates=each.aggregates | draw(st.sampled_from(racks)))
        for each in snapshot.hosts
    )
    snapshot = replace(
        snapshot,
        hosts=tuple(hosts),
        aggregates=(*snapshot.aggregates, *RACKS),
        flavors=(*snapshot.flavors, *MORE_FLAVORS),
    )
    if not draw(MOSTLY):
        snapshot = draw(hidden(snapshot))
    image = draw(st.sampled_from([None, {}, {'trait:CUSTOM_B': 'required'}]))
    request = replace(
        request, member_of=draw(MEMBER_OF), spread=draw(SPREADS), image_properties=image
    )
    return resolve(request, snapshot, Rules.of(is_drs_required=not draw(MOSTLY)))


def check(resolved):
    """Each remedy, carried out by what is left of its data in JSON."""
    for remedy in decide(resolved, CONSTRAINTS).remedies:
        plain = json.loads(json.dumps(remedy.data))
        again = evaluate(apply(replace(remedy, data=plain), resolved), CONSTRAINTS)
        assert (again.capacity, bool(again.room.at_most)) == (
            remedy.capacity,
            remedy.capacity_is_upper_bound,
        ), remedy


@given(questions())
def test_the_capacity_of_a_remedy_is_what_planning_with_it_gives(resolved):
    check(resolved)


@pytest.mark.parametrize('row', rows('remedies'))
def test_that_of_every_row_as_well(row):
    check(resolve(request_of(row), snapshot_of(row), rules_of(row)))


@given(clouds() | clouds(policies=None))
def test_and_what_trying_one_by_one_gives(cloud):
    """By a judge that shares no code with the planner."""
    resolved = resolve(*cloud)
    for remedy in decide(resolved, CONSTRAINTS).remedies:
        if 'given_up' in remedy.data:
            continue
        then = apply(remedy, resolved)
        groups = () if then.server_group is None else (then.server_group,)
        snapshot = replace(then.snapshot, server_groups=groups, flavors=(then.flavor,))
        assert remedy.capacity == one_by_one.count(then.request, snapshot)
