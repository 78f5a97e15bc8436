"""The examples and the table on the operator's page of the aggregate filter are correct."""

import re
import textwrap
from types import SimpleNamespace

import pytest
import yaml
from nova.scheduler.filters.aggregate_instance_extra_specs import AggregateInstanceExtraSpecsFilter
from oslo_config import cfg

from senlin_affinity.nova import aggregate_metadata
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('howto/aggregate-filter.rst')
EXAMPLES = [
    yaml.safe_load(text)
    for text in re.findall(r'^\.\. code-block:: yaml\n\n((?:(?: {3}.*)?\n)+)', PAGE, re.MULTILINE)
]
DIFFERENCES = table(PAGE, 'aggregate-filter-differences')


@pytest.mark.parametrize('example', EXAMPLES, ids=lambda each: each['example'])
def test_the_constraint_agrees_with_the_examples(example):
    aggregates = example['aggregates']
    hosts = example.get('hosts') or {name: [name] for name in aggregates}
    for flavor, extra_specs in example['flavors'].items():
        taken = {
            host
            for host, names in hosts.items()
            if aggregate_metadata.check(extra_specs, [aggregates[name] for name in names])
        }
        assert taken == {*example['takes'][flavor]}, flavor


@pytest.mark.parametrize('row', DIFFERENCES, ids=lambda row: f'{row[0]} on {row[1]}')
def test_a_row_of_the_table_agrees_with_both_filters(row):
    """R0-12, R0-27, R0-29, R0-32, D0-12, D0-16: as on the operator's page."""
    extra_specs, metadata = (yaml.safe_load(cell) for cell in row[:2])
    novas, ours = row[2:4]
    host = SimpleNamespace(host='h', aggregates=[SimpleNamespace(name='a', metadata=metadata)])
    asked = SimpleNamespace(flavor=Flavor(name='f', extra_specs=extra_specs))
    assert answer(AggregateInstanceExtraSpecsFilter(), host, asked) == novas
    assert answer(AggregateInstanceTypeFilter(), host, asked) == ours
    assert bool(aggregate_metadata.check(extra_specs, [metadata])) is (ours == 'passes')
    assert novas != ours


class Flavor(SimpleNamespace):
    """A flavor in which, as in Nova's, ``in`` checks whether an attribute was loaded."""

    def __contains__(self, attribute):
        return hasattr(self, attribute)


def answer(judge, host, asked):
    try:
        return 'passes' if judge.host_passes(host, asked) else 'rejects'
    except (IndexError, ValueError):
        return 'raises'


def test_the_class_in_nova_conf_exists(tmp_path):
    (line,) = (line for line in PAGE.splitlines() if '= senlin_affinity.' in line)
    module, _, name = line.partition('= ')[2].rpartition('.')
    assert (module, name) == (AggregateInstanceTypeFilter.__module__, 'AggregateInstanceTypeFilter')
    block = re.search(r'( +)enabled_filters = .*\n(?:\1 .*\n)+', PAGE)[0]
    (tmp_path / 'nova.conf').write_text(f'[filter_scheduler]\n{textwrap.dedent(block)}')
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.ListOpt('enabled_filters'), 'filter_scheduler')
    conf(['--config-file', str(tmp_path / 'nova.conf')])
    enabled = conf.filter_scheduler.enabled_filters
    assert enabled[-1] == name
    assert len(enabled) == len({*enabled}) == 6
    assert AggregateInstanceExtraSpecsFilter.__name__ not in enabled
