"""Aggregates that Nova has and Placement has not: what is asked, and what is made of the answer."""

import pytest

from senlin_affinity import api
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host
from senlin_affinity.model.snapshot import Aggregate, CloudSnapshot
from senlin_affinity.model.spread import Spread
from senlin_affinity.nova import aggregate_sync
from senlin_affinity.nova.effective_zone import DEFAULT_SCHEDULE_ZONE
from senlin_affinity.nova.options import ISOLATION, TENANTS
from senlin_affinity.nova.reservations import ENFORCED_BY, REQUIRED_PREFIX
from tests.support.edge import Edge, Failure
from tests.support.fake_nova import FakeHost

ZONE, PROJECT = {'availability_zone': 'az-1'}, 'admin-project'


@pytest.fixture
def edge():
    hosts = tuple(FakeHost(f'cmp-{number}') for number in range(3))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        edge.nova.add_flavor('f')
        yield edge


def unmirrored(edge, **asked):
    """What a question sees, by the host, and what it asked for."""
    question = api.Question(1, **{'flavor': 'f', **asked})
    hosts = api.fetch(edge.connection(), question).snapshot.hosts
    queries = [each for each in edge.placement.asked if '/resource_providers?member_of' in each]
    return {host.host: host.unmirrored for host in hosts if host.unmirrored}, queries


def test_a_host_that_placement_does_not_have_in_the_zone(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.nova.add_aggregate('plain', ['cmp-0'])
    edge.placement.lost.add('cmp-0')
    found, (query,) = unmirrored(edge, availability_zone='az-1')
    assert found == {'cmp-0': {zone}}
    assert query == f'GET /resource_providers?member_of=in:{zone}'


def test_a_host_that_only_placement_has_in_the_zone(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    edge.placement.stale['cmp-1'] = {zone}
    question = api.Question(1, flavor='m1.tiny', availability_zone='az-1')
    view = api.fetch(edge.connection(), question)
    assert [host.stale_aggregates for host in view.snapshot.hosts] == [set(), {zone}, set()]
    decision = api.answer(question, view)
    assert [host.code for host in decision.hosts] == [None, None, 'availability_zone.other_zone']


def test_two_sets_of_aggregates_that_share_one(edge):
    """Each is a request of its own, so that both answers count."""
    both = edge.nova.add_aggregate('both', ['cmp-0'], filter_tenant_id=PROJECT, **ZONE)
    zone = edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    edge.placement.stale['cmp-1'] = {zone}
    asked = {'project_id': PROJECT, 'options': {TENANTS.key: True}}
    question = api.Question(1, 'f', availability_zone='az-1', **asked)
    hosts = api.fetch(edge.connection(), question).snapshot.hosts
    assert [host.stale_aggregates for host in hosts] == [set(), {zone}, set()]
    assert both in hosts[0].aggregates


@pytest.mark.parametrize('mode', ['hard', 'soft'])
def test_each_zone_of_a_spread(edge, mode):
    """One request for each zone."""
    one = edge.nova.add_aggregate('one', ['cmp-0', 'cmp-1'], **ZONE)
    two = edge.nova.add_aggregate('two', ['cmp-2'], availability_zone='az-2')
    edge.placement.lost.add('cmp-0')
    edge.placement.stale['cmp-1'] = {two}
    question = api.Question(1, 'f', spread=(Spread('availability_zone', mode=mode),))
    hosts = api.fetch(edge.connection(), question).snapshot.hosts
    assert [host.unmirrored for host in hosts] == [{one}, set(), set()]
    assert [host.stale_aggregates for host in hosts] == [set(), {two}, set()]
    queries = [each for each in edge.placement.asked if '/resource_providers?member_of' in each]
    assert queries == [f'GET /resource_providers?member_of=in:{each}' for each in (one, two)]


def test_isolated_aggregates(edge):
    closed = edge.nova.add_aggregate('closed', ['cmp-0'], **{'trait:CUSTOM_A': 'required'})
    edge.placement.lost.add('cmp-0')
    edge.placement.stale['cmp-1'] = {closed}
    asked = {'options': {ISOLATION.key: True}, 'image_properties': {}}
    assert unmirrored(edge, **asked)[0] == {'cmp-0': {closed}}
    question = api.Question(1, 'f', **asked)
    hosts = api.fetch(edge.connection(), question).snapshot.hosts
    assert [host.stale_aggregates for host in hosts] == [set(), {closed}, set()]


@pytest.mark.parametrize(
    'asked',
    [
        {'options': {DEFAULT_SCHEDULE_ZONE.key: 'az-1'}},
        {'profile': {'properties': ZONE}},
        {'policy': {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': ZONE}},
    ],
    ids=['nova.conf', 'profile', 'policy'],
)
def test_whoever_names_the_zone(edge, asked):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.placement.lost.add('cmp-1')
    assert unmirrored(edge, **asked)[0] == {'cmp-1': {zone}}


def test_a_tenant_s_aggregate(edge):
    own = edge.nova.add_aggregate('own', ['cmp-2'], filter_tenant_id=PROJECT)
    edge.placement.lost.add('cmp-2')
    assert unmirrored(edge, project_id=PROJECT) == ({}, [])
    options = {TENANTS.key: True}
    assert unmirrored(edge, project_id=PROJECT, options=options)[0] == {'cmp-2': {own}}


@pytest.mark.parametrize('key', ['kept:a', 'kept:nowhere'])
def test_an_aggregate_of_a_reservation_that_nova_asks_for(edge, key):
    edge.nova.add_flavor('reserved', extra_specs={key: 'x'})
    kept = edge.nova.add_aggregate('kept', ['cmp-2'], **{'kept:a': ''})
    edge.placement.lost.add('cmp-2')
    options = {REQUIRED_PREFIX.key: 'kept:'}
    assert unmirrored(edge, flavor='reserved', options=options) == ({}, [])
    options[ENFORCED_BY.key] = 'nova'
    found = {'cmp-2': {kept}} if key == 'kept:a' else {}
    assert unmirrored(edge, flavor='reserved', options=options)[0] == found


def test_the_answer_to_the_flavor_comes_beside_it(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.placement.lost.add('cmp-0')
    view = api.fetch(edge.connection(), api.Question(1, flavor='m1.tiny', availability_zone='az-1'))
    assert view.snapshot.hosts[0].unmirrored == {zone}
    assert len(view.snapshot.answered) == 1
    granted = {host.host for host in view.snapshot.hosts if host.grants}
    assert granted == {'cmp-1'}


def test_nobody_asks_without_aggregates(edge):
    edge.nova.add_aggregate('zone', [], **ZONE)
    assert unmirrored(edge) == ({}, [])
    assert unmirrored(edge, availability_zone='az-1') == ({}, [])


def test_too_many_for_one_request(edge):
    for number in range(101):
        edge.nova.add_aggregate(f'zone {number}', ['cmp-0'], **ZONE)
    edge.placement.lost.add('cmp-0')
    found, queries = unmirrored(edge, availability_zone='az-1')
    assert (len(found['cmp-0']), len(queries)) == (101, 2)


@pytest.mark.parametrize(('status', 'is_known'), [(403, True), (500, False)])
def test_placement_does_not_answer(edge, status, is_known):
    edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    failure = Failure('no', 'no', status, {'errors': [{'detail': 'no'}]})
    edge.fail('GET', '/resource_providers', failure, skip=1)
    question = api.Question(1, flavor='f', **ZONE)
    if is_known:
        assert api.fetch(edge.connection(), question).snapshot.hosts[0].unmirrored == frozenset()
    else:
        with pytest.raises(CloudError):
            api.fetch(edge.connection(), question)


def test_what_was_found_before_is_kept():
    """Also of a snapshot without hosts, and of hosts in none of the aggregates."""
    host = Host('a', 'a', aggregates={'one', 'two'}, unmirrored=frozenset({'two'}))
    snapshot = CloudSnapshot((host,), (Aggregate('one', 'one'),))
    (found,) = aggregate_sync.marked(snapshot, {frozenset({'one'}): ()}).hosts
    assert found.unmirrored == {'one', 'two'}
    assert aggregate_sync.marked(snapshot, {frozenset({'three'}): ()}).hosts == (host,)
    assert aggregate_sync.marked(CloudSnapshot(), {frozenset({'one'}): ()}).hosts is None
