"""The operator's page of the aggregate filter: its examples, its words and its table are true."""

import logging
from types import SimpleNamespace

import pytest
import yaml
from nova.scheduler.filters.aggregate_instance_extra_specs import AggregateInstanceExtraSpecsFilter
from oslo_utils import strutils

from senlin_affinity.core import aggregate_metadata
from senlin_affinity.plugins.nova_filter import AggregateInstanceTypeFilter
from tests.support import worked_examples
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('admin/aggregate-filter.rst')
DIFFERENCES = table(PAGE, 'aggregate-filter-differences')


def test_the_rule_says_what_the_examples_say():
    cells = worked_examples.cells()
    verdicts = [aggregate_metadata.check(cell.extra_specs, cell.aggregates) for cell in cells]
    pairs = zip(cells, verdicts, strict=True)
    assert [(str(cell), said) for cell, said in pairs if bool(said) is not cell.is_taken] == []


@pytest.mark.parametrize('row', DIFFERENCES, ids=lambda row: f'{row[0]} on {row[1]}')
def test_a_row_of_the_table_is_so_in_both_filters(row):
    """R0-12, R0-27, R0-29, R0-32, D0-12, D0-16: as the operator's page says."""
    extra_specs, metadata = (yaml.safe_load(cell) for cell in row[:2])
    novas, ours = row[2:4]
    host = SimpleNamespace(host='h', aggregates=[SimpleNamespace(name='a', metadata=metadata)])
    asked = SimpleNamespace(flavor=Flavor(name='f', extra_specs=extra_specs))
    assert answer(AggregateInstanceExtraSpecsFilter(), host, asked) == novas
    assert answer(AggregateInstanceTypeFilter(), host, asked) == ours
    assert bool(aggregate_metadata.check(extra_specs, [metadata])) is (ours == 'passes')
    assert novas != ours


class Flavor(SimpleNamespace):
    """As with Nova's, ``in`` says whether an attribute was loaded."""

    def __contains__(self, attribute):
        return hasattr(self, attribute)


def answer(judge, host, asked):
    try:
        return 'passes' if judge.host_passes(host, asked) else 'rejects'
    except (IndexError, ValueError):
        return 'raises'


def test_the_words_that_force_are_all_there():
    """Q0-3: and oslo.utils has no others."""
    sentence = PAGE.partition('The words that force are ')[2].partition(', whatever')[0]
    told = sentence.replace('`', '').replace(' and ', ', ').replace('\n', ' ').split(', ')
    assert tuple(word.strip() for word in told) == strutils.TRUE_STRINGS


def test_the_class_of_nova_conf_is_there():
    (line,) = (line for line in PAGE.splitlines() if '= senlin_affinity.' in line)
    module, _, name = line.partition('= ')[2].rpartition('.')
    assert (module, name) == (AggregateInstanceTypeFilter.__module__, 'AggregateInstanceTypeFilter')
    (enabled,) = (line for line in PAGE.splitlines() if ' enabled_filters = ' in line)
    assert enabled.endswith(f',{name}')
    assert AggregateInstanceExtraSpecsFilter.__name__ not in enabled


def test_the_line_of_the_log_is_what_is_logged(caplog):
    caplog.set_level(logging.DEBUG, AggregateInstanceTypeFilter.__module__)
    racks = SimpleNamespace(name='racks', metadata={'ssd': 'false'})
    asked = SimpleNamespace(flavor=Flavor(name='m1.ssd', extra_specs={'ssd': 'true'}))
    host = SimpleNamespace(host='cmp-2', aggregates=[racks])
    assert not AggregateInstanceTypeFilter().host_passes(host, asked)
    (line,) = (line.strip() for line in PAGE.splitlines() if ': rejected (' in line)
    assert line in caplog.messages
