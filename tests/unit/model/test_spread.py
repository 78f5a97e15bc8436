"""The property spread, and the members that count in it."""

import pytest

from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.spread import Spread, hint, read_all
from tests.support.asked import NamedRequest, plan
from tests.support.small_cloud import CONSTRAINTS
from tests.support.tables import check_error, raises, rows


@pytest.mark.parametrize('row', rows('spread_spec'))
def test_read_all(row):
    if raises(row):
        with pytest.raises(InvalidSpec) as caught:
            read_all(row['written'], 'spread')
        check_error(row, caught.value)
        return
    assert read_all(row['written'], 'spread') == tuple(Spread(*each) for each in row['spreads'])


@pytest.mark.parametrize(
    ('named', 'near'),
    [
        (['availabilty_zone'], 'availabilty_zone'),
        (['availability-zone'], 'availability-zone'),
        (['AvailabilityZone'], 'AvailabilityZone'),
        (['avail_zone', 'rack'], 'avail_zone'),
        (['zone'], 'zone'),
        (['AZ', 'zones'], 'AZ and by zones'),
        (['availability_zone', 'zone'], None),
        (['rack'], None),
        (['power_zone'], None),
        ([], None),
    ],
)
def test_a_criterion_that_is_probably_the_zone(named, near):
    words = f'a spread by {near}: did you mean availability_zone?'
    assert hint(map(Spread, named)) == (words if near else None)


def cloud(*hosts):
    racks = tuple(Aggregate(name, name, None, {'rack': name}) for name in ('r1', 'r2'))
    group = ServerGroup('g', 'g', 'soft-anti-affinity', {}, tuple(hosts))
    each = {'VCPU': Resource(4, 0)}
    both = (
        Host('a', 'a', 'QEMU', 'az', True, True, frozenset({'r1'}), resources=each),
        Host('b', 'b', 'QEMU', 'az', True, True, frozenset({'r2'}), resources=each),
    )
    return Cloud(both, racks, (Flavor('f', 'f', 1, 0, 0),), (group,))


def test_a_server_in_an_unknown_rack_leads_to_at_most():
    request = NamedRequest(4, 'f', 'g', spread=(Spread('rack', 1, 2),))
    assert not plan(request, cloud(), CONSTRAINTS).at_most
    found = plan(request, cloud(Member('one'), Member('two')), CONSTRAINTS)
    assert found.capacity == 4
    assert found.at_most


@pytest.mark.parametrize(
    ('skew', 'most', 'lost', 'capacity', 'firm'),
    [
        pytest.param(1, None, 1, 8, 8, id='wherever it is'),
        pytest.param(2, 3, 1, 6, 4, id='it takes one of what a rack may hold'),
        pytest.param(1, None, 3, 8, 4, id='ahead of the other rack'),
        pytest.param(1, None, 9, 8, 0, id='too far ahead'),
    ],
)
def test_the_guaranteed_number_for_all_locations_of_members(skew, most, lost, capacity, firm):
    members = (Member(str(number)) for number in range(lost))
    request = NamedRequest(1, 'f', 'g', spread=(Spread('rack', skew, most),))
    decision = plan(request, cloud(*members), CONSTRAINTS)
    assert (decision.capacity, decision.capacity_certain) == (capacity, firm)
    assert bool(decision.at_most) is (firm < capacity)


def test_a_key_that_no_aggregate_has_is_rejected():
    request = NamedRequest(4, 'f', spread=(Spread('Rack'),))
    with pytest.raises(InvalidSpec, match=r"spread\[0\].by: .*'Rack': did you mean rack"):
        plan(request, cloud(), CONSTRAINTS)
