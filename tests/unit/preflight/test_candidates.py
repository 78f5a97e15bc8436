"""The requirements that limit the candidates, and changes with which Placement may offer others."""

import pytest
from msgspec import structs

from senlin_affinity.model.cloud import OtherHosts
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import candidates
from senlin_affinity.preflight.candidates import CandidateQuery
from senlin_affinity.preflight.question import Question, resolve_question
from tests.support.small_cloud import CONSTRAINTS, Fence, snapshot_of
from tests.support.values import replace

JOINED = {'policy': 'affinity', 'members': ['cmp-1']}
RACK = {'metadata': {'rack': 'r1'}}


def asked(
    group=None, quotas=None, cloud=(), count=2, constraints=CONSTRAINTS, options=(), **properties
):
    """Return a request for small servers, a cloud with three smaller flavors, and the constraints.

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
    cloud = structs.replace(snapshot_of(row), rest=OtherHosts.NOT_OFFERED)
    return resolve_question(question, cloud)[0], cloud, constraints


def zones():
    """Return a cloud with a host in zone az-1."""
    return {
        'hosts': {'cmp-1': {'aggregates': ['zone'], 'zone': 'az-1'}, 'cmp-2': {}},
        'aggregates': {'zone': {'zone': 'az-1'}},
        'flavor': {'extra_specs': {'trait:CUSTOM_GOLD': 'required'}},
    }


QUERY = (
    'required=CUSTOM_GOLD&resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1'
    '&root_required=%21COMPUTE_STATUS_DISABLED'
)


def query(**given):
    """Return the query for all candidates in the cloud of :func:`zones`."""
    request, cloud, constraints = asked(**{'cloud': zones(), **given})
    sets = {each.aggregates for each in cloud.hosts}
    return candidates.query(request, cloud, constraints, sets)


def test_the_query_in_a_zone_names_its_aggregates():
    text = f'member_of=in%3Azone&{QUERY}'
    assert query(availability_zone='az-1') == CandidateQuery(text, text, 251)
    assert query() == CandidateQuery(QUERY, QUERY, 251)


FENCED = {'cmp-1': {}, 'cmp-2': {'aggregates': ['fenced']}}


def test_candidates_decide_unless_other_hosts_could_change_the_result():
    cloud = {'hosts': FENCED, 'flavor': {}}
    others = [each for each in CONSTRAINTS if each.name not in ('fence', 'reservations')]
    asking = {'count': 1, 'cloud': cloud}
    assert candidates.fits(*asked(constraints=others, **asking), are_read=True) is True
    assert candidates.fits(*asked(constraints=(*others, Fence()), **asking), are_read=True) is None


def test_the_queried_aggregates_are_compared():
    cloud = {**zones(), 'compared': False}
    view = candidates.compared(*asked(cloud=cloud, availability_zone='az-1')[:2])
    assert view.compared_aggregates == {frozenset(('zone',))}


@pytest.mark.parametrize(
    ('given', 'names'),
    [
        ({}, set()),
        ({'availability_zone': 'az-1'}, {'availability_zone'}),
        ({'group': JOINED}, {'server_group'}),
        ({'group': {**JOINED, 'members': []}}, set()),
    ],
)
def test_the_requirements_that_limit_the_candidates(given, names):
    request, cloud, _constraints = asked(**given)
    assert candidates.restricting(request, cloud) == names
    assert candidates.restricting(request, replace(cloud, rest=OtherHosts.NONE)) == set()


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
    assert [each.code for each in candidates.alternatives(*asked(**given)[:2])] == codes
