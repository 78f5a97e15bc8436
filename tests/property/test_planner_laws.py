"""The planner's capacity equals a count one by one, in any order of its input."""

import re
from collections import Counter
from functools import partial

from hypothesis import assume, given
from hypothesis import strategies as st

from senlin_affinity.model.server_group import ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from tests.property import one_by_one
from tests.property.cloud_strategies import clouds, hidden
from tests.support import asked
from tests.support.small_cloud import CONSTRAINTS
from tests.support.values import replace

#: Remedies have tests of their own, and take most of the time of a rejection.
plan = partial(asked.plan, remedies=False)


@given(clouds() | clouds(policies=None))
def test_the_capacity_equals_a_count_one_by_one(cloud):
    """RX-01."""
    request, snapshot = cloud
    decision = plan(request, snapshot, CONSTRAINTS)
    assert decision.capacity == one_by_one.count(request, snapshot)
    assert decision.fits is (request.count <= decision.capacity)
    assert len(decision.placements) == min(request.count, decision.capacity)


@given(clouds() | clouds(policies=None), st.randoms(use_true_random=False))
def test_the_order_of_the_input_is_irrelevant(cloud, dice):
    """This covers constraints, hosts, aggregates and members."""
    request, snapshot = cloud

    def shuffled(things):
        return tuple(dice.sample(things, len(things)))

    other = replace(
        snapshot,
        hosts=shuffled(snapshot.hosts),
        aggregates=shuffled(snapshot.aggregates),
        server_groups=tuple(
            replace(group, members=shuffled(group.members)) for group in snapshot.server_groups
        ),
    )
    one = plan(request, snapshot, CONSTRAINTS)
    two = plan(request, other, shuffled(CONSTRAINTS))
    assert (one.fits, one.capacity, one.at_most) == (two.fits, two.capacity, two.at_most)
    assert one.placements == two.placements
    rooms = [{report.host: report.room for report in each.hosts} for each in (one, two)]
    assert rooms[0] == rooms[1]


@given(clouds(policies=(ANTI_AFFINITY,)), st.integers(1, 5))
def test_a_higher_max_never_lowers_the_capacity(cloud, more):
    request, snapshot = cloud
    (group,) = snapshot.server_groups
    higher = {'max_server_per_host': group.max_server_per_host + more}
    other = replace(snapshot, server_groups=(replace(group, rules=higher),))
    low, high = (plan(request, each, CONSTRAINTS).capacity for each in (snapshot, other))
    assert low <= high


@given(clouds())
def test_a_plan_extends_the_plan_for_one_server_less(cloud):
    request, snapshot = cloud
    less, more = (
        plan(replace(request, count=request.count + extra), snapshot, CONSTRAINTS).placements
        for extra in (0, 1)
    )
    assert more[: len(less)] == less
    assert len(more) - len(less) in (0, 1)


@given(clouds(policies=(ANTI_AFFINITY,)))
def test_placements_respect_max_server_per_host(cloud):
    """R2-12, RX-01: including the existing members."""
    request, snapshot = cloud
    (group,) = snapshot.server_groups
    placed = Counter(each.host for each in plan(request, snapshot, CONSTRAINTS).placements)
    members_by_host = Counter(member.host for member in group.members)
    for host, number in placed.items():
        assert members_by_host[host] + number <= group.max_server_per_host


@given(clouds())
def test_placements_reduce_the_free_capacity(cloud):
    """The report of a host describes its state after the placements."""
    request, snapshot = cloud
    before = {
        report.host: report
        for report in plan(replace(request, count=0), snapshot, CONSTRAINTS).hosts
    }
    decision = plan(request, snapshot, CONSTRAINTS)
    placed = Counter(placement.host for placement in decision.placements)
    for report in decision.hosts:
        assert report.placed == placed[report.host]
        assert report.room <= before[report.host].room - report.placed
        assert (report.room == 0) is (report.code is not None)


@given(clouds() | clouds(policies=None))
def test_counts_add_up_to_all_hosts(cloud):
    request, snapshot = cloud
    decision = plan(request, snapshot, CONSTRAINTS)
    left = sum(report.code is None for report in decision.hosts)
    _head, hosts, *_request = decision.line().split('; ')
    assert hosts.startswith(f'{left}/{len(snapshot.hosts)} hosts left')
    counted = sum(int(number) for number in re.findall(r' on (\d+)', hosts))
    assert counted + left == len(snapshot.hosts)


@given(clouds(policies=(SOFT_AFFINITY, SOFT_ANTI_AFFINITY), with_quotas=st.just(False)))
def test_soft_policies_never_reject(cloud):
    """RX-01: the capacity is that without a group."""
    request, snapshot = cloud
    soft, none = (
        plan(replace(request, server_group=group), snapshot, CONSTRAINTS) for group in ('g', None)
    )
    assert (soft.capacity, soft.fits) == (none.capacity, none.fits)
    assert not any('server_group' in (report.code or '') for report in soft.hosts)


@given(st.data())
def test_unknown_parts_never_turn_acceptance_into_rejection(data):
    """An unknown part of the snapshot rejects nothing."""
    request, snapshot = data.draw(clouds())
    known = plan(request, snapshot, CONSTRAINTS)
    less = plan(request, data.draw(hidden(snapshot)), CONSTRAINTS)
    if known.fits:
        assert less.fits is not False
    assert less.capacity is None or less.capacity >= known.capacity


@given(st.data())
def test_unknown_parts_turn_rejection_only_into_an_upper_bound(data):
    """Unknown quotas are excluded: they reject nothing, and are reported."""
    request, snapshot = data.draw(clouds())
    partly = replace(data.draw(hidden(snapshot)), quotas=snapshot.quotas)
    known, less = (plan(request, each, CONSTRAINTS) for each in (snapshot, partly))
    assume(partly.flavors is not None)
    if known.fits is False and less.fits:
        assert less.capacity_is_upper_bound


@given(clouds())
def test_remedies_raise_the_capacity(cloud):
    """Either all single changes are enough, or none; and each raises the capacity."""
    request, snapshot = cloud
    decision = plan(request, snapshot, CONSTRAINTS)
    capacities = {'two_changes': []}
    for remedy in decision.remedies:
        capacities.setdefault(remedy.code, []).append(remedy.capacity)
    pairs = capacities.pop('two_changes')
    enough = [each >= request.count for of_code in capacities.values() for each in of_code]
    assert all(enough) or not any(enough)
    assert all(each > decision.capacity for of_code in capacities.values() for each in of_code)
    assert all(each >= request.count for each in pairs)
    assert not pairs or not any(enough)
    assert not decision.fits or not decision.remedies


@given(clouds())
def test_zero_servers_always_fit(cloud):
    """RX-03."""
    request, snapshot = cloud
    assert plan(replace(request, count=0), snapshot, CONSTRAINTS).fits is True
