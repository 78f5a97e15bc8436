"""A yes by a few hosts: what Placement is asked for it, what is enough, and what never is."""

from urllib.parse import parse_qs

import pytest

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.snapshot import Aggregate, CloudSnapshot, Flavor, Quota
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import sample
from senlin_affinity.preflight.cloud_view import CloudView
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.support.our_constraints import OURS

RULES = tuple(rule() for rule in OURS)
ZONES = (Aggregate('a0d3f2f6-0c47-4c50-a4d5-b0b7a4f7a6c1', 'one', 'az1'),)
EXTRA_SPECS = 'AggregateInstanceExtraSpecsFilter'
ANTI, AFFINITY, SOFT = 'anti-affinity', 'affinity', 'soft-anti-affinity'


class Odd(Constraint):
    """A rule of another package, which has something to say of every host."""

    name, order, summary, reasons = 'odd', 5, 'odd', {}
    needs, filters = ('hosts',), ()

    def check_host(self, resolved, host):
        return Verdict.passed('odd.ok')


class OddRequest(Constraint):
    """One that counts the hosts."""

    name, order, summary, reasons = 'odd', 5, 'odd', {}
    needs, filters = ('hosts',), ()

    def check_request(self, resolved):
        return Verdict.passed('odd.ok')


class OddDomain(Constraint):
    """One about racks."""

    name, order, summary, reasons = 'odd', 5, 'odd', {}
    needs, filters = ('hosts',), ()

    def domains(self, resolved, host):
        return ()

    def check_domains(self, resolved, rooms):
        return {}


def asked(
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
    **options,
):
    """The question, and what the owner sees."""
    given = {} if most is None else {'max_server_per_host': most}
    spec = {'type': TYPE, 'version': '1.1', 'properties': properties or {}}
    question = Question(
        count,
        server_group='g',
        policy=spec,
        profile={'properties': {'flavor': 'small', 'image': 'cirros', **(profile or {})}},
        enabled_filters=filters,
        options=options,
    )
    group = ServerGroup('g', 'web', policy, given, tuple(Member(f's{n}') for n in range(members)))
    flavor = Flavor('f', 'small', vcpus=1, ram=512, disk=1, extra_specs=specs or {})
    limits = {name: Quota(*each) for name, each in (quotas or {'instances': (99, 0)}).items()}
    snapshot = CloudSnapshot(None, aggregates, (flavor,), (group,), limits)
    view = CloudView(snapshot, images={'cirros': image or Image()})
    return ScaleRequest(question, Binding('g', True, rules=remembered or {}), rules), view


def enough(rooms, **more):
    """Are hosts with so much room enough, beside those to spare? None: nothing is asked."""
    request, view = asked(**more)
    query = sample.query(request, view, sample.outline(request, view))
    if query is None:
        return None
    every = [*rooms, *[99] * sample.SPARE]
    hosts = [query.host(f'root-{n}', room) for n, room in enumerate(every)]
    return sample.is_enough(query.request, view, hosts)


# the rooms of the hosts, the question, whether they are enough
ROOMS = [
    ('a host each', [1, 9], {}, True),
    ('a host too few', [9], {}, False),
    ('no host', [], {}, False),
    ('two on each', [9, 9], {'count': 4, 'most': 2}, True),
    ('two on each, and one has room for one', [9, 1], {'count': 4, 'most': 2}, False),
    ('members, wherever they are', [9, 9, 9], {'members': 1}, True),
    ('members that may be on these hosts', [9, 9, 9], {'members': 2}, False),
    ('members that fill the roomiest', [9, 1, 1], {'count': 2, 'most': 2, 'members': 2}, True),
    ('more members than there are slots', [9, 9], {'count': 1, 'members': 20}, False),
    ('the rules that the binding remembers', [9], {'remembered': {'max_server_per_host': 2}}, True),
    ('a soft policy', [1, 1], {'policy': SOFT, 'members': 5}, True),
    ('a soft policy, and little room', [1], {'policy': SOFT}, False),
    ('affinity', [1, 2], {'policy': AFFINITY}, True),
    ('affinity, and no host for all', [1, 1], {'policy': AFFINITY}, False),
    ('one host for all', [20], {'count': 20, 'most': 20}, True),
    ('traits, which Placement sees', [9, 9], {'specs': {'trait:CUSTOM_GOLD': 'required'}}, True),
]


@pytest.mark.parametrize('row', ROOMS, ids=[row[0] for row in ROOMS])
def test_enough(row):
    _name, rooms, more, expected = row
    assert enough(rooms, **more) == bool(expected)


# what the whole look must answer
NEVER = [
    ('more than a few', {'count': 1001, 'quotas': {'instances': (None, 0)}}),
    ('members of affinity', {'policy': AFFINITY, 'members': 1}),
    ('a quota', {'quotas': {'instances': (9, 8)}}),
    ('a quota of the group', {'members': 2, 'quotas': {'server_group_members': (3, None)}}),
    ('an image that the flavor is too small for', {'image': Image(min_ram=513)}),
    ('a rule of another package', {'rules': (*RULES, Odd())}),
    ('one about the request', {'rules': (*RULES, OddRequest())}),
    ('one about racks', {'rules': (*RULES, OddDomain())}),
    ('a zone without an aggregate', {'properties': {'availability_zone': 'az2'}}),
    ('a zone, and no aggregates', {'profile': {'availability_zone': 'az1'}}),
    ('a host in the profile', {'profile': {'availability_zone': 'az1:cmp-1'}, 'aggregates': ZONES}),
    ('reservations', {'required_member_prefix': 'licence:', 'reservations_enforced_by': 'nova'}),
    ('isolated aggregates', {'is_isolation_enforced': True, 'reservations_enforced_by': 'nova'}),
    (
        'a filter that reads aggregates',
        {'filters': (EXTRA_SPECS,), 'specs': {'ssd': 'true'}},
    ),
    ('servers on a host', {'filters': ('NumInstancesFilter',)}),
    ('flavors of an aggregate', {'filters': ('AggregateTypeAffinityFilter',)}),
    ('isolated tenants', {'filters': ('AggregateMultiTenancyIsolation',)}),
    ('two queries', {'specs': {'hw:cpu_policy': 'dedicated'}}),
]


@pytest.mark.parametrize(('name', 'more'), NEVER, ids=[row[0] for row in NEVER])
def test_where_no_few_hosts_are_enough_placement_is_not_asked(name, more):
    assert enough([9] * 9, **more) is None


SSD, HDD = (
    Aggregate(f'a0d3f2f6-0c47-4c50-a4d5-b0b7a4f7a6d{number}', name, None, {'disk': name})
    for number, name in enumerate(('ssd', 'hdd'))
)
#: What hosts are in together: nothing is always one of them.
SETS = (frozenset((SSD.uuid,)), frozenset((HDD.uuid,)))
BY_AGGREGATES = [
    (
        'a filter that reads aggregates',
        {'filters': (EXTRA_SPECS,), 'specs': {'disk': 'ssd'}},
        [SSD.uuid, f'!{HDD.uuid}'],
    ),
    (
        'the same, which no aggregate lets in',
        {'filters': (EXTRA_SPECS,), 'specs': {'disk': 'tape'}},
        None,
    ),
    (
        'reservations that Nova keeps',
        {'forbidden_member_prefixes': ('disk',), 'reservations_enforced_by': 'nova'},
        [f'!in:{SSD.uuid},{HDD.uuid}'],
    ),
    ('no rule that reads them', {}, []),
]


@pytest.mark.parametrize('row', BY_AGGREGATES, ids=[row[0] for row in BY_AGGREGATES])
def test_rules_about_aggregates_choose_them(row):
    _name, more, expected = row
    request, view = asked(aggregates=(SSD, HDD), **more)
    outline = sample.outline(request, view)
    assert outline.are_aggregates_needed == (expected != [])
    query = sample.query(request, view, outline._replace(sets=SETS))
    if expected is None:
        assert query is None
        return
    assert {*parse_qs(query.text).get('member_of', [])} == {*expected}
    hosts = [query.host(f'root-{n}', 1) for n in range(sample.SPARE + 2)]
    assert sample.is_enough(query.request, view, hosts)
    assert not sample.is_enough(query.request, view, hosts[1:])


def test_what_placement_is_asked():
    request, view = asked(3, members=4)
    query = sample.query(request, view, sample.outline(request, view))
    assert query.limit == 3 + 4 + 10
    assert query.text.startswith('resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1')
    assert '%21COMPUTE_STATUS_DISABLED' in query.text


def test_a_zone_is_that_of_its_aggregates():
    request, view = asked(properties={'availability_zone': 'az1'}, aggregates=ZONES)
    outline = sample.outline(request, view)
    assert outline.are_aggregates_needed
    query = sample.query(request, view, outline)
    assert f'member_of=in%3A{ZONES[0].uuid}' in query.text
    hosts = [query.host(f'root-{n}', 1) for n in range(sample.SPARE + 2)]
    assert {host.availability_zone for host in hosts} == {'az1'}
    assert sample.is_enough(query.request, view, hosts)
    assert not sample.is_enough(query.request, view, hosts[1:])


# the question, how many the quota of instances leaves (None: it is not all that refuses)
QUOTAS = [
    ('nothing is left', {'quotas': {'instances': (9, 9)}}, 0),
    ('some are left', {'count': 5, 'quotas': {'instances': (9, 7)}}, 2),
    ('enough is left', {'quotas': {'instances': (9, 7)}}, None),
    ('another quota, which a smaller flavor keeps to', {'quotas': {'cores': (9, 9)}}, None),
    (
        'something else as well',
        {'quotas': {'instances': (9, 9)}, 'image': Image(min_ram=513)},
        None,
    ),
]


@pytest.mark.parametrize('row', QUOTAS, ids=[row[0] for row in QUOTAS])
def test_what_the_quota_leaves(row):
    _name, more, expected = row
    assert sample.outline(*asked(**more)).left_by_quota == expected
