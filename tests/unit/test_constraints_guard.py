"""A constraint has one file, one entry point and one table; ``test_manual`` checks its page.

The tests run for every constraint in ``setup.cfg``, so a new one fails until it has all.
"""

import configparser
import importlib
from pathlib import Path

import pytest

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.scenario.constraint import is_of_domains, is_of_hosts, is_of_requests
from tests.support.our_constraints import OURS
from tests.support.tables import CASES, read

ROOT = Path(__file__).parents[2]
PARTS = {*Cloud.__struct_fields__}


def registered():
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg', encoding='utf-8')
    lines = parser['options.entry_points']['senlin_affinity.constraints'].strip().splitlines()
    return dict(line.replace(' ', '').split('=') for line in lines if not line.startswith('#'))


REGISTERED = registered()


KINDS = {'host': is_of_hosts, 'domain': is_of_domains, 'request': is_of_requests}


def levels(constraint):
    return [level for level, applies in KINDS.items() if applies(constraint)]


@pytest.fixture(params=REGISTERED)
def constraint(request):
    module, _colon, kind = REGISTERED[request.param].partition(':')
    made = getattr(importlib.import_module(module), kind)()
    assert made.name == request.param
    return made


def test_it_has_an_own_file(constraint):
    module = type(constraint).__module__
    assert module == f'senlin_affinity.constraints.{constraint.name}'
    files = (ROOT / 'senlin_affinity/constraints').glob('*.py')
    assert {path.stem for path in files} - {'__init__', 'base'} == set(REGISTERED)


#: The facts of the request in a caveat.
OF_REQUEST = {'image_hypervisor': '{asked}'}


def test_an_at_most_names_no_host(constraint):
    """The "at most" is in the line, which every user may read."""
    caveats = [reason.caveat for reason in constraint.reasons.values()]
    texts = [each.replace(OF_REQUEST.get(constraint.name, ''), '') for each in caveats]
    assert [each for each in texts if '{' in each or each.endswith('.')] == []


def test_it_has_all_declarations(constraint):
    assert levels(constraint)
    assert constraint.summary
    assert not constraint.summary.endswith('.')
    assert isinstance(constraint.order, int)
    assert isinstance(constraint.filters, tuple)
    assert constraint.reasons
    assert constraint.needs
    assert set(constraint.needs) <= PARTS


def test_orders_are_unique():
    """The order of reasons must not depend on names."""
    orders = [kind.order for kind in OURS]
    assert len(set(orders)) == len(orders) == len(REGISTERED)


def test_it_has_a_table_with_a_row_for_every_code(constraint):
    """Each declared sentence must be rendered with its actual facts."""
    tables = [path.stem for path in CASES.glob(f'{constraint.name.split("_")[0]}*.yaml')]
    found = {row['code'] for table in tables for row in read(table) if 'code' in row}
    prefix = f'{constraint.name}.'
    whole = {code if '.' in code else prefix + code for code in found}
    assert {code for code in whole if code.startswith(prefix)} == set(constraint.reasons)
