"""What a plan reads of a file: this project's options, and the filters of nova.conf."""

import pytest
from oslo_config import cfg

from senlin_affinity.cli import config_file
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import DEFAULT_FILTERS, Rules

OURS, NOVAS = '[affinity] enabled_filters', '[filter_scheduler] enabled_filters'
LIMITED = '[scheduler] limit_tenants_to_placement_aggregate'
NOVA_CONF = """
[DEFAULT]
my_ip = 192.0.2.1
transport_url = rabbit://openstack:secret@$my_ip:5672//
[scheduler]
workers = 2
limit_tenants_to_placement_aggregate = true
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = acme.filters.RackFilter
enabled_filters = ComputeFilter, AggregateInstanceExtraSpecsFilter,
    RackFilter
enabled_filters_of_another_time = nothing
"""


def filters(ours=None, novas=None):
    lines = [] if ours is None else ['[affinity]', f'enabled_filters = {ours}']
    lines += [] if novas is None else ['[filter_scheduler]', f'enabled_filters = {novas}']
    return '\n'.join(lines)


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / 'some.conf'
        path.write_text(text, encoding='utf-8')
        return config_file.read(str(path))

    return read_text


def test_a_nova_conf(read):
    """Options of many lines, and options that repeat, are Nova's own."""
    assert read(NOVA_CONF) == config_file.Options(
        ('ComputeFilter', 'AggregateInstanceExtraSpecsFilter', 'RackFilter'),
        Rules.of(are_tenants_limited=True),
        (NOVAS, LIMITED),
    )


@pytest.mark.parametrize(
    ('text', 'counts', 'found', 'is_ambiguous'),
    [
        pytest.param('', DEFAULT_FILTERS, (), False, id='nothing'),
        pytest.param('[affinity]\nrequest_timeout = 5', DEFAULT_FILTERS, (), False, id='a timeout'),
        pytest.param(filters('A'), ('A',), (OURS,), False, id='ours'),
        pytest.param(filters(None, 'A,B'), ('A', 'B'), (NOVAS,), False, id="Nova's"),
        pytest.param(filters(None, ''), (), (NOVAS,), False, id="Nova's, no filter"),
        pytest.param(filters('A', 'B'), ('A',), (OURS,), True, id='two that differ'),
        pytest.param(filters('A,B', 'B, A'), ('A', 'B'), (OURS,), False, id='two alike'),
        pytest.param(filters('', 'A'), (), (OURS,), True, id='ours is empty'),
    ],
)
def test_which_filters_count(read, text, counts, found, is_ambiguous):
    assert read(text) == config_file.Options(counts, Rules(), found, is_ambiguous)


@pytest.mark.parametrize(
    ('text', 'found'),
    [(filters('A'), ()), (filters('A', 'B'), ()), (NOVA_CONF, (LIMITED,))],
    ids=['ours', 'two', "Nova's, and a rule"],
)
def test_filters_that_are_known_otherwise(read, text, found):
    options = read(text).without_filters()
    assert (options.filters, options.found, options.is_ambiguous) == (None, found, False)


def test_the_environment_is_no_part_of_a_file(read, monkeypatch):
    monkeypatch.setenv('OS_FILTER_SCHEDULER__ENABLED_FILTERS', 'X')
    monkeypatch.setenv('OS_AFFINITY__ENABLED_FILTERS', 'Y')
    assert read(filters(None, 'A')) == config_file.Options(('A',), Rules(), (NOVAS,))
    assert read('') == config_file.Options(DEFAULT_FILTERS)


def test_every_option_that_reaches_the_constraints_is_told(read):
    """And no other: a plan waits as long as --timeout says, and creates no group."""
    given = {
        'drs_pattern': 'x',
        'placement_req_required_member_prefix': 'x',
        'placement_req_default_forbidden_member_prefix': 'x',
        'enable_isolated_aggregate_filtering': 'true',
        'limit_tenants_to_placement_aggregate': 'true',
        'placement_aggregate_required_for_tenants': 'true',
    }
    for name, value in given.items():
        group = 'affinity' if name == 'drs_pattern' else 'scheduler'
        options = read(f'[{group}]\n{name} = {value}')
        assert options.found == (f'[{group}] {name}',)
        assert options.rules != Rules()


def test_a_value_that_is_not_valid(read):
    with pytest.raises(InvalidSpec, match=r'some\.conf: .*perhaps'):
        read('[scheduler]\nlimit_tenants_to_placement_aggregate = perhaps')


def test_the_process_s_own_options_stay(read):
    read(filters('A', 'B'))
    assert 'filter_scheduler' not in cfg.CONF
