"""The view of a cloud whose names no file could have: a live one may be odd."""

import io
from dataclasses import replace

import pytest

from senlin_affinity.cli import plan_view
from senlin_affinity.cli.plan_notes import Answer
from senlin_affinity.core.planner import plan
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.core.server_group import Member
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


@pytest.mark.parametrize('name', ['web[bold]', 'a:smile:b'])
def test_a_name_is_drawn_as_it_is(name):
    """It is no markup, and no emoji."""
    row = {'hosts': {'a': {}}, 'group': {'policy': 'affinity'}}
    snapshot = replace(snapshot_of(row), hosts=None)
    group = replace(snapshot.server_groups[0], name=name, members=(Member('vm-1', host_id='1'),))
    snapshot = replace(snapshot, server_groups=(group,))
    asked = replace(request_of(row), server_group=group.id)
    answer = Answer(plan(asked, snapshot, CONSTRAINTS), resolve(asked, snapshot), Look(snapshot))
    stream = io.StringIO()
    plan_view.show(answer, stream)
    assert f'What is known of server group {name}:\n' in stream.getvalue()


def test_columns_that_do_not_fit_are_not_cut(monkeypatch):
    """The rules have lines of their own as soon as one sign has no room beside them."""
    row = {'hosts': {'cmp-1': {'down': True}, 'cmp-2': {'zone': 'a-zone-with-a-name'}}}
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), Look(snapshot))
    drawn = {}
    for width in range(50, 80):
        monkeypatch.setenv('COLUMNS', str(width))
        stream = io.StringIO()
        plan_view.show(answer, stream)
        drawn[width] = stream.getvalue()
    assert all('…' not in text for text in drawn.values())
    assert all(max(map(len, text.splitlines())) <= width for width, text in drawn.items())
    assert 'host_state.down\n' in drawn[50]
    assert '✗ down\n' in drawn[79]


class Gone(io.StringIO):
    """A stream that nobody reads any more."""

    def write(self, text):
        raise BrokenPipeError


def test_a_reader_that_goes_away_is_left_to_the_command():
    row = {'hosts': {'cmp-1': {}}}
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), Look(snapshot))
    with pytest.raises(BrokenPipeError):
        plan_view.show(answer, Gone())
