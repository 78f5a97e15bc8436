"""The fake Nova answers every recorded request as the real one did."""

import pytest

from tests.recordings import exchanges, files
from tests.support import fake_nova

REPLAYED = exchanges.exchange_all(
    fake_nova.FakeNova(quota=exchanges.SERVER_GROUPS_QUOTA, hosts=fake_nova.RECORDED_HOSTS)
)
CASES = [
    (recorded, name)
    for recorded in exchanges.MICROVERSIONS
    for name in files.load(recorded)['answers']
]


@pytest.mark.parametrize(('recorded', 'name'), CASES, ids=lambda case: case)
def test_the_fake_answers_like_the_record(recorded, name):
    assert REPLAYED[recorded]['answers'][name] == (files.load(recorded)['answers'][name])


def test_no_recorded_answer_is_forgotten():
    for recorded in exchanges.MICROVERSIONS:
        content = files.load(recorded)
        assert list(REPLAYED[recorded]['answers']) == list(content['answers'])
        assert REPLAYED[recorded]['microversion'] == content['microversion']
