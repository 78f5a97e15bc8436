"""The view of a cloud whose names no file could have: a live one may be odd."""

import io
from dataclasses import replace

import pytest

from senlin_affinity.cli import plan_view
from senlin_affinity.cli.plan_notes import Answer
from senlin_affinity.model.server_group import Member
from senlin_affinity.planner.planner import plan
from senlin_affinity.planner.resolution import resolve
from senlin_affinity.preflight.cloud_view import CloudView
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
    answer = Answer(decision, resolved, CloudView(snapshot, {'quotas': f'no{odd}'}))
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
    answer = Answer(
        plan(asked, snapshot, CONSTRAINTS), resolve(asked, snapshot), CloudView(snapshot)
    )
    stream = io.StringIO()
    plan_view.show(answer, stream)
    assert f'What is known of server group {name}:\n' in stream.getvalue()


def test_columns_that_do_not_fit_are_not_cut(monkeypatch):
    """The rules have lines of their own as soon as one sign has no room beside them."""
    row = {'hosts': {'cmp-1': {'down': True}, 'cmp-2': {'zone': 'a-zone-with-a-name'}}}
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), CloudView(snapshot))
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
    answer = Answer(decision, resolve(request_of(row), snapshot), CloudView(snapshot))
    with pytest.raises(BrokenPipeError):
        plan_view.show(answer, Gone())


def test_a_spread_says_which_domains_do_not_count_and_why():
    """A full domain counts: the skew limits the servers in the other domains."""
    row = {
        'hosts': {
            'cmp-1': {'zone': 'az-1', 'aggregates': ['one']},
            'cmp-2': {'zone': 'az-2', 'aggregates': ['two'], 'disabled': True},
            'cmp-3': {'zone': 'az-3', 'aggregates': ['three'], 'free': 0},
            'cmp-4': {'zone': 'nova'},
        },
        'aggregates': {'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}, 'three': {'zone': 'az-3'}},
        'request': {'count': 2, 'spread': [{'by': 'availability_zone'}]},
    }
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), CloudView(snapshot))
    stream = io.StringIO()
    plan_view.show(answer, stream)
    said = [line.strip() for line in stream.getvalue().splitlines() if 'does not count' in line]
    assert said == [
        'az-2 does not count: no host in it may take a server (host_state.disabled)',
        'nova does not count: no host in it may take a server (spread.default_zone)',
    ]


OWN = 'project: ours (your own: name another with --project)'


@pytest.mark.parametrize(
    ('group', 'request_project', 'is_file', 'line'),
    [
        (None, None, False, OWN),
        ('ours', None, False, 'project: ours (that of server group web)'),
        (
            'theirs',
            None,
            False,
            'project: theirs (that of server group web; its quotas are not known)',
        ),
        (None, 'ours', False, 'project: ours (from --project)'),
        (None, None, True, 'project: ours (that of the snapshot: name another with --project)'),
    ],
)
def test_whose_quotas_count(group, request_project, is_file, line):
    """An administrator reads the project, because the quotas may be those of their own project."""
    row = {'hosts': {'a': {}}, 'project': 'ours', 'quotas': {'instances': [9, 0]}}
    row['request'] = {'project_id': request_project}
    if group is not None:
        row['group'] = {'policy': 'anti-affinity', 'project': group}
    snapshot, asked = snapshot_of(row), request_of(row)
    decision = plan(asked, snapshot, CONSTRAINTS)
    stream = io.StringIO()
    view = CloudView(snapshot)
    answer = Answer(decision, resolve(asked, snapshot), view, is_file=is_file)
    plan_view.show(answer, stream)
    assert line in stream.getvalue().replace('\n', ' ').replace('  ', ' ')
    (quota,) = (each for each in decision.as_dict()['request'] if each['constraint'] == 'quota')
    assert quota['facts'].get('project_id') == (None if group == 'theirs' else 'ours')
