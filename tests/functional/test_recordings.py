"""The recorded answers are still those of the real Nova.

Where this fails: ``make recordings``, and look at what changed (git diff) before it is committed.
"""

import pytest

from tests.recordings import files, record, snapshot


@pytest.mark.long
def test_recording_again_changes_no_byte():
    recorded = files.NOVA.read_text(encoding='utf-8').splitlines()
    assert files.render(files.merge(record.record())).splitlines() == recorded


def test_what_a_snapshot_asks_is_answered_like_its_record():
    fresh, recorded = (
        {name: (answer['status'], snapshot.shape(answer['body'])) for name, answer in each.items()}
        for each in (record.record_snapshot(), snapshot.load())
    )
    assert fresh == recorded
