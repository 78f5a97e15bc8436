"""The capacity of a remedy equals that of a plan with the change."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity import engine
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.engine.unspecified import with_unspecified
from senlin_affinity.model.cloud import Aggregate, Flavor
from senlin_affinity.model.spread import Spread
from tests.property import one_by_one
from tests.property.cloud_strategies import MOSTLY, clouds, hidden
from tests.support.asked import Given, resolve
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of
from tests.support.tables import rows
from tests.support.values import replace

RACKS = tuple(
    Aggregate(f'r{number}', f'rack-{number}', None, {'rack': f'{number}'}) for number in (1, 2)
)
#: Metadata that only optional filters or options read.
READ = (
    {},
    {'trait:CUSTOM_B': 'required'},
    {'filter_tenant_id': 'ours'},
    {'filter_tenant_id': 'theirs'},
)
MEMBER_OF = st.sampled_from(
    [(), (), ('one',), ('rack-1',), ('in:one,rack-2', '!rack-1'), ('!two',)]
)
SPREADS = st.sampled_from(
    [(), (), (Spread('rack'),), (Spread('availability_zone', 2),), (Spread('rack', 1, 3),)]
)
MORE_FLAVORS = (Flavor('less', 'less', 1, 256, 1), Flavor('more', 'more', 4, 4096, 9))


@st.composite
def questions(draw):
    """Generate requests with every part that a remedy may change, in partly unknown clouds."""
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
    return resolve(request, snapshot, Given.of(is_drs_required=not draw(MOSTLY)))


@st.composite
def questions_for_optional_filters(draw):
    """Generate requests whose flavor or aggregates are read by optional filters."""
    request, snapshot = draw(clouds(policies=None, with_quotas=st.just(False)))
    host_racks = st.sampled_from((frozenset(), frozenset({'r1'}), frozenset({'r2'})))
    hosts = tuple(
        each.but(aggregates=each.aggregates | draw(host_racks)) for each in snapshot.hosts
    )
    metadata = draw(st.sampled_from(READ))
    racks = (replace(RACKS[0], metadata={**RACKS[0].metadata, **metadata}), RACKS[1])
    (flavor,) = snapshot.flavors
    if draw(st.booleans()):
        specs = {**flavor.extra_specs, 'aggregate_instance_extra_specs:rack': '1'}
        flavor = replace(flavor, extra_specs=specs)
    request = replace(request, project_id='ours', image_properties={})
    aggregates = (*snapshot.aggregates, *racks)
    snapshot = replace(snapshot, hosts=hosts, aggregates=aggregates, flavors=(flavor,))
    return resolve(request, snapshot)


def check(resolved):
    """Apply each remedy from its JSON data, and compare the capacities."""
    for remedy in engine.plan(*resolved.planned, CONSTRAINTS).remedies:
        plain = json.loads(json.dumps(remedy.data))
        again = evaluate(*resolved.changed(plain).planned, CONSTRAINTS)
        assert (again.capacity, bool(with_unspecified(again).total.caveats)) == (
            remedy.capacity,
            remedy.capacity_is_upper_bound,
        ), remedy


@given(questions())
def test_the_capacity_of_a_remedy_equals_a_plan_with_it(resolved):
    check(resolved)


@given(questions_for_optional_filters())
def test_remedies_with_optional_filters_state_their_capacity(resolved):
    check(resolved)


@pytest.mark.parametrize('row', rows('remedies'))
def test_remedies_of_every_row_state_their_capacity(row):
    check(resolve(request_of(row), snapshot_of(row), rules_of(row)))


@given(clouds() | clouds(policies=None))
def test_the_capacity_of_a_remedy_equals_a_count_one_by_one(cloud):
    """The count shares no code with the planner."""
    resolved = resolve(*cloud)
    for remedy in engine.plan(*resolved.planned, CONSTRAINTS).remedies:
        if 'given_up' in remedy.data:
            continue
        request, cloud = resolved.changed(remedy.data)
        groups = () if request.server_group is None else (request.server_group,)
        cloud = replace(cloud, server_groups=groups, flavors=(request.flavor,))
        assert remedy.capacity == one_by_one.count(request, cloud)
