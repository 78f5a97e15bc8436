"""Contradictions among engines, configuration files and aggregates are findings with a fix."""

import pytest

from senlin_affinity.cli import configuration_check as check
from senlin_affinity.cloud.senlin import AbandonedAction, Engine
from senlin_affinity.conf.opts import options_of
from senlin_affinity.conf.oslo_options import Settings
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX

(DRS,) = DrsConstraint.options
OURS, NOVAS = 'AggregateInstanceTypeFilter', 'AggregateInstanceExtraSpecsFilter'


@pytest.mark.parametrize(
    ('engines', 'problems'),
    [
        ([Engine('a', True, '0.10.0', '11'), Engine('b', True, '0.10.0', '11')], []),
        ([Engine('a', True, '0.9.1', '11'), Engine('b', True, '0.10.0', '11')], ['a', 'b']),
        ([Engine('a', True, '0.10.0', '11'), Engine('b', True, '0.10.0', '12')], ['a', 'b']),
        ([Engine('a', True, '0.10.0', '11'), Engine('b', True)], []),
        ([Engine('a', False, '0.9.1', '11'), Engine('b', True, '0.10.0', '11')], ['a']),
    ],
)
def test_engines_that_are_down_or_differ_are_problems(engines, problems):
    found = list(check.engines(engines))
    assert [each.what for each in found] == ['a', 'b']
    assert [each.what for each in found if each.fix] == problems


def test_a_different_value_in_nova_conf_is_a_problem():
    """Also if one of both has the default only; options that Nova does not have do not count."""
    first, second, *_ = (each for each in options_of(()) if each.nova)
    own = Settings(('A', 'B'), {second.key: 'y', REQUIRED_PREFIX.key: 'r:', DRS.key: 'esx'})
    nova = Settings(('B', 'A'), {first.key: 'z', second.key: 'y'})
    found = list(check.differing_options(own, nova, options_of(())))
    details = f'is {first.default!r} for the policy, {"z"!r} in nova.conf'
    assert [each[:2] for each in found] == [(f'[{first.group}] {first.dest}', details)]


def test_a_prefix_of_the_request_filter_that_the_policy_lacks_is_a_problem():
    nova = Settings(values={REQUIRED_PREFIX.key: 'r:'}, keys=frozenset({REQUIRED_PREFIX.key}))
    (found,) = check.differing_options(Settings(), nova, options_of(()))
    assert found.what == f'[scheduler] {REQUIRED_PREFIX.dest}'
    assert not list(check.differing_options(nova, nova, options_of(())))


@pytest.mark.parametrize(
    ('own', 'nova', 'differing'),
    [
        (('A',), ('A', 'B'), 'B'),
        (None, DEFAULT_FILTERS, None),
        (None, (*DEFAULT_FILTERS, 'A'), 'A'),
        ((*DEFAULT_FILTERS, 'A'), None, 'A'),
    ],
)
def test_other_filters_than_in_nova_conf_are_a_problem(own, nova, differing):
    found = list(check.differing_options(Settings(own), Settings(nova), ()))
    words = [f'differs from nova.conf: {differing}'] if differing else []
    assert [each.details for each in found] == words


@pytest.mark.parametrize(('filters', 'number'), [((OURS, NOVAS), 1), ((OURS,), 0), ((NOVAS,), 0)])
def test_both_filters_for_extra_specs_are_a_problem(filters, number):
    assert len(list(check.doubled_filters(filters))) == number


@pytest.mark.parametrize(
    ('metadata', 'forbidden', 'problems'),
    [
        ({'reservation:a': '1'}, ('reservation:',), []),
        ({'reservation:a': '1', 'trait:b': '1'}, ('reservation:', 'trait:'), ['reservation:a']),
        ({'reservation:a': '1', 'trait:b': '1'}, ('reservation:',), []),
    ],
)
def test_a_reservation_with_a_forbidden_prefix_is_a_problem(metadata, forbidden, problems):
    values = {REQUIRED_PREFIX.key: 'reservation:', FORBIDDEN_PREFIXES.key: forbidden}
    aggregate = Aggregate('u', 'fast', metadata=metadata)
    found = check.contradicting_prefixes(Settings(values=values), [aggregate])
    assert [each.what for each in found] == problems


def test_an_aggregate_that_differs_is_reported_with_the_host_and_the_direction():
    lacking = Host('a', 'cmp-1').but(unmirrored=frozenset('u'))
    stale = Host('b', 'cmp-2').but(stale_aggregates=frozenset('u'))
    hosts, aggregates = (lacking, stale, Host('c', 'cmp-3')), (Aggregate('u', 'fast'),)
    found = check.differing_aggregates(Cloud(hosts, aggregates))
    assert [(each.what, each.details) for each in found] == [
        ('cmp-1', 'is in fast in Nova, but not in Placement'),
        ('cmp-2', 'is in fast in Placement, but not in Nova'),
    ]


def test_an_unfinished_action_of_a_dead_engine_is_a_problem():
    (found,) = check.abandoned([AbandonedAction('a1', 'CLUSTER_SCALE_OUT', 'c1')])
    assert found[:2] == ('a1', 'CLUSTER_SCALE_OUT of c1 lost its engine')
    assert 'see "Operations"' in found.fix


@pytest.mark.parametrize(
    ('is_allowed', 'problems'),
    [
        ((True, True, False), []),
        ((True, False, False), ['placement:list']),
        ((True, True, True), ['servers:index']),
    ],
)
def test_missing_and_superfluous_rights_are_problems(is_allowed, problems):
    answers = zip(('nova:list', 'placement:list', 'servers:index'), is_allowed, strict=True)
    assert [each.what for each in check.rights(answers, 'servers:index')] == problems
