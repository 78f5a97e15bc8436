"""The capacity of each flavor, and of each part of a cloud, is that of a plan."""

import pickle

from hypothesis import assume, given
from hypothesis import strategies as st

from senlin_affinity import engine
from senlin_affinity.engine import flavor_capacity, parts
from senlin_affinity.model.bounds import Bounds
from senlin_affinity.model.request import QUOTA
from senlin_affinity.model.server_group import AFFINITY, ANTI_AFFINITY
from tests.property import test_bulk_laws, test_domain_laws
from tests.property.cloud_strategies import FLAVORS, ZONES, clouds, hidden
from tests.support.asked import resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import CONSTRAINTS
from tests.support.values import replace

#: Many of these have shared storage, or a group whose servers share one host.
COUPLED = test_domain_laws.clouds(nested=False).map(
    lambda cloud: (replace(cloud[0], count=0, spread=()), cloud[1])
)
BY = st.sampled_from([parts.ZONE, parts.AGGREGATE, parts.HOST])


@st.composite
def several(draw, strategy=None):
    """Generate a cloud with up to three flavors, and a request for no server."""
    request, snapshot = draw(clouds() | clouds(policies=None) if strategy is None else strategy)
    flavors = draw(st.lists(FLAVORS, min_size=1, max_size=3))
    named = [replace(each, id=f'f{n}', name=f'flavor-{n}') for n, each in enumerate(flavors)]
    known = replace(snapshot, flavors=tuple(named))
    return replace(request, count=0, flavor='f0'), known


def without_quotas(asked):
    settings = replace(asked.request.settings, waived=frozenset({QUOTA}))
    return asked.but(count=0, settings=settings)


def capacity_of(request, snapshot, by=None):
    asked = without_quotas(resolve(request, snapshot))
    return flavor_capacity.capacity(*asked.planned, snapshot.flavors, CONSTRAINTS, by)


def planned(request, snapshot, flavor):
    asked = without_quotas(resolve(replace(request, flavor=flavor.id), snapshot))
    return engine.plan(*asked.planned, CONSTRAINTS, remedies=False)


def assert_equal(found, decision):
    assert found.bounds.upper == decision.capacity
    assert (found.bounds.lower or 0) == decision.capacity_certain
    assert tuple(caveat.text for caveat in found.caveats) == decision.at_most
    rejections = [verdict.code for verdict in decision.request.values() if not verdict]
    assert (found.rejection.code if found.rejection else None) == next(iter(rejections), None)


def check(request, snapshot):
    for each in capacity_of(request, snapshot).flavors:
        assert_equal(each, planned(request, snapshot, each.flavor))


@given(several())
def test_the_capacity_of_a_flavor_is_that_of_a_plan(cloud):
    check(*cloud)


@given(several(), st.data())
def test_it_is_that_of_a_plan_if_parts_are_not_known(cloud, data):
    request, snapshot = cloud
    snapshot = data.draw(hidden(snapshot))
    assume(snapshot.flavors is not None)
    assume(snapshot.server_groups is not None or request.server_group is None)
    check(request, snapshot)


@given(test_domain_laws.clouds(nested=True) | test_domain_laws.clouds(nested=False))
def test_it_is_that_of_a_plan_with_spreads_and_shared_storage(cloud):
    request, snapshot = cloud
    check(replace(request, count=0), snapshot)


@given(test_bulk_laws.requests())
def test_it_is_that_of_a_plan_for_unusual_hosts_and_all_constraints(resolved):
    asked = without_quotas(resolved)
    flavor, every = asked.request.flavor, [kind() for kind in OURS]
    assume(flavor is not None)
    (found,) = flavor_capacity.capacity(*asked.planned, [flavor], every).flavors
    assert_equal(found, engine.plan(*asked.planned, every, remedies=False))


def check_parts(request, snapshot, by):
    names = {each.uuid: each.name for each in snapshot.aggregates or ()}

    def is_in(host, part):
        if by == parts.ZONE:
            return host.availability_zone == part
        if by == parts.HOST:
            return host.host == part
        found = {names[uuid] for uuid in host.aggregates if uuid in names}
        return part in (found or {parts.NO_NAME})

    for each in capacity_of(request, snapshot, by).flavors:
        if each.rejection is not None:
            continue
        for part in each.parts:
            kept = tuple(host for host in snapshot.hosts if is_in(host, part.name))
            decision = planned(request, replace(snapshot, hosts=kept), each.flavor)
            assert part.bounds.upper == decision.capacity, part
            assert (part.bounds.lower or 0) <= decision.capacity_certain


@given(several(clouds(policies=(ANTI_AFFINITY, AFFINITY)) | clouds(policies=None)), BY)
def test_a_part_has_the_capacity_of_a_cloud_of_its_hosts(cloud, by):
    check_parts(*cloud, by)


@given(COUPLED, BY)
def test_a_part_of_hosts_that_share_storage_or_a_group_has_it_too(cloud, by):
    check_parts(*cloud, by)


@given(several(clouds(policies=None)))
def test_zones_add_up_and_the_spare_is_less(cloud):
    request, snapshot = cloud
    request = replace(request, availability_zone=None)
    for each in capacity_of(request, snapshot).flavors:
        zones = [zone.bounds.expected for zone in each.zones]
        assert sum(zones) == each.bounds.expected or each.rejection
        assert each.spare.expected <= each.bounds.expected
        assert {zone.name for zone in each.zones} <= {*ZONES}
        for zone in each.zones:
            assert zone.spare.expected == max(0, zone.bounds.expected - zone.largest_host)


@given(several(), BY)
def test_a_capacity_is_a_plain_value(cloud, by):
    found = capacity_of(*cloud, by)
    assert pickle.loads(pickle.dumps(found)) == found
    numbers = [each.bounds.expected for each in found.flavors if not each.rejection]
    assert numbers == sorted(numbers)
    assert all(isinstance(each.bounds, Bounds) for each in found.flavors)


@given(several(clouds(policies=None)))
def test_the_amounts_are_those_of_the_hosts(cloud):
    """Nothing is stranded that a server could use; all is free that is not used."""
    request, snapshot = cloud
    request = replace(request, availability_zone=None)
    found = capacity_of(request, snapshot)
    for each in found.amounts:
        in_use = [host for host in snapshot.hosts if host.enabled and host.up]
        here = [host.resources for host in in_use if host.availability_zone == each.zone]
        has = [own[each.resource_class] for own in here if each.resource_class in own]
        assert each.free == sum(one.capacity - one.used for one in has)
        assert 0 <= each.stranded <= each.free <= each.capacity
