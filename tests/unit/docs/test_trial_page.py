"""The page on what an owner learns has every sentence and every remedy that an owner can read."""

from pathlib import Path

import pytest

from senlin_affinity.core.constraint import is_of_hosts
from senlin_affinity.policy import trial
from tests.support.our_constraints import OURS
from tests.unit.policy.test_trial import OWNERS

PAGE = (Path(__file__).parents[3] / 'doc/source/user/trial.rst').read_text(encoding='utf-8')
SAID = {
    reason.for_owner
    for kind in OURS
    if is_of_hosts(kind)
    for reason in kind.reasons.values()
    if reason.for_owner is not None
}


@pytest.mark.parametrize('words', sorted({*SAID, *OWNERS, trial.NOBODY, trial.NOT_KNOWN}))
def test_it_is_on_the_page(words):
    assert f'``{words}``' in ' '.join(PAGE.split())
