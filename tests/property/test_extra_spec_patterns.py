"""No shipped pattern is slow on any value: steps are counted, not seconds (D4-08)."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.extra_specs.registry import Registry
from senlin_affinity.extra_specs.validators import patterns
from tests.support.backtracking import TooManySteps, matches

LENGTH = 255
#: Steps that a matcher may take for each letter.
SLOPE = 20

DOCUMENTS_MAP = r'\^?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*'
NOVAS_NAMES = r'([a-zA-Z0-9_]+(,)?)+'
ALPHABET = 'a0_-,:^ kBA.\n'


def shipped():
    """Each pattern of a value, and each of both sides of a name."""
    found = {}
    for validator in Registry().validators:
        if validator.value.pattern is not None:
            found.setdefault(validator.value.pattern, validator.name)
        for part in validator.parts:
            if part is not None and not part.is_literal:
                found.setdefault(part.regex.pattern, validator.name)
    return [pytest.param(pattern, id=name) for pattern, name in found.items()]


SHIPPED = shipped()
PATTERNS = [param.values[0] for param in SHIPPED]


def check(pattern, text):
    matches(pattern, text, SLOPE * (len(text) + 10))


def pumped(word, before='', behind=''):
    """A text of the greatest length that repeats a word."""
    room = LENGTH - len(before) - len(behind)
    return before + (word * LENGTH)[:room] + behind


@pytest.mark.parametrize('pattern', SHIPPED)
def test_repeated_words_take_few_steps(pattern):
    head = re.split(r'\(\?:', pattern, maxsplit=1)[0].replace('\\', '')
    for before in dict.fromkeys(('', 'a:1', '0', head)):
        for word in itertools.chain.from_iterable(
            itertools.product(ALPHABET, repeat=size) for size in (1, 2)
        ):
            check(pattern, pumped(''.join(word), before, '\x00'))


@given(
    st.sampled_from(PATTERNS),
    st.text(ALPHABET, max_size=6),
    st.text(ALPHABET, min_size=1, max_size=8),
    st.text([*ALPHABET, '\x00'], max_size=6),
)
def test_pumped_values_take_few_steps(pattern, before, word, behind):
    check(pattern, pumped(word, before, behind))


@given(st.sampled_from(PATTERNS), st.data())
def test_values_that_match_but_for_their_end_take_few_steps(pattern, data):
    text = data.draw(st.from_regex(pattern, fullmatch=True))[: LENGTH - 1]
    check(pattern, text + '\x00')
    check(pattern, (text * LENGTH)[: LENGTH - 1] + '\x00')


@given(st.sampled_from(PATTERNS), st.text(ALPHABET, max_size=12))
def test_the_counter_matches_what_python_matches(pattern, text):
    """So that the steps that it counts are those of this pattern."""
    assert matches(pattern, text, 10_000) is (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize('pattern', [DOCUMENTS_MAP, NOVAS_NAMES])
def test_the_counter_finds_the_slow_ones(pattern):
    with pytest.raises(TooManySteps):
        check(pattern, '0' * 62 + '!')


@pytest.mark.parametrize(
    ('ours', 'theirs', 'alphabet', 'length'),
    [
        (patterns.CPU_MAP, DOCUMENTS_MAP, '0-,^', 7),
        (patterns.NAMES, NOVAS_NAMES, 'a0,-', 7),
        (patterns.ALIASES, r'[^:]+:\d+(?:\s*,\s*[^:]+:\d+)*', 'a1:, ', 7),
        (patterns.PAGE_SIZE, r'(large|small|any|\d+([kKMGT]i?)?(b|bit|B)?)', '1kibtB', 6),
    ],
)
def test_the_linear_form_takes_the_same_values(ours, theirs, alphabet, length):
    """D4-08: on every value of these letters up to this length (the longest are still short)."""
    one, other = re.compile(f'(?:{ours})'), re.compile(f'(?:{theirs})')
    for size in range(length + 1):
        for letters in itertools.product(alphabet, repeat=size):
            text = ''.join(letters)
            assert bool(one.fullmatch(text)) is bool(other.fullmatch(text)), text
