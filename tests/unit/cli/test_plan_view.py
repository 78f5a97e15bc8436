"""The view of a plan handles unusual names, widths and streams."""

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

CONTROL_CHARACTERS = ['\x1b[31m', '\x9b31m', '\ud800', '\u2028', '\u202e', '\u2066', '\u200b']


@pytest.mark.parametrize('character', CONTROL_CHARACTERS)
def test_control_characters_are_replaced(character):
    """In the names of hosts, aggregates and groups, and in reasons of the cloud."""
    row = {
        'hosts': {
            f'cmp{character}': {'resources': None},
            'b': {'aggregates': [f'fenced{character}']},
        },
        'group': {'policy': 'affinity', 'members': [None]},
        'request': {'count': 2},
    }
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    resolved = resolve(request_of(row), snapshot)
    answer = Answer(decision, resolved, CloudView(snapshot, {'quotas': f'no{character}'}))
    stream = io.StringIO()
    plan_view.show(answer, stream)
    text = stream.getvalue()
    assert 'cmp?' in text
    assert 'the quotas: no?' in text
    assert not any(sign in text for sign in character if not sign.isalnum() and sign != '[')
    text.encode()


@pytest.mark.parametrize('name', ['web[bold]', 'a:smile:b'])
def test_a_name_is_printed_literally(name):
    """Markup and emoji codes are not interpreted."""
    row = {'hosts': {'a': {}}, 'group': {'policy': 'affinity'}}
    snapshot = replace(snapshot_of(row), hosts=None)
    group = replace(snapshot.server_groups[0], name=name, members=(Member('vm-1', host_id='1'),))
    snapshot = replace(snapshot, server_groups=(group,))
    request = replace(request_of(row), server_group=group.id)
    answer = Answer(
        plan(request, snapshot, CONSTRAINTS), resolve(request, snapshot), CloudView(snapshot)
    )
    stream = io.StringIO()
    plan_view.show(answer, stream)
    assert f'What is known of server group {name}:\n' in stream.getvalue()


def test_columns_that_do_not_fit_are_not_truncated(monkeypatch):
    """The verdicts move to separate lines as soon as one symbol does not fit."""
    row = {'hosts': {'cmp-1': {'down': True}, 'cmp-2': {'zone': 'a-zone-with-a-name'}}}
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), CloudView(snapshot))
    text_by_width = {}
    for width in range(50, 80):
        monkeypatch.setenv('COLUMNS', str(width))
        stream = io.StringIO()
        plan_view.show(answer, stream)
        text_by_width[width] = stream.getvalue()
    assert all('…' not in text for text in text_by_width.values())
    assert all(max(map(len, text.splitlines())) <= width for width, text in text_by_width.items())
    assert 'host_state.down\n' in text_by_width[50]
    assert '✗ down\n' in text_by_width[79]


class ClosedStream(io.StringIO):
    """A stream whose reader is closed."""

    def write(self, text):
        raise BrokenPipeError


def test_a_broken_pipe_is_raised_to_the_command():
    row = {'hosts': {'cmp-1': {}}}
    snapshot = snapshot_of(row)
    decision = plan(request_of(row), snapshot, CONSTRAINTS)
    answer = Answer(decision, resolve(request_of(row), snapshot), CloudView(snapshot))
    with pytest.raises(BrokenPipeError):
        plan_view.show(answer, ClosedStream())


def test_a_spread_lists_the_domains_that_do_not_count():
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
    lines = [line.strip() for line in stream.getvalue().splitlines() if 'does not count' in line]
    assert lines == [
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
def test_the_project_of_the_quotas_is_printed(group, request_project, is_file, line):
    """An administrator reads the project, because the quotas may be those of their own project."""
    row = {'hosts': {'a': {}}, 'project': 'ours', 'quotas': {'instances': [9, 0]}}
    row['request'] = {'project_id': request_project}
    if group is not None:
        row['group'] = {'policy': 'anti-affinity', 'project': group}
    snapshot, request = snapshot_of(row), request_of(row)
    decision = plan(request, snapshot, CONSTRAINTS)
    stream = io.StringIO()
    view = CloudView(snapshot)
    answer = Answer(decision, resolve(request, snapshot), view, is_file=is_file)
    plan_view.show(answer, stream)
    assert line in stream.getvalue().replace('\n', ' ').replace('  ', ' ')
    (quota,) = (each for each in decision.as_dict()['request'] if each['constraint'] == 'quota')
    assert quota['facts'].get('project_id') == (None if group == 'theirs' else 'ours')
