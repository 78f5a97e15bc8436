"""The requirements that limit the candidates, and changes with which Placement may offer others."""

import pytest

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.reason import Reason
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import candidates
from senlin_affinity.preflight.candidates import CandidateQuery, DomainQuery
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.support.small_cloud import CONSTRAINTS, Fence, snapshot_of
from tests.support.values import replace

JOINED = {'policy': 'affinity', 'members': ['cmp-1']}
RACK = {'metadata': {'rack': 'r1'}}


def asked(
    group=None, quotas=None, cloud=(), count=2, constraints=CONSTRAINTS, options=(), **properties
):
    """Return a request for small servers, and its view of a cloud with three smaller flavors.

    :param cloud: the keys of the row of the cloud that differ.
    """
    row = {
        'hosts': {'cmp-1': {}},
        'aggregates': {'r1': RACK, 'zone': {'zone': 'az-1'}},
        'flavor': {'vcpus': 9},
        'flavors': {f'smaller-{n}': {'vcpus': n} for n in (5, 6, 7)},
        'quotas': quotas,
        **dict(cloud),
    }
    row |= {} if group is None else {'group': group}
    policy = {'type': TYPE, 'version': '1.1', 'properties': properties}
    named = None if group is None else 'g'
    question = Question(
        count,
        'small',
        server_group=named,
        policy=policy,
        image_properties={},
        options=dict(options),
    )
    view = CloudView(snapshot_of(row), coverage=Coverage.CANDIDATES)
    return ScaleRequest(question, None, constraints), view


def racks():
    """Return a cloud with two aggregates of rack r1, in zone az-1, and one of rack r2."""
    return {
        'hosts': {
            'cmp-1': {'aggregates': ['r1a', 'zone'], 'zone': 'az-1'},
            'cmp-2': {'aggregates': ['r1b', 'zone'], 'zone': 'az-1'},
            'cmp-3': {'aggregates': ['r2']},
        },
        'aggregates': {
            'r1a': RACK,
            'r1b': RACK,
            'r2': {'metadata': {'rack': 'r2'}},
            'zone': {'zone': 'az-1'},
        },
        'flavor': {'extra_specs': {'trait:CUSTOM_GOLD': 'required'}},
    }


QUERY = (
    'required=CUSTOM_GOLD&resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1'
    '&root_required=%21COMPUTE_STATUS_DISABLED'
)


def query(**given):
    """Return the query for all candidates in the cloud of :func:`racks`."""
    request, view = asked(**{'cloud': racks(), **given})
    return candidates.query(request, view, {each.aggregates for each in view.snapshot.hosts})


def test_the_query_in_a_zone_names_its_aggregates():
    text = f'member_of=in%3Azone&{QUERY}'
    expected = CandidateQuery(text, text, frozenset(), None, False, False)
    assert query(availability_zone='az-1') == expected
    pinned = query(availability_zone='az-1', pin_hosts=True)
    assert pinned == expected._replace(are_zones_needed=True)
    assert query() == CandidateQuery(QUERY, QUERY, frozenset(), None, False, False)


def test_a_query_for_each_rack_has_a_limit_for_an_even_spread():
    """One of the four servers goes to rack r1, which has a member, and three to r2."""
    found = query(
        group={'policy': 'soft-anti-affinity', 'members': ['cmp-1']},
        servergroup={'policies': 'soft-anti-affinity'},
        spread=[{'by': 'rack'}],
        count=4,
    )
    text = f'{QUERY}&member_of=in%3Ar1a%2Cr1b%2Cr2%2Czone'
    r1 = DomainQuery(f'{text}&member_of=in%3Ar1a%2Cr1b&member_of=in%3Azone', 2, 'az-1')
    domains = (DomainQuery(f'{text}&member_of=in%3Ar2', 4, 'nova'), r1)
    aggregates = frozenset(('r1a', 'r1b', 'r2', 'zone'))
    assert found == CandidateQuery(text, QUERY, aggregates, None, True, True, domains)


def test_without_a_rack_there_is_no_query_for_a_rack():
    cloud = {**racks(), 'hosts': {'cmp-1': {'aggregates': ['zone'], 'zone': 'az-1'}}}
    found = query(cloud=cloud, spread=[{'by': 'rack', 'mode': 'soft'}])
    assert found.domains == ()


class FencedRacks(Constraint):
    """A constraint of another package on racks, which rejects none."""

    name, order, summary, reasons = 'foreign', 5, 'foreign', {'foreign.ok': Reason('ok')}
    needs, filters = ('hosts',), ()

    def domains(self, request, scenario, host):
        return ()

    def check_domains(self, request, scenario, rooms):
        return {}


FENCED = {'cmp-1': {}, 'cmp-2': {'aggregates': ['fenced']}}
UNREAD = {**FENCED, 'cmp-2': {'aggregates': ['fenced'], 'hypervisor': ''}}


@pytest.mark.parametrize(
    ('hosts', 'constraint', 'is_pinned', 'fits'),
    [
        (FENCED, Fence(), True, True),
        (FENCED, Fence(), False, None),
        (UNREAD, Fence(), True, None),
        (FENCED, FencedRacks(), True, None),
    ],
    ids=[
        'all hosts of a pinned request are known',
        'Nova may use another host',
        'a host that was not read may be rejected for more than its aggregates',
        'racks have other hosts',
    ],
)
def test_candidates_decide_unless_other_hosts_could_change_the_result(
    hosts, constraint, is_pinned, fits
):
    cloud = {'hosts': hosts, 'flavor': {}}
    others = [each for each in CONSTRAINTS if each.name not in ('fence', 'reservations')]
    asking = {'count': 1, 'constraints': (*others, constraint), 'pin_hosts': is_pinned}
    assert candidates.fits(*asked(cloud=cloud, **asking)) is fits


@pytest.mark.parametrize(
    ('spread', 'fits'),
    [
        ({'max_skew': 1}, None),
        ({'max_skew': 9, 'max_per_domain': 1}, False),
    ],
    ids=['it may be disabled', 'it limits nothing'],
)
def test_a_host_that_was_not_read_may_be_disabled(spread, fits):
    """The other rack has room for both servers if it does not hold them back."""
    unread = {'aggregates': ['r1a'], 'hypervisor': '', 'free': 0}
    cloud = {**racks(), 'hosts': {'cmp-1': {'aggregates': ['r2']}, 'cmp-2': unread}, 'flavor': {}}
    policies = {'policies': 'soft-anti-affinity'}
    request = asked(cloud=cloud, servergroup=policies, spread=[{'by': 'rack', **spread}])
    assert candidates.fits(*request) is fits


def test_the_queried_aggregates_are_compared():
    cloud = {**racks(), 'compared': False}
    view = candidates.compared(*asked(cloud=cloud, availability_zone='az-1'))
    assert view.snapshot.compared_aggregates == {frozenset(('zone',))}


@pytest.mark.parametrize(
    ('given', 'names'),
    [
        ({}, set()),
        ({'availability_zone': 'az-1'}, {'availability_zone'}),
        ({'member_of': ['r1']}, {'member_of'}),
        ({'spread': [{'by': 'rack'}]}, {'spread'}),
        ({'group': JOINED}, {'server_group'}),
        ({'group': {**JOINED, 'members': []}}, set()),
    ],
)
def test_the_requirements_that_limit_the_candidates(given, names):
    request, view = asked(**given)
    assert candidates.restricting(request, view) == names
    assert candidates.restricting(request, replace(view, coverage=Coverage.CLOUD)) == set()


FLAVORS = ['flavor', 'flavor']
DEFAULT_ZONE = {'default_schedule_zone': 'az-1'}
FULL = {'server_groups': [1, 1]}


@pytest.mark.parametrize(
    ('given', 'codes'),
    [
        ({}, FLAVORS),
        ({'availability_zone': 'az-1'}, ['any_zone', *FLAVORS]),
        ({'options': DEFAULT_ZONE}, FLAVORS),
        ({'group': JOINED}, ['new_group', 'soft_policy', *FLAVORS]),
        ({'group': JOINED, 'quotas': FULL}, FLAVORS),
        ({'group': {**JOINED, 'members': []}}, FLAVORS),
    ],
)
def test_changes_with_which_placement_may_offer_other_hosts(given, codes):
    assert [each.code for each in candidates.alternatives(*asked(**given))] == codes
