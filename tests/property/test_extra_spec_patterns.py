"""No shipped pattern is slow on any value (D4-08)."""

import itertools
import re
import signal

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from senlin_affinity.extra_specs.registry import Registry
from senlin_affinity.extra_specs.validators import patterns

#: On this many characters, a linear pattern takes milliseconds, others take minutes.
LENGTH = 100_000
#: Seconds of CPU time, which does not depend on the load of the machine.
LIMIT = 10

DOCUMENTS_MAP = r'\^?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*'
NOVAS_NAMES = r'([a-zA-Z0-9_]+(,)?)+'
ALPHABET = 'a0_-,:^ kBA.\n'


def shipped():
    """Return the patterns of all values, and of both sides of all names."""
    found = {}
    for validator in Registry().validators:
        if validator.value.pattern is not None:
            found.setdefault(validator.value.pattern, validator.name)
        for part in validator.parts:
            if part is not None and not part.is_literal:
                found.setdefault(part.regex.pattern, validator.name)
    return [pytest.param(pattern, id=name) for pattern, name in found.items()]


SHIPPED = shipped()


@pytest.fixture(scope='module', autouse=True)
def _interrupted():
    """Stop a slow match by a signal, which the matcher checks regularly."""

    def interrupt(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, interrupt)
    yield
    signal.signal(signal.SIGVTALRM, before)


def check(pattern, *texts):
    """Check that the texts are matched or rejected within the limit."""
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        for text in texts:
            re.fullmatch(pattern, f'{text[:LENGTH]}\n\x00')
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.mark.parametrize('pattern', SHIPPED)
def test_repeated_words_are_matched_quickly(pattern):
    head = re.split(r'\(\?:', pattern, maxsplit=1)[0].replace('\\', '')
    words = (*itertools.product(ALPHABET, repeat=2), *itertools.product('0-,', repeat=4))
    for before in dict.fromkeys(('', 'a:1', 'a:1,', head)):
        check(pattern, *(before + ''.join(word) * LENGTH for word in words))


@settings(phases=[Phase.generate], max_examples=30)
@given(st.sampled_from([param.values[0] for param in SHIPPED]), st.data())
def test_values_with_a_wrong_end_are_rejected_quickly(pattern, data):
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    check(pattern, text, text * LENGTH, text + text[-1:] * LENGTH)


@pytest.mark.parametrize(
    ('ours', 'theirs', 'alphabet', 'length'),
    [
        (patterns.CPU_MAP, DOCUMENTS_MAP, '0-,^', 7),
        (patterns.NAMES, NOVAS_NAMES, 'a0,-', 7),
        (patterns.ALIASES, r'[^:]+:\d+(?:\s*,\s*[^:]+:\d+)*', 'a1:, ', 7),
        (patterns.PAGE_SIZE, r'(large|small|any|\d+([kKMGT]i?)?(b|bit|B)?)', '1kibtB', 6),
    ],
)
def test_the_linear_pattern_accepts_the_same_values(ours, theirs, alphabet, length):
    """D4-08: on every value of these letters up to this length."""
    one, other = re.compile(f'(?:{ours})'), re.compile(f'(?:{theirs})')
    for size in range(length + 1):
        for letters in itertools.product(alphabet, repeat=size):
            text = ''.join(letters)
            assert bool(one.fullmatch(text)) is bool(other.fullmatch(text)), text
