"""What a user who may not list the hosts could change before and after a failure."""

import pytest

from senlin_affinity import engine
from senlin_affinity.answers.suggestions import suggested
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.model.image import Image
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.scenario.scenario import Scenario
from tests.support.small_cloud import snapshot_of
from tests.support.values import replace

SERVER = '10000000-0000-4000-8000-000000000001'
ASK = 'ask the operator to enable or free a suitable host'
OTHERWISE = 'delete own servers that are no longer needed, or wait'


def answer(row, changed=None, **question):
    constraints = load_constraints()
    snapshot = replace(snapshot_of({'hosts': None, **row}), **(changed or {}))
    asked = Question(1, 'small', **{'image_properties': {}, **question})
    request, cloud = resolve_question(asked, snapshot)
    decision = engine.plan(request, Scenario.of(cloud), constraints)
    return decision, [*suggested(decision, request, cloud, constraints)]


ZONES = {
    'availability_zones': frozenset({'az-1', 'az-2', 'az-3'}),
    'closed_zones': frozenset({'az-2', 'az-3'}),
}
WINDOWS = Image('windows', min_ram=1024)
PINNED = {'extra_specs': {'hw:cpu_thread_policy': 'require'}}


@pytest.mark.parametrize(
    ('row', 'changed', 'question', 'words'),
    [
        ({}, ZONES, {'availability_zone': 'az-2'},
         ['availability_zone: az-1', 'no availability_zone']),
        ({'flavors': {'less': {'ram': 64}, 'm': {'ram': 1024}, 'l': {'ram': 2048}}}, {},
         {'image': WINDOWS, 'image_properties': None}, ['flavor: m or l']),
        ({'flavor': PINNED, 'flavors': {'plain': {}}}, {}, {},
         ['flavor: plain, which does not require hw:cpu_thread_policy=require']),
    ],
    ids=['zone', 'image', 'settings'],
)  # fmt: skip
def test_only_what_ends_the_rejection_of_the_request_is_listed(row, changed, question, words):
    decision, found = answer(row, changed, **question)
    assert decision.fits is False
    assert found == words


def test_before_a_failure_the_changes_are_those_of_a_failed_server():
    decision, found = answer(
        {'flavors': {'plain': {}}}, scheduler_hints={'same_host': [SERVER]},
        image_properties={'hw_architecture': 'aarch64'},
    )  # fmt: skip
    assert decision.fits is None
    image = 'another image, which does not require hw_architecture=aarch64'
    nothing = 'no flavor asks for less'
    assert found == ['without the scheduler hint same_host', image, nothing, ASK, OTHERWISE]


def test_an_image_by_which_placement_chooses_hosts_can_be_changed():
    """It comes after a close flavor, as do the traits, and before one of half the size."""
    row = {'flavors': {'less': {'ram': 256}, 'diskless': {'disk': 0}}}
    _decision, found = answer(row, image_properties={'os_secure_boot': 'required'})
    image = 'another image, which does not require os_secure_boot=required'
    assert found == ['boot from a volume', ASK, image, 'flavor: less', OTHERWISE]
    row['flavors']['close'] = {'ram': 400}
    _decision, found = answer(row, image_properties={'os_secure_boot': 'required'})
    likelier = 'flavor: close or less (the smaller, the likelier)'
    assert found == ['boot from a volume', likelier, ASK, image, OTHERWISE]


@pytest.mark.parametrize(('used', 'last'), [(0, ASK), (1, OTHERWISE), (None, OTHERWISE)])
def test_own_servers_can_be_deleted_if_there_are_any(used, last):
    quotas = {} if used is None else {'instances': [5, used]}
    _decision, found = answer({'quotas': quotas})
    assert found[-1] == last


def test_a_label_is_given_up_after_the_operator_if_half_the_amounts_are_lost_too():
    row = {
        'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
        'flavors': {'half': {'ram': 256}},
    }
    words = 'flavor: half, which does not require aggregate_instance_extra_specs:ssd=true'
    assert answer(row)[1] == [ASK, words, OTHERWISE]
    row['flavors'] = {'close': {'ram': 400}}
    assert answer(row)[1] == [words.replace('half', 'close'), ASK, OTHERWISE]


def test_a_flavor_that_is_too_small_to_be_named_asks_for_less():
    """It has no label, and an eighth of the memory."""
    specs = {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}}
    row = {'flavor': specs, 'flavors': {'tiny': {'ram': 64}}}
    assert answer(row)[1] == [ASK, OTHERWISE]
    row['flavors'] = {'other': {'ram': 64, 'vcpus': 2}}
    assert answer(row)[1] == ['no flavor asks for less', ASK, OTHERWISE]


def test_a_tiny_flavor_is_the_last_resort():
    row = {'flavors': {'tiny': {'ram': 64}}}
    _decision, found = answer(row)
    assert found == [ASK, 'flavor: tiny', OTHERWISE]
    _decision, found = answer(row, scheduler_hints={'same_host': [SERVER]})
    assert found == ['without the scheduler hint same_host', ASK, OTHERWISE]


def test_nothing_is_said_if_it_certainly_fits():
    decision, found = answer({'hosts': {'cmp-1': {}}})
    assert (decision.fits, found) == (True, [])


def test_a_close_flavor_comes_after_what_filters_compare_and_before_what_placement_reads():
    specs = {'aggregate_instance_extra_specs:ssd': 'true', 'trait:CUSTOM_A': 'required'}
    row = {
        'flavor': {'extra_specs': specs},
        'flavors': {
            'less': {'ram': 400, 'extra_specs': specs},
            'any': {'extra_specs': {'trait:CUSTOM_A': 'required'}},
            'ssd': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
        },
    }
    _decision, found = answer(row, image_properties={'hw_architecture': 'x86_64'})
    assert found == [
        'flavor: any, which does not require aggregate_instance_extra_specs:ssd=true',
        'flavor: less',
        ASK,
        'flavor: ssd, which does not require trait:CUSTOM_A=required',
        'another image, which does not require hw_architecture=x86_64',
        OTHERWISE,
    ]
    _decision, found = answer(row, image_properties={'hw_architecture': 'aarch64'})
    assert found.index('another image, which does not require hw_architecture=aarch64') < 2


def test_the_request_without_its_group_comes_after_other_groups():
    group = {'policy': 'affinity', 'members': [None]}
    _decision, found = answer({'group': group}, server_group='web')
    assert found == [
        'a new server group (its servers may be on another host than those of the old one)',
        'a new server group with soft-affinity (its servers may be on several hosts)',
        'without the server group (nothing keeps the servers together)',
        'no flavor asks for less',
        ASK,
        OTHERWISE,
    ]
