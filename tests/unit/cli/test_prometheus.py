"""Gauges for the textfile collector count the findings of each check."""

import io
from types import SimpleNamespace

import pytest

from senlin_affinity.cli.prometheus import PrometheusFormatter
from senlin_affinity.model.errors import AffinityError

COLUMNS = ('Check', 'State', 'Object', 'Details', 'Fix')
ROWS = [
    ('engines', 'finding', 'a', '', ''), ('engines', 'finding', 'b', '', ''),
    ('groups', 'ok', '', '', ''), ('actions', 'unknown', '', '', ''),
    ('options', 'not checked', '', '', ''),
]  # fmt: skip
GAUGES = (
    'senlin_affinity_findings{check="engines"} 2\n'
    'senlin_affinity_findings{check="groups"} 0\n'
    'senlin_affinity_findings{check="actions"} NaN\n'
)


def emit(output):
    stdout = io.StringIO()
    PrometheusFormatter().emit_list(COLUMNS, ROWS, stdout, SimpleNamespace(output=output))
    return stdout.getvalue()


def test_a_gauge_counts_findings_and_is_not_a_number_if_unknown():
    assert emit(None).endswith(GAUGES)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / 'status.prom'
    path.write_text('before')
    assert emit(str(path)) == ''
    assert path.read_text().endswith(GAUGES)
    assert [each.name for each in tmp_path.iterdir()] == ['status.prom']


def test_a_directory_that_does_not_exist_is_one_error_line(tmp_path):
    with pytest.raises(AffinityError, match='cannot be written: No such file'):
        emit(str(tmp_path / 'missing' / 'status.prom'))
