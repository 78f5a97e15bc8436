"""Which word a mistyped one was meant to be, and how far two words are from each other."""

import pytest

from senlin_affinity.extra_specs.spelling import Vocabulary, differing, distance, nearest


@pytest.mark.parametrize(
    ('word', 'known', 'meant'),
    [
        pytest.param('abcdef', 'abcdefgh', None, id='two letters of a short word'),
        pytest.param('cpu_polixx', 'cpu_policy', None, id='two letters that others replace'),
        pytest.param('abcdefghij', 'abxcdefyghij', 'abxcdefyghij', id='two letters of a long word'),
    ],
)
def test_near_enough(word, known, meant):
    assert nearest(word, [known]) == meant


@pytest.mark.parametrize('others', [5, 6])
def test_words_that_share_no_pair_of_letters(others):
    """Only among few words: all of those are compared."""
    words = Vocabulary(['b', *(f'other{number}' for number in range(others))])
    assert words.nearest('a') == ('b' if others == 5 else None)


@pytest.mark.parametrize(
    ('one', 'other', 'differ', 'letters'),
    [
        ('', 'ab', ('', 'ab'), 2),
        ('ab', 'b', ('a', ''), 1),
        ('b', 'ab', ('', 'a'), 1),
        ('ba', 'b', ('a', ''), 1),
        ('xab', 'yab', ('x', 'y'), 1),
        ('abab', 'ab', ('ab', ''), 2),
        ('aaa', 'a', ('aa', ''), 2),
        ('abcd', 'acbd', ('bc', 'cb'), 1),
        ('cab', 'abc', ('cab', 'abc'), 2),
    ],
)
def test_two_words(one, other, differ, letters):
    assert differing(one, other) == differ
    assert distance(one, other) == letters
    assert distance(*differ) == letters
