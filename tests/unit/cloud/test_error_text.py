"""An exception is described in one line."""

import pytest

from senlin_affinity.cloud import transport


def caused(text, *causes):
    """Return an error whose causes include itself, so the chain has no end."""
    error = ValueError(text, *causes)
    error.__cause__ = error
    return error


@pytest.mark.parametrize(
    ('error', 'message'),
    [
        (ValueError('it is\n odd'), 'it is odd'),
        (ValueError(), 'ValueError'),
        (ValueError('x' * 300), 'x' * 300),
        (ValueError('word ' * 100), 'word ' * 59 + 'word...'),
        (OSError(111, 'refused'), 'refused'),
        (caused('', OSError(111, 'refused'), OSError(113, 'no route')), 'refused'),
        (caused('odd'), 'odd'),
        (ValueError('a\x1b[31mb\x9bc\u202ed'), r'a\x1b[31mb\x9bc\u202ed'),
    ],
)
def test_an_error_is_one_line(error, message):
    assert transport.error_text(error) == message
