"""The page of the manual, and the results that are kept for it."""

import json
from collections import Counter

from tests.reliability import missed, promises, report
from tests.reliability.report import Part

PART = Part(
    'fault matrix',
    3,
    Counter(done=1, refused=2),
    (('a cell', promises.LEAK, 'web'),),
    (('another cell', promises.HANG, 'nobody ends it'),),
    61.0,
)


def test_parts_are_kept(tmp_path):
    path = tmp_path / 'results.json'
    assert report.load(None) == report.load(path) == {}
    report.save({'matrix': PART}, path)
    assert report.load(path) == {'matrix': PART}
    report.save({}, None)


def test_the_text_in_a_file_of_an_earlier_version_is_ignored(tmp_path):
    path = tmp_path / 'results.json'
    path.write_text(json.dumps({'matrix': vars(PART) | {'text': 'More.'}}))
    assert report.load(path) == {'matrix': PART}


def test_the_line_and_the_page_say_what_did_not_hold():
    assert PART.line() == (
        'fault matrix: 3 cases in 61 s: 1 done, 2 refused; leaked group: 1, foreign deletion: 0, '
        'hang: 1 (1 of them known)'
    )
    page = report.page([PART])
    ended = '1 done, 2 refused\n     - 1 leaked group, 1 hang'
    assert f'* - fault matrix\n     - 3\n     - {ended}\n' in page
    assert '``a cell``\n     - leaked group\n     - ``web``' in page
    assert '1 cases\n     - hang\n     - nobody ends it' in page


def test_what_is_known_is_sorted_out(monkeypatch):
    monkeypatch.setattr(missed, 'MISSED', (('^a cell$', promises.LEAK, 'why'),))
    found = [('a cell', promises.LEAK, 'web'), ('a cell', promises.HANG, 'x'), ('b', 'c', 'd')]
    assert missed.sorted_out(found) == (tuple(found[1:]), (('a cell', promises.LEAK, 'why'),))
