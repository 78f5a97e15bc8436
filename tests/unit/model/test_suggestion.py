"""Suggestions for an unknown word."""

import pytest

from senlin_affinity.model.suggestion import meant


@pytest.mark.parametrize(
    ('known', 'said'),
    [
        ((), 'there are none'),
        (('web', 'database'), 'did you mean web?'),
        (('database', 'mail'), 'choose from database, mail'),
        (
            [str(number) for number in range(51)],
            f'choose from {", ".join(map(str, range(50)))}, ...',
        ),
    ],
    ids=['there is none', 'one is near', 'none is near', 'too many'],
)
def test_an_unknown_word(known, said):
    assert meant('wbe', known) == said
