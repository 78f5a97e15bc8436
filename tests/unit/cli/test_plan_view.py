"""The view of a cloud whose names no file could have: a live one may be odd."""

import io

import pytest

from senlin_affinity.cli import plan_view
from senlin_affinity.cli.plan_notes import Answer
from senlin_affinity.core.planner import plan
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.policy.question import Look
from tests.support.small_cloud import CONSTRAINTS, request_of, snapshot_of

ODD = ['\x1b[31m', '\x9b31m', '\ud800', '\u2028', '\u202e', '\u2066', '\u200b']


@pytest.mark.parametrize('odd', ODD)
def test_what_a_terminal_would_act_upon_is_not_drawn(odd):
    """In the name of a host, of a rule's fact, of a reason of the cloud, and of a group."""
    row = {
        'hosts': {f'cmp{odd}': {'resources': None}, 'b': {'aggregates': [f'fenced{odd}']}},
        'group': {'policy': 'affinity', 'members': [None]},
        'request': {'count': 2},
    }
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    resolved = resolve(request_of(row), snapshot)
    answer = Answer(decision, resolved, Look(snapshot, {'quotas': f'no{odd}'}))
    stream = io.StringIO()
    plan_view.show(answer, stream)
    text = stream.getvalue()
    assert 'cmp?' in text
    assert 'the quotas: no?' in text
    assert not any(sign in text for sign in odd if not sign.isalnum() and sign != '[')
    text.encode()
