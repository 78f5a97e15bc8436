"""The requirements that limit the candidates, and changes with which Placement may offer others."""

from dataclasses import replace

import pytest

from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import candidates
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.support.small_cloud import CONSTRAINTS, snapshot_of

JOINED = {'policy': 'affinity', 'members': ['cmp-1']}
RACK = {'metadata': {'rack': 'r1'}}


def asked(group=None, quotas=None, **properties):
    """Return a request for 2 small servers, and its view of a cloud with three smaller flavors."""
    row = {
        'hosts': {'cmp-1': {}},
        'aggregates': {'r1': RACK, 'zone': {'zone': 'az-1'}},
        'flavor': {'vcpus': 9},
        'flavors': {f'smaller-{n}': {'vcpus': n} for n in (5, 6, 7)},
        'quotas': quotas,
    }
    row |= {} if group is None else {'group': group}
    policy = {'type': TYPE, 'version': '1.1', 'properties': properties}
    named = None if group is None else 'g'
    question = Question(2, 'small', server_group=named, policy=policy, image_properties={})
    view = CloudView(snapshot_of(row), coverage=Coverage.CANDIDATES)
    return ScaleRequest(question, None, CONSTRAINTS), view


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
FULL = {'server_groups': [1, 1]}


@pytest.mark.parametrize(
    ('given', 'codes'),
    [
        ({}, FLAVORS),
        ({'availability_zone': 'az-1'}, ['any_zone', *FLAVORS]),
        ({'group': JOINED}, ['new_group', 'soft_policy', *FLAVORS]),
        ({'group': JOINED, 'quotas': FULL}, FLAVORS),
        ({'group': {**JOINED, 'members': []}}, FLAVORS),
    ],
)
def test_changes_with_which_placement_may_offer_other_hosts(given, codes):
    assert [each.code for each in candidates.alternatives(*asked(**given))] == codes
