"""The recorded responses are still those of the real Nova.

If a test fails, run ``make recordings`` and check the differences before you commit them.
"""

import pytest

from tests.recordings import files, record, snapshot


@pytest.mark.long
def test_a_new_recording_equals_the_old_one():
    recorded = files.NOVA.read_text(encoding='utf-8').splitlines()
    assert files.render(files.merge(record.record())).splitlines() == recorded


@pytest.mark.long
def test_the_requests_of_a_snapshot_have_the_recorded_responses():
    fresh, recorded = (
        {name: (answer['status'], snapshot.shape(answer['body'])) for name, answer in each.items()}
        for each in (record.record_snapshot(), snapshot.load())
    )
    assert fresh == recorded
