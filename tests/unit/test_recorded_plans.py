"""The answers of the recorded plans do not change, and cover all constraints and remedies."""

import pytest

from tests.recordings import plans

CASES = plans.read(plans.INPUTS)
ANSWERS = plans.read(plans.ANSWERS)
NAMES = [case['name'] for case in CASES]


@pytest.mark.parametrize(('case', 'recorded'), [*zip(CASES, ANSWERS, strict=True)], ids=NAMES)
def test_an_answer_is_as_it_was_recorded(case, recorded):
    """After an intended change, run ``python -m tests.recordings.plans``; review the difference."""
    found = plans.answer(case)
    assert plans.without_words(found) == plans.without_words(recorded)
    assert found == recorded


def test_every_constraint_and_every_remedy_occurs():
    """If one is missing, append a line to ``plan_inputs.jsonl`` and raise ``NUMBER``."""
    found = set().union(*map(plans.occurring, ANSWERS))
    assert (sorted(plans.wanted() - found), len(CASES)) == ([], plans.NUMBER)


def test_words_are_left_out_at_any_depth():
    answer = {'line': 'fits', 'fits': True, 'remedies': [{'code': 'hosts', 'change': '1 host'}]}
    assert plans.without_words(answer) == {'fits': True, 'remedies': [{'code': 'hosts'}]}
