"""Laws of the planner: it counts what one would count by trying, and no order matters."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

from hypothesis import assume, given
from hypothesis import strategies as st

from senlin_affinity.model.server_group import ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from senlin_affinity.planner import planner
from tests.property import one_by_one
from tests.property.cloud_strategies import clouds, hidden
from tests.support.small_cloud import CONSTRAINTS

#: What would help has a law of its own, and takes most of a refusal's time.
plan = partial(planner.plan, remedies=False)


@given(clouds() | clouds(policies=None))
def test_the_capacity_is_what_trying_one_by_one_gives(cloud):
    """RX-01."""
    request, snapshot = cloud
    decision = plan(request, snapshot, CONSTRAINTS)
    assert decision.capacity == one_by_one.count(request, snapshot)
    assert decision.fits is (request.count <= decision.capacity)
    assert len(decision.placements) == min(request.count, decision.capacity)


@given(clouds() | clouds(policies=None), st.randoms(use_true_random=False))
def test_no_order_matters(cloud, dice):
    """Neither that of the constraints, nor of hosts, aggregates and members."""
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
def test_a_plan_begins_like_the_plan_for_one_less(cloud):
    request, snapshot = cloud
    less, more = (
        plan(replace(request, count=request.count + extra), snapshot, CONSTRAINTS).placements
        for extra in (0, 1)
    )
    assert more[: len(less)] == less
    assert len(more) - len(less) in (0, 1)


@given(clouds(policies=(ANTI_AFFINITY,)))
def test_placements_keep_to_the_rule(cloud):
    """R2-12, RX-01: with the members that are there."""
    request, snapshot = cloud
    (group,) = snapshot.server_groups
    placed = Counter(each.host for each in plan(request, snapshot, CONSTRAINTS).placements)
    there = Counter(member.host for member in group.members)
    for host, number in placed.items():
        assert there[host] + number <= group.max_server_per_host


@given(clouds())
def test_the_room_is_used_up_by_the_placements(cloud):
    """The report of a host is how it stands after them: one more plan on it would say the same."""
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
def test_soft_policies_never_refuse(cloud):
    """RX-01: the capacity is that without a group."""
    request, snapshot = cloud
    soft, none = (
        plan(replace(request, server_group=group), snapshot, CONSTRAINTS) for group in ('g', None)
    )
    assert (soft.capacity, soft.fits) == (none.capacity, none.fits)
    assert not any('server_group' in (report.code or '') for report in soft.hosts)


@given(st.data())
def test_what_is_hidden_never_turns_yes_into_no(data):
    """Sound above all: what the snapshot does not hold is no reason to refuse."""
    request, snapshot = data.draw(clouds())
    known = plan(request, snapshot, CONSTRAINTS)
    less = plan(request, data.draw(hidden(snapshot)), CONSTRAINTS)
    if known.fits:
        assert less.fits is not False
    assert less.capacity is None or less.capacity >= known.capacity


@given(st.data())
def test_nor_no_into_an_unmarked_yes(data):
    """Only quotas that are not known refuse nothing, and say so."""
    request, snapshot = data.draw(clouds())
    partly = replace(data.draw(hidden(snapshot)), quotas=snapshot.quotas)
    known, less = (plan(request, each, CONSTRAINTS) for each in (snapshot, partly))
    assume(partly.flavors is not None)
    if known.fits is False and less.fits:
        assert less.capacity_is_upper_bound


@given(clouds())
def test_remedies_help(cloud):
    """All single changes are enough, or none is; and each is better than nothing."""
    request, snapshot = cloud
    decision = planner.plan(request, snapshot, CONSTRAINTS)
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
def test_asking_for_nothing_always_fits(cloud):
    """RX-03."""
    request, snapshot = cloud
    assert plan(replace(request, count=0), snapshot, CONSTRAINTS).fits is True
