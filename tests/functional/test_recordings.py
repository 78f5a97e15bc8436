"""The recorded answers are still those of the real Nova.

Where this fails: ``make recordings``, and look at what changed (git diff) before it is committed.
"""

import pytest

from tests.recordings import exchanges, files, record, snapshot


@pytest.fixture(scope='module')
def fresh():
    """Everything recorded again, in memory."""
    return record.record()


@pytest.mark.parametrize('recorded', exchanges.MICROVERSIONS)
def test_nova_answers_like_its_record(fresh, recorded):
    content = files.load()[recorded]

    assert fresh[recorded]['microversion'] == content['microversion']
    assert list(fresh[recorded]['answers']) == list(content['answers'])
    for name, answer in content['answers'].items():
        assert fresh[recorded]['answers'][name] == answer, name


def test_recording_again_changes_no_byte(fresh):
    text = files.render(files.merge(fresh)) + '\n'
    assert text == files.NOVA.read_text(encoding='utf-8')


def test_what_a_snapshot_asks_is_answered_like_its_record():
    fresh, content = record.record_snapshot(), snapshot.load()

    assert list(fresh) == list(content)
    for name, answer in content.items():
        assert fresh[name]['status'] == answer['status'], name
        assert snapshot.shape(fresh[name]['body']) == snapshot.shape(answer['body']), name
