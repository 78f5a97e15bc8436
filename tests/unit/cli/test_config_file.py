"""A plan reads our options and Nova's filters from a configuration file."""

import pytest
from oslo_config import cfg

from senlin_affinity.cli import config_file
from senlin_affinity.conf import opts
from senlin_affinity.conf.oslo_options import Settings
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.option import Option

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
    def read_text(text, **more):
        path = tmp_path / 'some.conf'
        path.write_text(text, encoding='utf-8')
        return config_file.read(str(path), **more)

    return read_text


def test_the_filters_of_a_nova_conf_are_read(read):
    """Multi-line and repeated options are parsed as in Nova."""
    assert read(NOVA_CONF) == Settings(
        ('ComputeFilter', 'AggregateInstanceExtraSpecsFilter', 'RackFilter'),
        {'are_tenants_limited': True},
        frozenset({'are_tenants_limited'}),
        (NOVAS, LIMITED),
    )


@pytest.mark.parametrize(
    ('text', 'used', 'found', 'is_ambiguous'),
    [
        pytest.param('', None, (), False, id='an empty file'),
        pytest.param('[affinity]\nrequest_timeout = 5', None, (), False, id='an unrelated option'),
        pytest.param(filters('A'), ('A',), (OURS,), False, id='our option'),
        pytest.param(filters(None, 'A,B'), ('A', 'B'), (NOVAS,), False, id="Nova's option"),
        pytest.param(filters(None, ''), (), (NOVAS,), False, id="Nova's option without a filter"),
        pytest.param(
            filters('A', 'B'), ('A',), (OURS,), True, id='both options with other filters'
        ),
        pytest.param(
            filters('A,B', 'B, A'), ('A', 'B'), (OURS,), False, id='both options with equal filters'
        ),
        pytest.param(filters('', 'A'), (), (OURS,), True, id='our option without a filter'),
    ],
)
def test_our_option_precedes_novas(read, caplog, text, used, found, is_ambiguous):
    assert read(text) == Settings(used, found=found)
    assert ('takes precedence' in caplog.text) == is_ambiguous
    assert ('no option that affects a plan' in caplog.text) == (not found)


@pytest.mark.parametrize(
    ('text', 'found'),
    [(filters('A'), ()), (filters('A', 'B'), ()), (NOVA_CONF, (LIMITED,))],
    ids=['our option', 'both options', "Nova's option and another one"],
)
def test_specified_filters_are_not_read(read, caplog, text, found):
    options = read(text, are_filters_given=True)
    assert (options.filters, options.found) == (None, found)
    assert caplog.text == ''


def test_environment_variables_are_ignored(read, monkeypatch):
    monkeypatch.setenv('OS_FILTER_SCHEDULER__ENABLED_FILTERS', 'X')
    monkeypatch.setenv('OS_AFFINITY__ENABLED_FILTERS', 'Y')
    assert read(filters(None, 'A')) == Settings(('A',), found=(NOVAS,))
    assert read('') == Settings()


@pytest.mark.parametrize('option', opts.options_of(()), ids=lambda option: option.dest)
def test_every_option_of_the_constraints_is_reported(read, option):
    """Other options are not: a plan uses --timeout, and creates no group."""
    value = {bool: not option.default, int: 7}.get(type(option.default), 'x')
    value = 'nova' if option.default == 'pinning' else value
    found = read(f'[{option.group}]\n{option.dest} = {value}')
    assert found.found == (f'[{option.group}] {option.dest}',)
    assert list(found.values) == [option.key] == [*found.keys]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (
            '[scheduler]\nlimit_tenants_to_placement_aggregate = perhaps',
            "[scheduler] limit_tenants_to_placement_aggregate: Unexpected boolean value 'perhaps'",
        ),
        (
            '[quota]\ncount_usage_from_placement = $nothing',
            '[quota] count_usage_from_placement: no such option nothing in group [DEFAULT]',
        ),
        ('[affinity]\nmost = x', "[affinity] most: must be an integer, not 'x'"),
        ('[affinity]\nmost = -1', '[affinity] most: Should be greater than or equal to 0'),
        ('[affinity]\nshare = x', "[affinity] share: must be a number, not 'x'"),
    ],
)
def test_an_invalid_value_is_an_error(read, tmp_path, text, words):
    class Odd:
        options = (Option('most', 2, 'Servers.', minimum=0), Option('share', 0.5, 'Share.'))

    with pytest.raises(InvalidSpec) as caught:
        read(text, constraints=[Odd()])
    assert str(caught.value).startswith(f'{tmp_path / "some.conf"}: {words}')


def test_the_global_options_are_unchanged(read):
    read(filters('A', 'B'))
    assert 'filter_scheduler' not in cfg.CONF
