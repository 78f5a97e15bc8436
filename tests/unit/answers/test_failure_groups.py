"""The causes of failures, as codes, and the sentence of each group."""

import pytest
from msgspec import structs

from senlin_affinity.answers.failure_groups import cause_of_failure, grouped
from senlin_affinity.preflight.failed_server import ActionFailure, Cause, FailedServer
from senlin_affinity.preflight.question import Question
from tests.support.small_cloud import CONSTRAINTS, snapshot_of
from tests.support.values import replace
from tests.unit.answers.test_explanation import NOT_ENOUGH

NO_ADDRESS = 'Build of instance 5c aborted: No fixed IP addresses available for network: n'
UNBOUND = 'Build of instance 5c aborted: Binding failed for port p'


def failed(number=1, at='2026-11-24T09:12:05Z', cause=Cause.NO_HOST, message=NOT_ENOUGH, **more):
    failure = ActionFailure(cause, message, at)
    values = {'project_id': 'a', 'flavor_name': 'small', **more}
    return FailedServer(f'id-{number}', f'web-{number}', 'ERROR', failure, **values)


def cause(one=None, row=None, **view):
    row = row or {'hosts': {'cmp-1': {'free': 0}, 'cmp-2': {'free': 0}}}
    shown = structs.replace(snapshot_of(row), **view)
    return cause_of_failure(one or failed(), Question(0, image_properties={}), shown, CONSTRAINTS)


@pytest.mark.parametrize(
    ('row', 'key', 'words'),
    [
        (
            {'hosts': {'cmp-1': {'free': 0}}},
            ('no_host', 'resources.exhausted', 'VCPU', ''),
            'too little VCPU left (the only host)',
        ),
        (
            {'hosts': {'cmp-1': {'disabled': True}, 'cmp-2': {'free': 0}}},
            ('no_host', 'host_state.disabled', '', ''),
            'cmp-1 has room, but its compute service is disabled',
        ),
        ({'hosts': {}}, ('no_host', 'failure.no_hosts', '', ''), 'there is no host'),
        ({'hosts': {'cmp-1': {}}}, ('no_host', 'failure.fits_now', '', ''), 'a host takes it now'),
        (
            {'hosts': None},
            ('no_host', 'failure.not_known', '', ''),
            'whether a host takes it is not known',
        ),
    ],
)
def test_the_codes_of_a_cause(row, key, words):
    found = cause(row=row)
    assert (found.key, found.words, found.label) == (key, words, key[1])


def test_what_is_not_about_hosts_has_the_meaning_of_the_message():
    known = cause(failed(cause=Cause.PORT, message=NO_ADDRESS))
    assert (known.key, known.label) == (('port', '', '', 'a network has no free address'), 'port')
    assert cause(failed(cause=Cause.PORT, message=UNBOUND)).key != known.key
    other = cause(failed(cause=Cause.OTHER, message='x'))
    assert other.words == 'failed for another reason'


def test_a_flavor_that_is_not_known_is_no_error():
    found = cause(failed(flavor_name=None))
    assert (found.code, found.action) == ('failure.not_known', 'other')
    found = cause(failed(flavor_name='gone'))
    assert found.code == 'failure.not_known'
    assert "'gone'" in found.words


def test_a_quota_counts_for_nothing():
    """Its project may be another one than that of the view."""
    row = {'hosts': {'cmp-1': {}}, 'quotas': {'instances': [1, 1]}}
    assert cause(row=row).code == 'failure.fits_now'


def test_the_sentence_of_a_group():
    late = '2026-11-24T11:40:00Z'
    every = [failed(1), failed(2, late, project_id='b')]
    (group,) = grouped(map(cause, every))
    assert group.sentence() == (
        '2 servers: too little VCPU left (both hosts) '
        '(first 2026-11-24 09:12 UTC, last 11:40 UTC; projects a, b; web-2, web-1)'
    )
    shown = group.as_dict()
    failures = shown.pop('failures')
    assert shown == {
        'cause': 'no_host',
        'code': 'resources.exhausted',
        'detail': 'VCPU',
        'reason': 'too little VCPU left (both hosts)',
        'number': 2,
        'first': '2026-11-24T09:12:05Z',
        'last': late,
        'actions': {'create': 2},
        'projects': ['a', 'b'],
        'changes': [],
    }
    assert failures[0] == {
        'id': 'id-2',
        'name': 'web-2',
        'project_id': 'b',
        'action': 'create',
        'at': late,
        'message': NOT_ENOUGH,
    }


@pytest.mark.parametrize(
    ('times', 'words'),
    [
        ([None], ''),
        (['2026-11-24T09:12:05Z'], 'at 2026-11-24 09:12 UTC'),
        (
            ['2026-11-24T09:12:05Z', '2026-11-25T08:00:00Z'],
            'first 2026-11-24 09:12 UTC, last 2026-11-25 08:00 UTC',
        ),
    ],
)
def test_the_times_of_a_group(times, words):
    found = [failed(number, at, project_id=None) for number, at in enumerate(times)]
    (group,) = grouped(map(cause, found))
    number = '1 server' if len(times) == 1 else '2 servers'
    names = {'web-0', 'web-1'} if len(times) == 2 else {'web-0'}
    assert {each.failed.name for each in group.failures} == names
    begin = f'{number}: too little VCPU left (both hosts) ({words}{"; " if words else ""}web-'
    assert group.sentence().startswith(begin)


def test_hosts_are_not_counted_where_their_numbers_differ():
    one = {'hosts': {'cmp-1': {'free': 0}}}
    (group,) = grouped([cause(), cause(row=one)])
    assert group.words == 'too little VCPU left'


def test_the_largest_group_is_first_and_many_projects_are_counted():
    many = [failed(number, project_id=f'p{number}') for number in range(7)]
    port = failed(8, cause=Cause.PORT, message=NO_ADDRESS)
    first, second = grouped(map(cause, [port, *many]))
    assert first.sentence().endswith(
        '; projects p0, p1, p2, p3, p4 and 2 more; web-0, web-1, web-2, web-3, web-4 and 2 more)'
    )
    assert second.sentence().startswith('1 server: a network has no free address (at ')


def test_the_actions_of_a_group():
    row = {'hosts': {'cmp-1': {'free': 0}}}
    created, other = cause(row=row), cause(failed(2, cause=Cause.PORT, message=NO_ADDRESS))
    unknown = replace(other, failed=replace(other.failed, flavor_name=None))
    (group,) = grouped([other, other, unknown])
    assert group.number() == '3 failures (2 creations, 1 failure)'
    assert created.action == 'create'
