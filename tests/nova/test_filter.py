"""The aggregate filter with Nova's own host states, aggregates, flavors and requests."""

import logging

import pytest
from nova.objects.aggregate import Aggregate
from nova.objects.flavor import Flavor
from nova.objects.request_spec import RequestSpec
from nova.scheduler import filters
from nova.scheduler.host_manager import HostState
from oslo_config import cfg

from senlin_affinity.plugins.nova import aggregate_filter, options
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter

FORCED = {'rack': 'a', 'force_metadata_check': 'True'}
INSTANCE = '6f1f7a7c-4c7d-4a55-9ad5-0c8a3c1a7a10'


def host(*aggregates, name='cmp-1'):
    state = HostState(name, name, None)
    state.aggregates = [Aggregate(name=f'agg-{i}', metadata=m) for i, m in enumerate(aggregates)]
    return state


def request(extra_specs, **more):
    flavor = Flavor(name='m1.ssd', extra_specs=extra_specs)
    return RequestSpec(flavor=flavor, instance_uuid=INSTANCE, **more)


def test_d0_14_it_is_a_filter_of_current_nova():
    """Nova loads it by its path, runs it once per request, and not for a rebuild."""
    path = f'{aggregate_filter.__name__}.{AggregateInstanceTypeFilter.__name__}'
    handler = filters.HostFilterHandler()
    (found,) = handler.get_matching_classes([path])
    assert found is AggregateInstanceTypeFilter
    state, asked = host({'ssd': '2'}), request({'ssd': '1'})
    assert handler.get_filtered_objects([found()], [state], asked, index=0) == []
    assert handler.get_filtered_objects([found()], [state], asked, index=1) == [state]
    rebuild = request({'ssd': '1'}, scheduler_hints={'_nova_check_type': ['rebuild']})
    assert handler.get_filtered_objects([found()], [state], rebuild) == [state]


def test_a_flavor_without_loaded_extra_specs():
    """Nova's object would read them from a database that a scheduler may not have."""
    asked, judge = RequestSpec(flavor=Flavor(name='m1.tiny')), AggregateInstanceTypeFilter()
    assert judge.host_passes(host({'ssd': 'true'}), asked) is True
    assert judge.host_passes(host({'ssd': '1', 'force_metadata_check': '1'}), asked) is False


def test_changed_metadata_are_used():
    """The cache depends on the content, not on the object."""
    state, asked, judge = host({'ssd': '1'}), request({'ssd': '1'}), AggregateInstanceTypeFilter()
    assert judge.host_passes(state, asked) is True
    state.aggregates[0].metadata['ssd'] = '2'
    assert judge.host_passes(state, asked) is False
    asked.flavor.extra_specs['ssd'] = '2'
    assert judge.host_passes(state, asked) is True


@pytest.fixture
def modes():
    """Return a function that sets an option of nova.conf."""
    options.settings()
    yield lambda name, value: cfg.CONF.set_override(name, value, group='affinity')
    for option in options.OPTIONS:
        cfg.CONF.clear_override(option.dest, group='affinity')


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.levelname == 'INFO']


def test_the_mode_log_rejects_no_host_and_logs_the_mismatches(modes, caplog):
    caplog.set_level(logging.INFO, 'senlin_affinity.plugins.nova_filter')
    modes('aggregate_filter', 'log')
    hosts = [host({'ssd': '2'}, name='cmp-1'), host({'ssd': '1'}, name='cmp-2')]
    passing = AggregateInstanceTypeFilter().filter_all(hosts, request({'ssd': '1'}))
    assert [*passing] == hosts
    (line,) = lines(caplog)
    assert line.startswith('flavor m1.ssd: would reject 1 host (cmp-1) of 2: ')
    assert 'ssd' in line.partition(' of 2: ')[2]
    names = ', '.join(f'cmp-{number}' for number in range(10))
    for number, end in ((10, ''), (12, ', ...')):
        caplog.clear()
        many = [host({'ssd': '2'}, name=f'cmp-{each}') for each in range(number)]
        [*AggregateInstanceTypeFilter().filter_all(many, request({'ssd': '1'}))]
        assert f'would reject {number} hosts ({names}{end}) of {number}: ' in lines(caplog)[0]


def test_the_mode_log_is_silent_if_every_host_passes(modes, caplog):
    caplog.set_level(logging.INFO, 'senlin_affinity.plugins.nova_filter')
    modes('aggregate_filter', 'log')
    hosts = [host({'ssd': '1'})]
    assert [*AggregateInstanceTypeFilter().filter_all(hosts, request({'ssd': '1'}))] == hosts
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ('value', 'metadata', 'difference'),
    [
        ('*', {}, '; AggregateInstanceExtraSpecsFilter rejects 1 host (cmp-2)'),
        ('1', {}, ''),
        ('!', {}, '; AggregateInstanceExtraSpecsFilter rejects 1 host (cmp-1)'),
        ('1', FORCED, '; AggregateInstanceExtraSpecsFilter accepts 1 host (cmp-2)'),
    ],
)
def test_the_mode_log_names_the_hosts_on_which_novas_filter_differs(
    modes, caplog, value, metadata, difference
):
    caplog.set_level(logging.INFO, 'senlin_affinity.plugins.nova_filter')
    modes('aggregate_filter', 'log')
    novas = 'AggregateInstanceExtraSpecsFilter'
    cfg.CONF.set_override('enabled_filters', [novas], group='filter_scheduler')
    try:
        hosts = [host({'rack': 'a'}, name='cmp-1'), host({'ssd': '1', **metadata}, name='cmp-2')]
        [*AggregateInstanceTypeFilter().filter_all(hosts, request({'ssd': value}))]
    finally:
        cfg.CONF.clear_override('enabled_filters', group='filter_scheduler')
    (line,) = lines(caplog)
    assert line.startswith(f'flavor m1.ssd: would reject {2 if metadata else 1} host')
    assert line.endswith(difference)
    assert bool(difference) == (novas in line)


@pytest.mark.parametrize(('on_error', 'is_passing'), [('reject', False), ('pass', True)])
def test_a_defect_of_the_filter_rejects_or_passes_as_the_option_says(
    modes, caplog, on_error, is_passing
):
    modes('aggregate_filter_on_error', on_error)
    state = host({'ssd': '1'})
    state.aggregates = None
    judge = AggregateInstanceTypeFilter()
    assert bool([*judge.filter_all([state, state], request({'ssd': '1'}))]) is is_passing
    errors = [record.getMessage() for record in caplog.records if record.levelname == 'ERROR']
    verb = 'passes' if is_passing else 'rejects'
    assert errors == [f'the aggregate filter failed, and {verb} host cmp-1']


def test_a_defect_of_the_mode_log_rejects_no_host(modes):
    modes('aggregate_filter', 'log')
    state = host({'ssd': '1'})
    state.aggregates = None
    assert [*AggregateInstanceTypeFilter().filter_all([state], request({'ssd': '1'}))] == [state]
