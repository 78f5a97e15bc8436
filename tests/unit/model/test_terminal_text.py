"""Text that is safe for a terminal."""

import pytest

from senlin_affinity.model.terminal_text import escaped, is_plain, signed


@pytest.mark.parametrize(
    ('text', 'as_escapes', 'as_signs'),
    [
        ('a\x1b[31m', r'a\x1b[31m', 'a?[31m'),
        ('a\nb', r'a\nb', 'a?b'),
        ('\x00\x7f\x9b', r'\x00\x7f\x9b', '???'),
        ('\u2028\u2029', r'\u2028\u2029', '??'),
        ('\ud800', r'\ud800', '?'),
    ],
)
def test_unsafe_characters(text, as_escapes, as_signs):
    assert not is_plain(text)
    assert escaped(text) == as_escapes
    assert signed(text) == as_signs
    assert is_plain(as_escapes)


@pytest.mark.parametrize(
    'text', ['', 'a b', r'C:\x1b', 'é', '\u00a0', '\u3000', '\U0001f600', '\ue000']
)
def test_safe_characters(text):
    assert is_plain(text)
    assert escaped(text) == signed(text) == text
