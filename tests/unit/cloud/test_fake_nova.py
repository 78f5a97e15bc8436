"""The fake Nova answers every recorded request as the real one did."""

import pytest

from tests.recordings import exchanges, files
from tests.support import fake_nova

REPLAYED = exchanges.exchange_all(
    fake_nova.FakeNova(quota=exchanges.SERVER_GROUPS_QUOTA, url='http://nova.test/v2.1')
)
RECORDED = files.load()


@pytest.mark.parametrize('recorded', exchanges.MICROVERSIONS)
def test_the_fake_answers_like_the_record(recorded):
    replayed, content = REPLAYED[recorded], RECORDED[recorded]
    assert replayed['answers'] == content['answers']
    assert list(replayed['answers']) == list(content['answers'])
    assert replayed['microversion'] == content['microversion']
