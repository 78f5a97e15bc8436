"""The fake Nova returns the recorded responses of the real Nova."""

import pytest

from tests.recordings import exchanges, files
from tests.support import fake_nova

NOVA = fake_nova.FakeNova(quota=exchanges.SERVER_GROUPS_QUOTA, url='http://nova.test/v2.1')
NOVA.is_recorded = True
REPLAYED = exchanges.exchange_all(NOVA)
RECORDED = files.load()


@pytest.mark.parametrize('recorded', exchanges.MICROVERSIONS)
def test_the_fake_returns_the_recorded_responses(recorded):
    replayed, content = REPLAYED[recorded], RECORDED[recorded]
    assert replayed['answers'] == content['answers']
    assert list(replayed['answers']) == list(content['answers'])
    assert replayed['microversion'] == content['microversion']
