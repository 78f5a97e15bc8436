"""Aggregates in Nova are compared with those in Placement."""

from types import SimpleNamespace

import pytest

from senlin_affinity import api
from senlin_affinity.cloud import placement_aggregates
from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host
from senlin_affinity.model.spread import Spread
from senlin_affinity.nova import queried_aggregates
from senlin_affinity.nova.effective_zone import DEFAULT_SCHEDULE_ZONE
from senlin_affinity.nova.options import ISOLATION, TENANTS
from senlin_affinity.nova.reservations import ENFORCED_BY, REQUIRED_PREFIX
from tests.support.edge import Edge, Failure
from tests.support.fake_nova import FakeHost
from tests.support.fake_placement import FakePlacement
from tests.support.values import replace

ZONE, PROJECT = {'availability_zone': 'az-1'}, 'admin-project'


@pytest.fixture
def edge():
    hosts = tuple(FakeHost(f'cmp-{number}') for number in range(3))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        edge.nova.add_flavor('f')
        yield edge


def unmirrored(edge, **question_options):
    """Return the aggregates that Placement lacks, by host, and the queries."""
    question = api.Question(1, **{'flavor': 'f', **question_options})
    hosts = api.fetch(edge.connection(), question).hosts
    queries = [each for each in edge.placement.asked if '/resource_providers?member_of' in each]
    return {host.host: host.unmirrored for host in hosts if host.unmirrored}, queries


def test_a_host_missing_from_its_zone_in_placement_is_marked(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.nova.add_aggregate('plain', ['cmp-0'])
    edge.placement.lost.add('cmp-0')
    missing, (query,) = unmirrored(edge, availability_zone='az-1')
    assert missing == {'cmp-0': {zone}}
    assert query == f'GET /resource_providers?member_of=in:{zone}'


def test_a_host_in_the_zone_only_in_placement_is_marked(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    edge.placement.stale['cmp-1'] = {zone}
    question = api.Question(1, flavor='m1.tiny', availability_zone='az-1')
    view = api.fetch(edge.connection(), question)
    assert [host.stale_aggregates for host in view.hosts] == [set(), {zone}, set()]
    decision = api.answer(question, view)
    assert [host.code for host in decision.hosts] == [None, None, 'availability_zone.other_zone']


def test_a_provider_belongs_to_the_hypervisor_with_its_id(edge):
    """Two providers have each other's names, and a third has one that no host has."""
    one = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-2'], **ZONE)
    names = 'cmp-1', 'cmp-0', 'old'
    edge.placement.providers = [
        replace(provider, name=name)
        for provider, name in zip(edge.placement.providers, names, strict=True)
    ]
    edge.placement.lost.add('cmp-2')
    assert unmirrored(edge, availability_zone='az-1')[0] == {'cmp-2': {one}}


def test_each_node_of_a_service_host_is_compared(edge):
    """Nova copies an aggregate to the provider of one node of a service host."""
    zone = edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    edge.nova.hosts = (FakeHost('cmp-0', 'node-1'), FakeHost('cmp-0', 'node-2'))
    edge.placement.providers = FakePlacement.of(edge.nova).providers
    edge.placement.lost.add('node-2')
    question = api.Question(1, flavor='f', availability_zone='az-1')
    hosts = api.fetch(edge.connection(), question).hosts
    assert [host.unmirrored for host in hosts] == [set(), {zone}]


def test_sets_that_share_an_aggregate_are_compared_separately(edge):
    """Each set is one request, so both responses count."""
    both = edge.nova.add_aggregate('both', ['cmp-0'], filter_tenant_id=PROJECT, **ZONE)
    zone = edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    edge.placement.stale['cmp-1'] = {zone}
    question_options = {'project_id': PROJECT, 'options': {TENANTS.key: True}}
    question = api.Question(1, 'f', availability_zone='az-1', **question_options)
    hosts = api.fetch(edge.connection(), question).hosts
    assert [host.stale_aggregates for host in hosts] == [set(), {zone}, set()]
    assert both in hosts[0].aggregates


@pytest.mark.parametrize('mode', ['hard', 'soft'])
def test_each_zone_of_a_spread_is_one_request(edge, mode):
    one = edge.nova.add_aggregate('one', ['cmp-0', 'cmp-1'], **ZONE)
    two = edge.nova.add_aggregate('two', ['cmp-2'], availability_zone='az-2')
    edge.placement.lost.add('cmp-0')
    edge.placement.stale['cmp-1'] = {two}
    question = api.Question(1, 'f', spread=(Spread('availability_zone', mode=mode),))
    hosts = api.fetch(edge.connection(), question).hosts
    assert [host.unmirrored for host in hosts] == [{one}, set(), set()]
    assert [host.stale_aggregates for host in hosts] == [set(), {two}, set()]
    queries = [each for each in edge.placement.asked if '/resource_providers?member_of' in each]
    assert queries == [f'GET /resource_providers?member_of=in:{each}' for each in (one, two)]


def test_isolated_aggregates_are_compared(edge):
    closed = edge.nova.add_aggregate('closed', ['cmp-0'], **{'trait:CUSTOM_A': 'required'})
    edge.placement.lost.add('cmp-0')
    edge.placement.stale['cmp-1'] = {closed}
    question_options = {'options': {ISOLATION.key: True}, 'image_properties': {}}
    assert unmirrored(edge, **question_options)[0] == {'cmp-0': {closed}}
    question = api.Question(1, 'f', **question_options)
    hosts = api.fetch(edge.connection(), question).hosts
    assert [host.stale_aggregates for host in hosts] == [set(), {closed}, set()]


@pytest.mark.parametrize(
    'question_options',
    [
        {'options': {DEFAULT_SCHEDULE_ZONE.key: 'az-1'}},
        {'profile': {'properties': ZONE}},
        {'policy': {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': ZONE}},
    ],
    ids=['nova.conf', 'profile', 'policy'],
)
def test_the_zone_of_any_source_is_compared(edge, question_options):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.placement.lost.add('cmp-1')
    assert unmirrored(edge, **question_options)[0] == {'cmp-1': {zone}}


def test_a_tenants_aggregates_are_compared_if_nova_limits_tenants(edge):
    own = edge.nova.add_aggregate('own', ['cmp-2'], filter_tenant_id=PROJECT)
    edge.placement.lost.add('cmp-2')
    assert unmirrored(edge, project_id=PROJECT) == ({}, [])
    options = {TENANTS.key: True}
    assert unmirrored(edge, project_id=PROJECT, options=options)[0] == {'cmp-2': {own}}


@pytest.mark.parametrize('key', ['kept:a', 'kept:nowhere'])
def test_reserved_aggregates_are_compared_if_nova_enforces_them(edge, key):
    edge.nova.add_flavor('reserved', extra_specs={key: 'x'})
    kept = edge.nova.add_aggregate('kept', ['cmp-2'], **{'kept:a': ''})
    edge.placement.lost.add('cmp-2')
    options = {REQUIRED_PREFIX.key: 'kept:'}
    assert unmirrored(edge, flavor='reserved', options=options) == ({}, [])
    options[ENFORCED_BY.key] = 'nova'
    missing = {'cmp-2': {kept}} if key == 'kept:a' else {}
    assert unmirrored(edge, flavor='reserved', options=options)[0] == missing


def test_candidates_are_fetched_besides_the_comparison(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], **ZONE)
    edge.placement.lost.add('cmp-0')
    view = api.fetch(edge.connection(), api.Question(1, flavor='m1.tiny', availability_zone='az-1'))
    assert view.hosts[0].unmirrored == {zone}
    assert len(view.answered) == 1
    granted = {host.host for host in view.hosts if host.grants}
    assert granted == {'cmp-1'}


def test_without_aggregates_nothing_is_compared(edge):
    edge.nova.add_aggregate('zone', [], **ZONE)
    assert unmirrored(edge) == ({}, [])
    assert unmirrored(edge, availability_zone='az-1') == ({}, [])


def test_a_provider_without_a_name_is_an_error():
    body = {'resource_providers': [{'uuid': 'a', 'name': None}]}
    placement = SimpleNamespace(get=lambda *_words, **_query: body)
    words = 'the answer lacks the name of a resource provider'
    with pytest.raises(CloudError, match=words):
        placement_aggregates.providers_in(placement, {'a'})


def test_many_aggregates_are_split_over_requests(edge):
    for number in range(101):
        edge.nova.add_aggregate(f'zone {number}', ['cmp-0'], **ZONE)
    edge.placement.lost.add('cmp-0')
    missing, queries = unmirrored(edge, availability_zone='az-1')
    assert (len(missing['cmp-0']), len(queries)) == (101, 2)


@pytest.mark.parametrize(('status', 'is_known'), [(403, True), (500, False)])
def test_a_forbidden_comparison_is_skipped_and_an_error_is_raised(edge, status, is_known):
    edge.nova.add_aggregate('zone', ['cmp-0'], **ZONE)
    failure = Failure('no', 'no', status, {'errors': [{'detail': 'no'}]})
    edge.fail('GET', '/resource_providers', failure, skip=1)
    question = api.Question(1, flavor='f', **ZONE)
    if is_known:
        assert api.fetch(edge.connection(), question).hosts[0].unmirrored == frozenset()
    else:
        with pytest.raises(CloudError):
            api.fetch(edge.connection(), question)


def test_earlier_differences_are_kept():
    """This includes a snapshot without hosts, and hosts outside the aggregates."""
    host = Host('a', 'a', aggregates={'one', 'two'}, unmirrored=frozenset({'two'}))
    one, two = frozenset({'one'}), frozenset({'two'})
    aggregates = (Aggregate('one', 'one'),)
    snapshot = Cloud((host,), aggregates, compared_aggregates=frozenset({two}))
    found = queried_aggregates.marked(snapshot, ['root'], {one: ()})
    assert found.hosts[0].unmirrored == {'one', 'two'}
    assert found.compared_aggregates == {one, two}
    three = {frozenset({'three'}): ()}
    assert queried_aggregates.marked(snapshot, ['root'], three).hosts == (host,)
    assert queried_aggregates.marked(Cloud(), [], three).hosts is None
