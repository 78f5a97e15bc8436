"""Suggestions for an unknown word."""

import pytest

from senlin_affinity.model.suggestion import meant, nearest, typo_of


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


def test_a_word_with_the_same_letters_is_preferred():
    assert nearest('wbe', ['web', 'wbes']) == 'web'


@pytest.mark.parametrize(
    ('known', 'typo'),
    [
        ('resourcx', 'resourcx'),
        ('resource_ids', 'resource_ids'),
        ('resourcxyz', 'resourcxyz'),
        ('resource_id_0', None),
        ('resouxxe', None),
    ],
)
def test_a_typo_differs_by_one_letter_or_a_few_extra_letters(known, typo):
    assert nearest('resource', [known]) == known
    assert typo_of('resource', [known]) == typo
