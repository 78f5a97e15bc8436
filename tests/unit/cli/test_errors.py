"""An error determines the exit status and is printed in one line."""

import pytest

from senlin_affinity.cli import base
from senlin_affinity.model import errors


@pytest.mark.parametrize(
    ('error', 'invalid_spec_status', 'status'),
    [
        (errors.InvalidSpec('is wrong', 'properties.servergroup'), 2, 2),
        (errors.InvalidSpec('is wrong', 'properties.servergroup'), 3, 3),
        (base.UsageError('unknown column: x'), 3, 2),
        (errors.CloudError('no answer'), 3, 1),
        (errors.BindingError('cannot be read'), 3, 1),
        (errors.PluginError('does not load'), 3, 1),
        (ZeroDivisionError('division by zero'), 3, 1),
    ],
)
def test_an_error_has_an_exit_status(error, invalid_spec_status, status):
    assert base.status_of(error, invalid_spec_status) == status


@pytest.mark.parametrize(
    ('error', 'line'),
    [
        (errors.InvalidSpec('is wrong', 'properties.a'), 'error: properties.a: is wrong'),
        (errors.CloudError('no answer\n  from nova'), 'error: no answer from nova'),
        (errors.CloudError(''), 'error: CloudError'),
        (KeyError('x'), "unexpected error: KeyError: 'x' (--debug shows the traceback)"),
        (AssertionError(), 'unexpected error: AssertionError (--debug shows the traceback)'),
    ],
)
def test_an_error_is_printed_in_one_line(error, line):
    assert base.one_line(error) == line


def test_columns_are_matched_as_in_cliff():
    base.check_columns(['server_group', ' Policy '], ('Server Group', 'policy'))
    with pytest.raises(base.UsageError, match=r'unknown column: zone \(columns: Server Group'):
        base.check_columns(['server_group', 'zone'], ('Server Group', 'policy'))
