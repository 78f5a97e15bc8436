"""A sample of allocation candidates accepts a request, or is not used."""

from typing import ClassVar
from urllib.parse import parse_qs

import pytest
from msgspec import structs

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import sample
from senlin_affinity.preflight.question import Question, resolve_question
from tests.support.our_constraints import OURS

RULES = tuple(rule() for rule in OURS)
ZONES = (Aggregate('a0d3f2f6-0c47-4c50-a4d5-b0b7a4f7a6c1', 'one', 'az1'),)
EXTRA_SPECS = 'AggregateInstanceExtraSpecsFilter'
ANTI, AFFINITY, SOFT = 'anti-affinity', 'affinity', 'soft-anti-affinity'

FOREIGN = {'foreign.ok': Reason('ok')}


class ForeignHostConstraint(Constraint):
    """A constraint of another package, which passes every host."""

    name, order, summary, reasons = 'foreign', 5, 'foreign', FOREIGN
    needs, filters = ('hosts',), ()

    def check(self, asked, host, cloud):
        return Verdict.passed('foreign.ok')


class ForeignRequestConstraint(Constraint):
    """A constraint of another package on the request."""

    name, order, summary, reasons = 'foreign', 5, 'foreign', FOREIGN
    needs, filters = ('hosts',), ()

    def check_request(self, request, cloud):
        return Verdict.passed('foreign.ok')


class ForeignDomainConstraint(Constraint):
    """A constraint of another package on racks."""

    name, order, summary, reasons = 'foreign', 5, 'foreign', FOREIGN
    needs, filters = ('hosts',), ()

    def domains(self, request, scenario, host):
        return ()

    def check_domains(self, request, scenario, rooms):
        return {}


class ForeignAggregateConstraint(ForeignHostConstraint):
    """A constraint of another package, which rejects all aggregates."""

    needs, reads = ('hosts', 'aggregates'), ('aggregates',)
    reasons: ClassVar = {**FOREIGN, 'foreign.no': Reason('no')}

    def check(self, asked, host, cloud):
        return Verdict.rejected('foreign.no') if host.aggregates else Verdict.passed('foreign.ok')


class AggregateRequest(ForeignRequestConstraint):
    """A constraint of another package on the request, which reads aggregates."""

    needs = ('aggregates',)


class AggregateDomains(ForeignAggregateConstraint):
    """A constraint of another package on hosts and racks."""

    def check_domains(self, request, scenario, rooms):
        return {}


def request_and_cloud(
    count=2,
    policy=ANTI,
    most=None,
    members=0,
    properties=None,
    profile=None,
    specs=None,
    rules=RULES,
    remembered=None,
    filters=DEFAULT_FILTERS,
    quotas=None,
    aggregates=None,
    image=None,
    has_group=True,
    **options,
):
    """Return the request, the owner's part of the cloud, and the constraints."""
    given = {} if most is None else {'max_server_per_host': most}
    spec = {'type': TYPE, 'version': '1.1', 'properties': properties or {}}
    question = Question(
        count,
        server_group='g' if has_group else None,
        policy=spec if has_group else None,
        profile={'properties': {'flavor': 'small', 'image': 'cirros', **(profile or {})}},
        enabled_filters=filters,
        options=options,
        group_rules=remembered,
    )
    group = ServerGroup('g', 'web', policy, given, tuple(Member(f's{n}') for n in range(members)))
    flavor = Flavor('f', 'small', vcpus=1, ram=512, disk=1, extra_specs=specs or {})
    limits = {name: Quota(*each) for name, each in (quotas or {'instances': (99, 0)}).items()}
    snapshot = Cloud(None, aggregates, (flavor,), (group,), limits)
    cloud = structs.replace(snapshot, images={'cirros': image or Image()})
    return resolve_question(question, cloud)[0], cloud, rules


def sampled(request, cloud, rules, sets=(), **more):
    """Return the query for a sample, and the constraints that it does not enforce."""
    found = sample.without_hosts(request, cloud, rules)
    readers = sample.readers(found, rules)
    others = [each for each in rules if each not in readers]
    return sample.query(request, cloud, others, readers, sets, **more), others


def is_sample_enough(rooms, check=sample.is_enough, **request_options):
    """Return whether hosts with this free capacity, and the spare hosts, pass the check; None
    without a query.
    """
    request, cloud, rules = request_and_cloud(**request_options)
    query, others = sampled(request, cloud, rules)
    if query is None:
        return None
    free_capacities = [*rooms, *[99] * sample.SPARE]
    hosts = [query.host(f'root-{n}', room, request) for n, room in enumerate(free_capacities)]
    if check is not sample.is_enough:
        return check(request, hosts)
    return check(request, cloud, others, hosts)


# name, free capacity of the hosts, request, whether the hosts are enough
SAMPLES = [
    ('one host for each server is enough', [1, 9], {}, True),
    ('one host too few is not enough', [9], {}, False),
    ('no host is not enough', [], {}, False),
    ('two hosts with two slots each take four servers', [9, 9], {'count': 4, 'most': 2}, True),
    (
        'a host with less free capacity than slots takes fewer',
        [9, 1],
        {'count': 4, 'most': 2},
        False,
    ),
    ('one member may be on any of the hosts', [9, 9, 9], {'members': 1}, True),
    ('two members may fill two of the hosts', [9, 9, 9], {'members': 2}, False),
    (
        'members may fill the host with most free capacity',
        [9, 1, 1],
        {'count': 2, 'most': 2, 'members': 2},
        True,
    ),
    ('members that may fill all slots', [9, 9], {'count': 1, 'members': 20}, False),
    (
        'the rules of the binding take precedence',
        [9],
        {'remembered': {'max_server_per_host': 2}},
        True,
    ),
    ('a soft policy ignores members', [1, 1], {'policy': SOFT, 'members': 5}, True),
    ('a soft policy needs free capacity', [1], {'policy': SOFT}, False),
    ('affinity needs one host for all', [1, 2], {'policy': AFFINITY}, True),
    ('affinity without a host for all is not enough', [1, 1], {'policy': AFFINITY}, False),
    ('many servers fit on one host', [20], {'count': 20, 'most': 20}, True),
    ('Placement filters by traits', [9, 9], {'specs': {'trait:CUSTOM_GOLD': 'required'}}, True),
]


@pytest.mark.parametrize('row', SAMPLES, ids=[row[0] for row in SAMPLES])
def test_a_sample_is_enough(row):
    _name, rooms, request_options, expected = row
    assert is_sample_enough(rooms, **request_options) == bool(expected)


# free capacity of the hosts, request, whether the hosts of the members decide it
MEMBERS = [
    ([9, 9], {'members': 2}, True),
    ([9, 9], {'members': 2, 'count': 3}, False),
    ([9, 1], {'members': 1, 'count': 3, 'most': 2}, True),
    ([9, 1], {'members': 1, 'count': 4, 'most': 2}, False),
    ([9, 9], {}, False),
    ([9, 9], {'members': 2, 'policy': SOFT}, False),
    ([9, 9], {'has_group': False}, False),
]


@pytest.mark.parametrize(('rooms', 'request_options', 'expected'), MEMBERS)
def test_members_decide_if_only_they_may_be_in_the_way(rooms, request_options, expected):
    assert is_sample_enough(rooms, sample.depends_on_members, **request_options) == expected


def test_the_spare_hosts_are_those_that_can_take_the_most_servers_beside_members():
    """Ten large hosts have a member each, so they cannot be the spare ones."""
    members = sample.SPARE
    roots = {f's{n}': f'root-{n}' for n in range(members)}
    request, cloud, rules = request_and_cloud(5, members=members)
    query, others = sampled(request, cloud, rules)
    rooms = [99] * members + [1] * (5 + sample.SPARE)
    hosts = [query.host(f'root-{n}', room, request) for n, room in enumerate(rooms)]
    assert sample.is_enough(request, cloud, others, hosts, roots)
    assert not sample.is_enough(request, cloud, others, hosts[:-1], roots)


# requests that need the whole cloud
NO_SAMPLE = [
    ('more servers than a sample covers', {'count': 1001, 'quotas': {'instances': (None, 0)}}),
    ('an affinity group with members', {'policy': AFFINITY, 'members': 1}),
    ('an exceeded instance quota', {'quotas': {'instances': (9, 8)}}),
    (
        'an exceeded group member quota',
        {'members': 2, 'quotas': {'server_group_members': (3, None)}},
    ),
    ('a flavor too small for the image', {'image': Image(min_ram=513)}),
    ('a host constraint of another package', {'rules': (*RULES, ForeignHostConstraint())}),
    ('a request constraint of another package', {'rules': (*RULES, ForeignRequestConstraint())}),
    ('a domain constraint of another package', {'rules': (*RULES, ForeignDomainConstraint())}),
    ('a zone without an aggregate', {'properties': {'availability_zone': 'az2'}}),
    ('a zone while aggregates are not known', {'profile': {'availability_zone': 'az1'}}),
    ('reservations', {'required_member_prefix': 'licence:', 'reservations_enforced_by': 'nova'}),
    ('isolated aggregates', {'is_isolation_enforced': True, 'reservations_enforced_by': 'nova'}),
    (
        'a filter that reads aggregates',
        {'filters': (EXTRA_SPECS,), 'specs': {'ssd': 'true'}},
    ),
    ('a filter by the number of servers', {'filters': ('NumInstancesFilter',)}),
    ('a filter by flavors of an aggregate', {'filters': ('AggregateTypeAffinityFilter',)}),
    ('a filter by tenants of an aggregate', {'filters': ('AggregateMultiTenancyIsolation',)}),
    ('a flavor that needs two queries', {'specs': {'hw:cpu_policy': 'dedicated'}}),
]


@pytest.mark.parametrize(('name', 'request_options'), NO_SAMPLE, ids=[row[0] for row in NO_SAMPLE])
def test_without_a_deciding_sample_placement_is_not_queried(name, request_options):
    assert is_sample_enough([9] * 9, **request_options) is None


SSD, HDD = (
    Aggregate(f'a0d3f2f6-0c47-4c50-a4d5-b0b7a4f7a6d{number}', name, None, {'disk': name})
    for number, name in enumerate(('ssd', 'hdd'))
)
#: The sets of aggregates that hosts are in, besides the empty set.
SETS = (frozenset((SSD.uuid,)), frozenset((HDD.uuid,)))
BY_AGGREGATES = [
    (
        'a filter requires aggregates',
        {'filters': (EXTRA_SPECS,), 'specs': {'disk': 'ssd'}},
        [SSD.uuid, f'!{HDD.uuid}'],
    ),
    (
        'no aggregate satisfies the filter',
        {'filters': (EXTRA_SPECS,), 'specs': {'disk': 'tape'}},
        None,
    ),
    (
        'Nova enforces reservations',
        {'forbidden_member_prefixes': ('disk',), 'reservations_enforced_by': 'nova'},
        [f'!in:{SSD.uuid},{HDD.uuid}'],
    ),
    ('no constraint reads aggregates', {}, []),
    (
        'one of two constraints rejects each aggregate',
        {
            'filters': (EXTRA_SPECS,),
            'specs': {'disk': 'ssd'},
            'rules': (*RULES, ForeignAggregateConstraint()),
        },
        None,
    ),
]


def test_the_constraints_that_read_only_the_aggregates_of_single_hosts():
    rules = (*RULES, ForeignHostConstraint(), AggregateDomains(), AggregateRequest())
    every = (*rules, ForeignAggregateConstraint())
    found = [each for each in every if sample.reads_aggregates(each)]
    assert {type(each).__name__.removesuffix('Constraint') for each in found} == {
        *('AggregateMetadata', 'ForeignAggregate', 'ImageAggregates', 'MemberOf', 'Reservations'),
        *('FlavorAggregates', 'TenantIsolation'),
    }


@pytest.mark.parametrize('row', BY_AGGREGATES, ids=[row[0] for row in BY_AGGREGATES])
def test_constraints_on_aggregates_restrict_the_query(row):
    _name, request_options, expected = row
    request, cloud, rules = request_and_cloud(aggregates=(SSD, HDD), **request_options)
    readers = sample.readers(sample.without_hosts(request, cloud, rules), rules)
    assert bool(readers) == (expected != [])
    query, others = sampled(request, cloud, rules, SETS)
    if expected is None:
        assert query is None
        return
    assert {*parse_qs(query.text).get('member_of', [])} == {*expected}
    hosts = [query.host(f'root-{n}', 1, request) for n in range(sample.SPARE + 2)]
    assert sample.is_enough(request, cloud, others, hosts)
    assert not sample.is_enough(request, cloud, others, hosts[1:])


def test_the_query_has_resources_a_limit_and_forbids_disabled_hosts():
    query, _others = sampled(*request_and_cloud(3, members=4))
    assert query.limit == 3 + 4 + 10
    assert query.text.startswith('resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1')
    assert '%21COMPUTE_STATUS_DISABLED' in query.text


@pytest.mark.parametrize(
    ('given', 'small', 'large'),
    [
        ({'count': 3, 'policy': SOFT, 'members': 4}, 3, 7),
        ({'count': 25, 'policy': SOFT}, 20, 25),
        ({'count': 3, 'has_group': False}, 3, 3),
        ({'count': 3, 'members': 4}, 7, 7),
        ({'count': 3, 'most': 2, 'members': 4}, 4, 7),
        ({'count': 995, 'members': 5}, 1000, 1000),
        ({'count': 996, 'members': 5}, None, None),
    ],
)
def test_a_sample_has_enough_hosts_for_all_servers_and_ten_more(given, small, large):
    """A large one has a host for each new server and each member."""
    asked = request_and_cloud(quotas={'instances': (9999, 0)}, **given)
    for is_large, hosts in ((False, small), (True, large)):
        query, _others = sampled(*asked, is_large=is_large)
        assert (query and query.limit) == (hosts and hosts + sample.SPARE)


def test_a_zone_restricts_the_query_to_its_aggregates():
    request, cloud, rules = request_and_cloud(
        properties={'availability_zone': 'az1'}, aggregates=ZONES
    )
    query, others = sampled(request, cloud, rules)
    assert query.text.startswith(f'member_of=in%3A{ZONES[0].uuid}&{query.novas_query}')
    hosts = [query.host(f'root-{n}', 1, request) for n in range(sample.SPARE + 2)]
    assert {host.availability_zone for host in hosts} == {'az1'}
    assert sample.is_enough(request, cloud, others, hosts)
    assert not sample.is_enough(request, cloud, others, hosts[1:])


# name, request, servers left by the instance quota (None: it is not the only limit)
QUOTAS = [
    ('an exhausted quota leaves nothing', {'quotas': {'instances': (9, 9)}}, 0),
    ('a quota leaves fewer than requested', {'count': 5, 'quotas': {'instances': (9, 7)}}, 2),
    ('a quota that is large enough', {'quotas': {'instances': (9, 7)}}, None),
    ('another quota is exceeded', {'quotas': {'cores': (9, 9)}}, None),
    (
        'another constraint rejects as well',
        {'quotas': {'instances': (9, 9)}, 'image': Image(min_ram=513)},
        None,
    ),
]


@pytest.mark.parametrize('row', QUOTAS, ids=[row[0] for row in QUOTAS])
def test_servers_left_by_the_instance_quota(row):
    _name, request_options, expected = row
    found = sample.without_hosts(*request_and_cloud(**request_options))
    assert sample.left_by_quota(found) == expected
