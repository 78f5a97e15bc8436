"""The same request again, without the failed servers, and the sentences about it."""

import pytest

from senlin_affinity.answers.repetition import explain, without_failed
from senlin_affinity.constraints.image_hypervisor import ImageHypervisorConstraint
from senlin_affinity.constraints.quota import DRIVER, USAGE
from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member
from senlin_affinity.preflight.failed_server import (
    ActionFailure,
    Cause,
    Change,
    FailedServer,
    SenlinAction,
    Sibling,
    question_of,
)
from senlin_affinity.preflight.question import Question
from tests.support.small_cloud import CONSTRAINTS, snapshot_of
from tests.support.values import replace

SERVER = '10000000-0000-4000-8000-000000000001'
NOT_ENOUGH = 'No valid host was found. There are not enough hosts available.'
GONE = Change('server', 'deleted', '2026-11-24T09:20:00Z')
FILTERS = ('ComputeFilter', 'ServerGroupAntiAffinityFilter')


def failed_server(number=4, status='ERROR', message=NOT_ENOUGH, cause=Cause.NO_HOST, **more):
    siblings = [Sibling(f'id-{n}', f'web-{n}', status) for n in range(1, number + 1)]
    last = siblings[-1]
    failure = ActionFailure(cause, message, '2026-11-24T09:14:05Z', more.pop('tried', ()))
    values = {'flavor_name': 'small', 'siblings': (*siblings,), 'number': number}
    return FailedServer(last.id, last.name, status, failure, **{**values, **more})


def explained(row, failed=None, host=None, **question):
    """Return the explanation in a small cloud, whose group has the failed servers as members."""
    failed = failed or failed_server()
    snapshot = snapshot_of(row)
    if snapshot.server_groups:
        (group,) = snapshot.server_groups
        lost = tuple(Member(each.id, state='ERROR') for each in failed.remaining)
        group = replace(group, members=(*group.members, *lost))
        snapshot = replace(snapshot, server_groups=(group,))
        question.setdefault('server_group', 'g')
    asked = Question(failed.wanted, 'small', image_properties={}, **question)
    return explain(failed, asked, snapshot, CONSTRAINTS, host)


STARTED = 'nova-compute enabled on {} (disabled without a reason: check it first)'
GROUP = {'policy': 'anti-affinity'}
THREE = {f'cmp-{n}': {} for n in (1, 2, 3)}


def test_the_example_of_the_manual():
    row = {
        'hosts': {**THREE, 'cmp-4': {'disabled': True}, 'cmp-5': {'free': 0}},
        'group': GROUP,
        'quotas': {'instances': [10, 4], 'server_group_members': [10, None]},
    }
    found = explained(row)
    assert list(found.why()) == [
        'web-4 found no host at 2026-11-24 09:14 UTC (one of 4 servers requested together).',
        f'Nova: {NOT_ENOUGH}',
        'Nova places such a request as a whole. 3 of 4 fit: server group web allows 1 per host, '
        'and 3 of 5 hosts are full.',
    ]
    assert found.today() == (
        'The same request would fail today. web-1 to web-4 still count: 4 of 10 instances, '
        '4 of 10 group members.'
    )
    changes = [words for words, _commands in found.remedies()]
    assert changes[0] == 'delete the 4 servers, then request 3'
    assert f'{STARTED.format("cmp-4")} (capacity 4)' in changes


def test_one_of_several_hosts_is_full():
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {'disabled': True}}, 'group': GROUP}
    assert [*explained(row).why()][-1].endswith(
        '1 of 4 fit: server group web allows 1 per host, and 1 of 2 hosts is full; the compute '
        'service is disabled (1 of 2 hosts).'
    )


@pytest.mark.parametrize('kind', ['instances', 'cores', 'ram'])
def test_a_quota_that_the_failed_servers_use(kind):
    unit = {'instances': 1, 'cores': 1, 'ram': 512}[kind]
    row = {'hosts': THREE, 'quotas': {kind: [5 * unit, 4 * unit]}}
    found = explained(row)
    assert (found.decision.fits, found.must_delete_first) == (True, True)
    assert 'after the failed servers are deleted' in found.today()
    (words, commands) = next(found.remedies())
    assert words == 'delete the 4 servers, then repeat the request'
    assert commands == ['openstack server delete id-1 id-2 id-3 id-4']


@pytest.mark.parametrize(
    ('options', 'is_given', 'counts'),
    [
        (
            {},
            True,
            '2 of 9 instances, 4 of 12 cores, 1024 of 2048 MiB of ram, 2 of 5 group members.',
        ),
        ({}, False, '2 of 9 instances, 2 of 5 group members.'),
        ({USAGE.key: True}, True, '2 of 9 instances, 2 of 5 group members.'),
    ],
)
def test_every_limited_quota_that_counts_the_failed_servers_is_named(options, is_given, counts):
    """In Placement, they have no cores and ram; without nova.conf, it is not known who counts."""
    quotas = {'instances': [9, 2], 'cores': [12, 4], 'ram': [2048, 1024]}
    quotas['server_group_members'] = [5, None]
    row = {'hosts': THREE, 'group': GROUP, 'quotas': quotas, 'flavor': {'vcpus': 2}}
    keys = frozenset({USAGE.key, DRIVER.key} if is_given else ())
    given = {'options': options, 'explicit_options': keys}
    assert explained(row, failed_server(2), **given).today().endswith(f'count: {counts}')
    row['quotas'] = {**quotas, 'cores': [None, 4]}
    assert 'cores' not in explained(row, failed_server(2), **given).today()


def test_the_failed_members_use_slots_of_the_group():
    row = {'hosts': THREE, 'group': GROUP, 'quotas': {'server_group_members': [4, None]}}
    found = explained(row, failed_server(3))
    assert (found.decision.fits, found.must_delete_first) == (True, True)
    found = explained(row, failed_server(3, 'DELETED'))
    assert (found.decision.fits, found.must_delete_first, found.counted) == (True, False, None)
    assert found.headline().endswith('requested together), and is deleted.')


def test_failed_servers_that_leave_enough_need_no_deletion():
    """They lower the capacity from 10 to 6 of an unlimited number, and 4 are requested."""
    row = {'hosts': THREE, 'quotas': {'instances': [10, 4]}}
    found = explained(row)
    assert (found.decision.capacity, found.counted.capacity) == (10, 6)
    assert (found.decision.fits, found.must_delete_first) == (True, False)
    assert 'after the failed servers are deleted' not in found.today()
    assert [*found.remedies()] == []


@pytest.mark.parametrize(('quota', 'is_deleted'), [([6, 4], True), ([8, 4], False)])
def test_each_remedy_begins_with_the_deletion_if_the_quota_counts_the_failed_servers(
    quota, is_deleted
):
    """Another host takes all four, if the quota of instances does."""
    two = {'cmp-1': {'free': 2}, 'cmp-2': {'free': 2, 'disabled': True}}
    found = explained({'hosts': two, 'quotas': {'instances': quota}})
    assert found.are_failed_counted is is_deleted
    remedies = dict([*found.remedies()][1:])
    words = next(iter(remedies))
    assert words.startswith('delete the 4 servers, then ') is is_deleted
    assert (remedies[words][0] == 'openstack server delete id-1 id-2 id-3 id-4') is is_deleted
    assert remedies[words][-1].startswith('openstack compute service set --enable')


def test_a_request_that_does_not_fit_even_then():
    row = {'hosts': {'cmp-1': {'free': 3}}, 'quotas': {'instances': [6, 4]}}
    found = explained(row)
    assert (found.decision.capacity, found.counted.capacity) == (3, 2)
    assert (found.decision.fits, found.must_delete_first) == (False, False)


def test_cores_that_nova_counts_in_placement():
    """There, servers without a host have none."""
    row = {'hosts': THREE, 'quotas': {'cores': [5, 4]}}
    options = {USAGE.key: True}
    assert explained(row, options=options).decision.fits is False


def test_the_quota_of_another_user():
    snapshot = {'hosts': THREE, 'quotas': {'instances': [5, 4]}}
    assert explained(snapshot, failed_server(user_id='nobody')).decision.fits is True


@pytest.mark.parametrize(('user', 'capacity'), [('amy', 1), ('bob', 10), (None, 10)])
def test_rx_07_members_count_for_the_user_of_the_failed_server(user, capacity):
    """An administrator, whose servers are no members, explains it."""
    row = {'hosts': THREE, 'project': 'p', 'quotas': {'server_group_members': [10, None]}}
    row['group'] = {'policy': 'soft-affinity', 'members': [['cmp-1', 'amy']] * 9, 'project': 'p'}
    view = snapshot_of(row)
    failed = failed_server(1, status='DELETED', project_id='p', user_id=user, server_group='g')
    settings = Question(0, image_properties={}, options={DRIVER.key: DRIVER.default})
    found = explain(failed, question_of(failed, settings), view, CONSTRAINTS)
    assert found.decision.capacity == capacity
    assert found.decision.capacity_certain == (1 if user is None else capacity)


@pytest.mark.parametrize(
    ('cause', 'changes', 'last'),
    [
        (Cause.RETRIES, (), 'Nova used up its attempts, because'),
        (Cause.NO_HOST, (GONE,), 'The cloud has changed since: 1 server was'),
        (Cause.NO_HOST, (), 'Nothing visible has changed since. Perhaps an assumption is wrong on'),
    ],
)
def test_possible_reasons_if_the_planner_finds_a_host(cause, changes, last):
    found = explained({'hosts': THREE}, failed_server(1, cause=cause, changes=changes))
    assert found.decision.fits
    assert [*found.sentences()][-1].startswith(last)


def changes_of(row, *hosts, **more):
    """Return the phrases about servers that were deleted and created on these hosts."""
    at = '2026-11-24T09:20:00Z'
    every = [Change('server', what, at, host) for host in hosts for what in ('deleted', 'created')]
    found = explained(row, failed_server(1, changes=(*every,)), **more)
    return found.changes, [*found.now()]


def test_only_changes_of_hosts_that_matter_are_evidence():
    at = 'the last at 2026-11-24 09:20 UTC'
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {'free': 0}}}
    found, said = changes_of(row, 'cmp-1', 'cmp-2')
    assert found == (f'1 server was deleted, {at} (on cmp-1)',)
    assert said[1].startswith(f'The cloud has changed since: {found[0]}. Nova keeps')
    assert changes_of(row, 'cmp-2')[0] == ()
    assert changes_of(row, 'cmp-2')[1][1].startswith('Nothing visible has changed since.')


def test_a_host_that_the_servers_fill_matters():
    row = {'hosts': {'cmp-1': {'free': 1}, 'cmp-2': {'free': 0}}}
    (found,), _said = changes_of(row, 'cmp-1', 'cmp-2')
    assert found.endswith('(on cmp-1)')


def test_servers_that_were_created_may_hide_what_was_decisive():
    at = 'the last at 2026-11-24 09:20 UTC'
    other = {'zone': 'az-2'}
    row = {'hosts': {'cmp-1': {'free': 0}, 'cmp-2': {'free': 0}, 'cmp-3': other}}
    found, said = changes_of(row, 'cmp-1', 'cmp-2', 'cmp-3', availability_zone='nova')
    assert found == (f'2 servers were created, {at} (on cmp-1, cmp-2)',)
    words = f'The cloud has changed since: {found[0]}. Perhaps another reason was decisive then.'
    assert words in said


def test_many_hosts_are_counted_and_unknown_ones_always_matter():
    names = [f'cmp-{n}' for n in range(5)]
    found, _said = changes_of({'hosts': {name: {} for name in names}}, *names, None)
    where = 'on cmp-0, cmp-1, cmp-2 and 2 more'
    assert found == (f'6 servers were deleted, the last at 2026-11-24 09:20 UTC ({where})',)


LAST = 'Exceeded maximum number of retries. Exceeded max scheduling attempts 3. Last exception: '


@pytest.mark.parametrize('are_hosts_known', [True, False])
@pytest.mark.parametrize(
    ('last', 'words', 'is_placement', 'is_again'),
    [
        (
            'Maximum number of ports exceeded',
            "failed because the project's quota of ports in Neutron is used up",
            False,
            False,
        ),
        ('Volume 7d is lost', 'failed because of its volume', False, False),
        ('internal error: x', 'failed because the hypervisor could not start it', False, False),
        ('something new', 'failed', True, False),
        (
            'Anti-affinity instance group policy was violated',
            'failed because its host did not satisfy the policy of its server group',
            True,
            True,
        ),
    ],
)
def test_the_exception_of_the_last_attempt_is_the_cause(
    last, words, is_placement, is_again, are_hosts_known
):
    failed = failed_server(1, message=f'{LAST}{last}', cause=Cause.RETRIES)
    found = explained({'hosts': THREE if are_hosts_known else None}, failed)
    said = found.as_dict()
    assert said['likely_cause'] == f'the last attempt {words}: {last}'
    assert (said['failure']['last_exception'], said['failure']['cause']) == (last, 'retries')
    assert said['failure']['is_placement'] is is_placement
    sentences = [*found.sentences()]
    assert f'The last attempt {words}: {last}.' in sentences
    assert any(each.startswith('This is not a placement') for each in sentences) is not is_placement
    assert not any('race' in each for each in sentences)
    is_asked_again = any('Request the server again.' in each for each in sentences)
    assert is_asked_again is (is_again and are_hosts_known)


def test_a_group_whose_filter_nova_does_not_run_fails_again():
    message = 'ServerGroup policy is not supported: ServerGroupAntiAffinityFilter not configured'
    failed = failed_server(1, message=message, cause=Cause.GROUP_FILTER)
    said = [*explained({'hosts': THREE}, failed).sentences()]
    assert 'failed because Nova does not run the filter of its server group' in said[0]
    assert 'The same request would probably fail again.' in said
    assert not any('Nothing visible has changed' in each for each in said)


def test_an_exception_without_another_attempt_is_the_cause():
    failed = failed_server(1, message='Maximum number of ports exceeded', cause=Cause.PORT)
    said = [*explained({'hosts': THREE}, failed).sentences()]
    assert "The project's quota of ports in Neutron is used up." in said


@pytest.mark.parametrize('are_hosts_known', [True, False])
def test_a_zone_without_hosts(are_hosts_known):
    snapshot = replace(snapshot_of({'hosts': THREE}), availability_zones=frozenset({'nova'}))
    snapshot = snapshot if are_hosts_known else replace(snapshot, hosts=None, aggregates=None)
    asked = Question(1, 'small', image_properties={}, availability_zone='gone')
    found = explain(failed_server(1), asked, snapshot, CONSTRAINTS)
    assert found.decision.fits is (False if are_hosts_known else None)
    words = 'No host is in availability zone gone any more, so Nova rejects the request.'
    assert words in found.sentences()


def test_a_failure_with_another_cause():
    failed = failed_server(1, message='Volume', cause=Cause.VOLUME, tried=('cmp-2',))
    found = [*explained({'hosts': THREE}, failed).sentences()]
    assert found[0] == 'web-1 failed because of its volume at 2026-11-24 09:14 UTC.'
    assert found[2] == 'Nova tried cmp-2.'
    assert found[3].startswith('This is not a placement failure.')
    assert found[-1] == 'It fits today.'


def test_without_the_hosts_only_novas_message_is_known():
    row = {'hosts': None, 'group': GROUP}
    found = explained(row)
    assert found.decision.fits is None
    assert any("scheduler's filters left too few" in each for each in found.why())
    empty = failed_server(message='No valid host was found. ')
    words = 'Placement had no enabled host with room for 1 VCPU, 512 MiB of memory, 1 GiB of disk.'
    assert words in explained(row, empty).why()
    assert found.requirements == (
        'flavor small: 1 VCPU, 512 MiB of memory, 1 GiB of disk',
        'a host may hold 1 of server group web',
    )
    node = {'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:CUSTOM_NODE': '1'}
    row |= {'flavor': {'extra_specs': node}}
    assert explained(row, empty, scheduler_hints={'same_host': [SERVER]}).requirements == (
        'flavor small: 1 GiB of disk, resources:CUSTOM_NODE=1',
        f'scheduler hint same_host: {SERVER}',
        'a host may hold 1 of server group web',
    )
    silent = failed_server(message=None, cause=Cause.NOT_SHOWN)
    assert any('to administrators only' in each for each in explained(row, silent).why())
    known = [*explained({'hosts': THREE, 'group': GROUP}, silent).why()]
    assert known[1] == 'Nova has no message for this failure.'


def test_a_deleted_group_and_a_changed_flavor_are_named():
    found = explained({'hosts': THREE, 'group': GROUP}, server_group='gone')
    assert found.decision.fits
    assert found.notes[0].startswith('Server group gone no longer exists.')
    then = Flavor('small', 'small', 99, 512, 1)
    found = explained({'hosts': THREE}, failed_server(flavor=then))
    assert found.decision.fits is False
    assert found.notes[0].startswith('Flavor small has changed since.')
    gone = Flavor('gone', 'gone', 1, 512, 1)
    found = explain(
        failed_server(flavor=gone, flavor_name='gone'),
        Question(4, 'gone', image_properties={}),
        snapshot_of({'hosts': THREE}),
        CONSTRAINTS,
    )
    assert found.decision.fits
    assert found.notes == (
        'Flavor gone no longer exists. The answer uses the flavor of the request.',
    )
    same = Flavor('small', 'small', 1, 512, 1)
    assert explained({'hosts': THREE}, failed_server(flavor=same)).notes == ()


def test_a_host_that_the_request_names():
    found = explained({'hosts': THREE}, host='cmp-2')
    assert {each.host for each in found.decision.placements} == {'cmp-2'}
    with pytest.raises(InvalidSpec, match="host: there is no host 'cmp-9'"):
        explained({'hosts': THREE}, host='cmp-9')


def test_a_hint_that_is_not_modelled():
    found = explained({'hosts': THREE}, scheduler_hints={'query': '[]'})
    assert 'Not modelled: scheduler hint query.' in found.notes


def test_nova_scheduler_may_count_the_failed_servers_of_a_group():
    found = explained({'hosts': THREE, 'group': GROUP}, failed_server(3))
    assert found.notes[-1].startswith('For two minutes after the failure')
    assert explained({'hosts': THREE, 'group': GROUP}, failed_server(2)).notes
    soft = {'hosts': THREE, 'group': {'policy': 'soft-anti-affinity'}}
    assert explained(soft, failed_server(3)).notes == ()
    assert explained({'hosts': THREE, 'group': GROUP}, failed_server(1)).notes == ()


def test_a_host_of_another_zone_is_not_the_limit():
    hosts = {f'other-{n}': {'zone': 'az-2'} for n in range(3)} | {'cmp-1': {'traits': []}}
    hosts['cmp-1'] = {'free': 0, 'zone': 'az-1'}
    found = explained({'hosts': hosts}, failed_server(1), availability_zone='az-1')
    assert [*found.why()][-1] == (
        'No host takes it: too little VCPU left (the only suitable host in zone az-1: cmp-1).'
    )


def action_of_senlin(**more):
    """Return a cluster's failed action, of which two of three nodes failed."""
    started = Sibling('id-1', 'web-1', 'ACTIVE', is_failed=False)
    failed = (Sibling('id-2', 'web-2', 'ERROR'), Sibling('id-3', 'web-3', 'ERROR'))
    reason, at = "Failed policy 'p'", '2026-11-24T09:14:05Z'
    nodes = ('node-1', 'node-2')
    action = SenlinAction('CLUSTER_SCALE_OUT', 'web', Cause.POLICY, reason, at, nodes)
    return failed_server(3, siblings=(started, *failed), action=action, **more)


def test_the_keys_of_json():
    change = Change('server', 'created', '2026-11-24T09:20:00Z')
    changes = {'changes': (change,), 'hidden': {'metadata': 'no metadata'}}
    found = explained(
        {'hosts': {'cmp-1': {}, 'cmp-2': {'free': 0}}, 'group': GROUP},
        action_of_senlin(is_number_at_least=True, tried=('cmp-9',), **changes),
    )
    answer = found.as_dict()
    assert {key: answer.pop(key) for key in [*answer][:13]} == {
        'server': {'id': 'id-3', 'name': 'web-3', 'status': 'ERROR'},
        'failure': {
            'cause': 'no_host',
            'message': NOT_ENOUGH,
            'at': '2026-11-24T09:14:05Z',
            'tried': ('cmp-9',),
            'source': 'Nova',
            'origin': 'no_host',
            'last_exception': None,
            'is_placement': True,
        },
        'requested': 3,
        'requested_is_lower_bound': True,
        'siblings': [
            {'id': 'id-1', 'name': 'web-1', 'status': 'ACTIVE'},
            {'id': 'id-2', 'name': 'web-2', 'status': 'ERROR'},
            {'id': 'id-3', 'name': 'web-3', 'status': 'ERROR'},
        ],
        'explanation': [
            'Nodes that failed in CLUSTER_SCALE_OUT of web: node-1, node-2.',
            'web-3 found no host at 2026-11-24 09:14 UTC (one of at least 3 servers requested '
            'together).',
            f'Nova: {NOT_ENOUGH}',
            'Nova tried cmp-9.',
            '1 of 2 fit: server group web allows 1 per host, and 1 of 2 hosts is full; too little '
            'VCPU left (1 of 2 hosts).',
            'The same request would fail today.',
            'The cloud has changed since: 1 server was created, the last at 2026-11-24 09:20 UTC. '
            'Perhaps another reason was decisive then.',
            'For two minutes after the failure, nova-scheduler may count the failed servers on '
            'the chosen hosts.',
        ],
        'must_delete_first': False,
        'likely_cause': None,
        'changes': ['1 server was created, the last at 2026-11-24 09:20 UTC'],
        'hidden': {'metadata': 'no metadata'},
        'requirements': [
            'flavor small: 1 VCPU, 512 MiB of memory, 1 GiB of disk',
            'a host may hold 1 of server group web',
        ],
        'suggestions': [],
        'action': {
            'name': 'CLUSTER_SCALE_OUT',
            'target': 'web',
            'cause': 'policy',
            'reason': "Failed policy 'p'",
            'at': '2026-11-24T09:14:05Z',
            'nodes': ('node-1', 'node-2'),
        },
    }
    assert answer == found.decision.as_dict()


def test_skipped_verdicts_are_optional_in_json():
    found = explained({'hosts': THREE})
    short = found.as_dict(skipped=False)
    assert short['hosts'] == found.decision.as_dict(skipped=False)['hosts']
    assert short['hosts'] != found.as_dict()['hosts']


@pytest.mark.parametrize('failed', [failed_server(2), action_of_senlin()])
def test_an_owners_change_has_no_commands_for_a_cluster(failed):
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {'disabled': True}}, 'group': GROUP}
    found = dict(explained(row, failed).remedies())
    assert found['delete the 2 servers, then request 1'] == ()
    assert found[f'{STARTED.format("cmp-2")} (capacity 2)']
    note = ' (more of its servers may share a host)' if failed.action is None else ''
    assert bool(found[f'max_server_per_host: 2{note} (capacity 2)']) is (failed.action is None)


FULL = {'free': 0}
OFF = {'disabled': True}


@pytest.mark.parametrize(
    ('number', 'hosts', 'words'),
    [
        (1, {'cmp-1': FULL}, 'too little VCPU left (the only host)'),
        (1, {'cmp-1': FULL, 'cmp-2': FULL}, 'too little VCPU left (both hosts)'),
        (
            1,
            {'cmp-1': FULL, 'cmp-2': OFF, 'cmp-3': OFF},
            'cmp-2 and cmp-3 have room, but their compute service is disabled; too little VCPU '
            'left (1 of 3 hosts)',
        ),
        (
            1,
            {'cmp-1': FULL, 'cmp-2': FULL, 'cmp-3': {'aggregates': ['fenced']}, 'cmp-4': OFF},
            'cmp-4 has room, but its compute service is disabled; too little VCPU left (2 of 3 '
            'suitable hosts: cmp-1, cmp-2)',
        ),
        (1, {'cmp-1': {'aggregates': ['fenced']}}, 'in fenced, which is fenced (the only host)'),
        (1, {}, 'there is no host'),
        (2, {'cmp-1': FULL}, 'None of 2 fit: too little VCPU left (the only host)'),
        (
            3,
            {'cmp-1': {}, 'cmp-2': {}, **{f'full-{n}': FULL for n in (1, 2, 3)}},
            '2 of 3 fit: server group web allows 1 per host, and 2 of 5 hosts are full; too little '
            'VCPU left (3 of 5 hosts)',
        ),
    ],
)
def test_the_limit_is_the_rejection_of_suitable_hosts(number, hosts, words):
    found = explained({'hosts': hosts, 'group': GROUP}, failed_server(number))
    before = 'No host takes it: ' if number == 1 else 'Nova places such a request as a whole. '
    assert [*found.why()][-1] == f'{before}{words}.'


def test_the_limit_counts_also_hosts_that_were_full_before():
    row = {'hosts': {'cmp-1': {}, 'cmp-2': {}}, 'group': {**GROUP, 'members': ['cmp-2']}}
    assert [*explained(row, failed_server(2)).why()][-1].endswith(', and both hosts are full.')


@pytest.mark.parametrize(
    ('number', 'cause', 'words'),
    [
        (1, Cause.OTHER, 'web-1 failed at 2026-11-24 09:14 UTC.'),
        (
            2,
            Cause.LOCK,
            'web-2 failed, because another action held the lock, at 2026-11-24 09:14 UTC (one of 2 '
            'servers requested together).',
        ),
    ],
)
def test_the_headline_names_the_cause_and_the_number(number, cause, words):
    assert explained({'hosts': THREE}, failed_server(number, cause=cause)).headline() == words


@pytest.mark.parametrize(
    ('number', 'servers', 'names'),
    [
        (1, 'server', 'web-1 still counts: 1'),
        (2, '2 servers', 'web-1 and web-2 still count: 2'),
        (3, '3 servers', 'web-1 to web-3 still count: 3'),
    ],
)
def test_the_failed_servers_that_must_be_deleted(number, servers, names):
    row = {'hosts': THREE, 'quotas': {'instances': [number, number]}}
    found = explained(row, failed_server(number))
    assert found.today() == (
        f'It fits today, after the failed servers are deleted. {names} of {number} instances.'
    )
    (remedy,) = found.remedies()
    ids = ' '.join(f'id-{n}' for n in range(1, number + 1))
    command = f'openstack server delete {ids}'
    assert remedy == (f'delete the {servers}, then repeat the request', [command])
    assert (found.counted.fits, found.counted.remedies) == (False, ())


def test_a_request_that_fits_needs_no_change():
    assert [*explained({'hosts': THREE}).remedies()] == []


@pytest.mark.parametrize(
    ('filters', 'more'), [(FILTERS, '. '), (None, ', or an assumption is wrong on this cloud: ')]
)
def test_a_part_that_nova_does_not_return_may_be_decisive(filters, more):
    failed = failed_server(1, hidden={'--host': 'the requested host, if any'})
    found = explained({'hosts': THREE}, failed, enabled_filters=filters)
    words = 'Nova does not return a decisive part of the request (the requested host, if any)'
    said = f'Nothing visible has changed since. Perhaps {words}{more}'
    assert [*found.now()][1].startswith(said)
    assert found.likely_cause is None
    changed = explained({'hosts': THREE}, replace(failed, changes=(GONE,)))
    assert [each.partition(':')[0] for each in [*changed.now()][1:]] == [
        f'Perhaps {words}.',
        'The cloud has changed since',
    ]


def test_a_decisive_assumption_is_named_alone():
    row = {'hosts': {'cmp-1': {'free': 3}, 'cmp-2': {}}, 'servers': {SERVER: {'host': 'cmp-1'}}}
    found = explained(row, scheduler_hints={'same_host': SERVER})
    words = 'an assumption is probably wrong on this cloud: no SameHostFilter (13 fit without, 3 '
    assert found.likely_cause == f'{words}with it)'
    assert [*found.why()][-1].endswith(' with it). Pass --nova-conf.')
    assert [*found.now()] == ['The same request would probably fail again.']
    # As many fit in any case.
    found = explained(row, failed_server(3), scheduler_hints={'same_host': SERVER})
    assert (found.likely_cause, found.would_fail_again) == (None, False)


NUMA = (*FILTERS, 'NUMATopologyFilter')
PAGES = {'extra_specs': {'hw:mem_page_size': '1GB'}}
NEEDS = 'the flavor requires hw:mem_page_size=1GB, which is not modelled'


def likely(flavor=None, failed=None, hosts=THREE, **question):
    """Return the explanation of a request for a flavor that fits by an upper bound."""
    row = {'hosts': hosts, 'flavor': flavor or {}}
    return explained(row, failed or failed_server(1), **question)


def test_a_filter_that_is_not_modelled_is_the_likely_cause():
    found = likely(PAGES, enabled_filters=NUMA)
    cause = f'filter NUMATopologyFilter probably rejected all 3 hosts: {NEEDS}'
    assert found.likely_cause == found.as_dict()['likely_cause'] == cause
    assert found.would_fail_again
    *_message, why, today = found.sentences()
    assert why == f'{cause[0].upper()}{cause[1:]}. Pass --nova-conf.'
    assert today == 'The same request would probably fail again.'


@pytest.mark.parametrize(
    ('number', 'hosts', 'which'),
    [
        (1, {'cmp-1': {}}, 'the only host'),
        (1, {'cmp-1': {'free': 1}, 'cmp-2': {}}, 'both hosts'),
        (1, {'cmp-1': {}, 'cmp-2': {'free': 0}}, 'the only host that the planner accepts'),
        (3, {'cmp-1': {'free': 1}, 'cmp-2': {}}, 'too many of the 2 hosts'),
    ],
)
def test_the_hosts_that_nova_probably_rejected(number, hosts, which):
    found = likely(PAGES, failed_server(number, 'DELETED'), hosts, enabled_filters=NUMA)
    assert found.likely_cause == f'filter NUMATopologyFilter probably rejected {which}: {NEEDS}'


@pytest.mark.parametrize(
    ('flavor', 'question', 'words'),
    [
        (
            PAGES,
            {},
            f'filter NUMATopologyFilter, if it is enabled, probably rejected {{}}: {NEEDS}',
        ),
        (
            {'extra_specs': {'hw:cpu_policy': 'dedicated'}},
            {'enabled_filters': NUMA, 'image_properties': {'hw_numa_nodes': '2'}},
            'filter NUMATopologyFilter probably rejected {}: the flavor requires '
            'hw:cpu_policy=dedicated and the image requires hw_numa_nodes=2, which is not modelled',
        ),
        (
            {'extra_specs': {'pci_passthrough:alias': 'a1:1'}},
            {'enabled_filters': (*NUMA, 'PciPassthroughFilter')},
            'filter PciPassthroughFilter probably rejected {}: the flavor requires '
            'pci_passthrough:alias=a1:1, which is not modelled',
        ),
        (
            {},
            {'enabled_filters': (*FILTERS, 'JsonFilter'), 'scheduler_hints': {'query': '[]'}},
            'filter JsonFilter probably rejected {}: the request has scheduler hint query, which '
            'is not modelled',
        ),
        (
            {},
            {'scheduler_hints': {'query': '[]'}},
            'filter JsonFilter, if it is enabled, probably rejected {}: the request has scheduler '
            'hint query, which is not modelled',
        ),
        (
            {},
            {'scheduler_hints': {'rack': '7'}},
            'filter of another package, if it is enabled, probably rejected {}: the request has '
            'scheduler hint rack, which is not modelled',
        ),
        (
            {},
            {'enabled_filters': (*FILTERS, 'IoOpsFilter')},
            'filter IoOpsFilter, which is not modelled, probably rejected {}',
        ),
        # It reads a part of the request, so it is more likely than one that may read anything.
        (
            PAGES,
            {'enabled_filters': ('IoOpsFilter', *NUMA)},
            f'filter NUMATopologyFilter probably rejected {{}}: {NEEDS}',
        ),
        # No enabled filter reads it.
        (
            PAGES,
            {'enabled_filters': FILTERS},
            'the cause is probably what the planner does not fully model: extra spec '
            'hw:mem_page_size',
        ),
    ],
)
def test_what_is_likely(flavor, question, words):
    question = {'image_properties': {}, **question}
    row = {'hosts': THREE, 'flavor': flavor}
    view = snapshot_of(row)
    found = explain(failed_server(1), Question(1, 'small', **question), view, CONSTRAINTS)
    assert found.likely_cause == words.format('all 3 hosts')
    assert found.would_fail_again


def test_the_filter_of_a_constraint_with_an_upper_bound():
    row = {'hosts': THREE, 'flavor': {}}
    properties = {'hw_architecture': 'aarch64'}
    asked = Question(1, 'small', image_properties=properties, enabled_filters=DEFAULT_FILTERS)
    constraints = (*CONSTRAINTS, ImageHypervisorConstraint())
    found = explain(failed_server(1), asked, snapshot_of(row), constraints)
    words = 'filter ImagePropertiesFilter probably rejected all 3 hosts: the image requires '
    assert found.likely_cause.startswith(f'{words}hw_architecture=aarch64')


def test_a_filter_is_not_the_cause_if_placement_had_no_host():
    empty = failed_server(1, message='No valid host was found. ')
    found = likely(PAGES, empty, enabled_filters=NUMA)
    words = 'the cause is probably what the planner does not fully model: extra spec hw:mem_page_'
    assert found.likely_cause == f'{words}size'
    found = likely({}, empty, enabled_filters=(*FILTERS, 'IoOpsFilter'))
    assert (found.decision.fits_by_upper_bound, found.likely_cause) == (True, None)
    row = {'hosts': {'cmp-1': {'free': 3}, 'cmp-2': {}}, 'servers': {SERVER: {'host': 'cmp-1'}}}
    empty = failed_server(message='No valid host was found. ')
    found = explained(row, empty, scheduler_hints={'same_host': SERVER})
    assert found.likely_cause.startswith('an assumption is probably wrong on this cloud')


def test_a_request_filter_is_the_likely_cause():
    message = 'No valid host was found. Scheduling failed: No hosts for me'
    failed = failed_server(1, message=message)
    found = explained({'hosts': THREE}, failed)
    words = 'nova-scheduler rejected the request itself: Scheduling failed: No hosts for me'
    assert (found.likely_cause, found.would_fail_again) == (words, True)
    found = explained({'hosts': None}, failed)
    said = [*found.sentences()]
    assert (found.likely_cause, found.would_fail_again) == (words, False)
    assert not any('Placement had' in each for each in said)


def test_a_claim_would_probably_fail_again():
    text = 'Insufficient compute resources: Claim pci failed.'
    for failed in (
        failed_server(1, message=text, cause=Cause.CLAIM),
        failed_server(1, message=f'{LAST}{text}', cause=Cause.RETRIES),
    ):
        found = explained({'hosts': THREE}, failed)
        assert found.would_fail_again
        assert found.today() == 'The same request would probably fail again.'


@pytest.mark.parametrize('cause', [Cause.NOT_SHOWN, Cause.VOLUME])
def test_only_no_valid_host_is_evidence_about_the_hosts(cause):
    message = 'Volume 7d is lost' if cause is Cause.VOLUME else None
    failed = failed_server(1, message=message, cause=cause)
    found = likely(PAGES, failed, enabled_filters=NUMA)
    assert (found.likely_cause, found.would_fail_again) == (None, False)


def test_nova_conf_is_proposed_only_if_it_was_not_passed():
    options = {each.key for item in CONSTRAINTS for each in item.options if each.nova}
    for keys, is_proposed in ((frozenset(), True), (frozenset(options), False)):
        found = likely(PAGES, enabled_filters=NUMA, explicit_options=keys)
        assert any('Pass --nova-conf' in each for each in found.sentences()) is is_proposed
        snapshot = snapshot_of({'hosts': THREE, 'flavor': {}})
        flavor = replace(snapshot.flavors[0], is_shared=None)
        view = replace(snapshot, flavors=(flavor,))
        asked = Question(1, 'small', enabled_filters=FILTERS, explicit_options=keys)
        found = explain(failed_server(1), asked, view, CONSTRAINTS)
        said = [*found.sentences()][-1]
        assert 'an assumption is wrong on this cloud: an image without properties' in said
        assert ('Pass --nova-conf' in said) is is_proposed


def test_a_quota_does_not_explain_that_no_host_was_found():
    """The quota was used up later: nova-api checks it before it looks for a host."""
    row = {'hosts': THREE, 'quotas': {'instances': [9, 9]}}
    found = explained(row, failed_server(1, 'DELETED'))
    said = [*found.sentences()]
    assert found.decision.fits is False
    assert not any('No host takes it' in each for each in said)
    assert found.today().startswith('The same request would fail today: ')
    assert 'instances' in found.today()
    assert said[-1].startswith('Nothing visible has changed since.')
    # Nor do unknown quotas, as those of another project: the number is certain without them.
    snapshot = replace(snapshot_of({'hosts': THREE}), project_id='ours', quotas=None)
    asked = Question(1, 'small', image_properties={}, enabled_filters=FILTERS)
    found = explain(failed_server(1), asked, snapshot, CONSTRAINTS)
    assert (found.decision.fits_by_upper_bound, found.likely_cause) == (True, None)
    # A tenant who knows the quotas reads that they reject the request today.
    row = {'hosts': None, 'quotas': {'instances': [9, 9]}}
    found = explained(row, failed_server(1, 'DELETED'))
    assert found.decision.fits is False
    assert not any('No host takes it' in each for each in found.why())


def test_a_quota_that_rejects_a_request_is_named_beside_the_hosts():
    """A remedy changes both."""
    row = {'hosts': {'cmp-1': FULL}, 'quotas': {'instances': [9, 9]}}
    found = explained(row, failed_server(1, 'DELETED'))
    assert [*found.sentences()][-2:] == [
        'No host takes it: too little VCPU left (the only host).',
        'The same request would fail today, also because the project has 9 of 9 instances: no room '
        'for 1 more.',
    ]


def test_failed_servers_use_quotas_of_their_user():
    quotas = {
        'instances': Quota(9, 8, of_user=Quota(5, 3)),
        'cores': Quota(9, 9),
        'ram': Quota(9000, None),
        'server_groups': Quota(9, 5),
    }
    row = {'hosts': THREE, 'flavor': {'vcpus': 2}}
    found = explained(row)
    for user, of_user in (('amy', 0), (None, 0), ('bob', 3)):
        cloud = replace(found.cloud, quotas=quotas, user_id='amy')
        _request, left = without_failed(found.request, cloud, failed_server(user_id=user))
        assert left.quotas == {
            'instances': Quota(9, 4, of_user=Quota(5, of_user)),
            'cores': Quota(9, 1),
            'ram': Quota(9000, None),
            'server_groups': Quota(9, 5),
        }


def test_one_of_several_groups_is_known():
    snapshot = snapshot_of({'hosts': THREE, 'group': GROUP})
    (group,) = snapshot.server_groups
    other = replace(group, id='other', name='other')
    asked = Question(1, 'small', image_properties={}, server_group='g')
    view = replace(snapshot, server_groups=(other, group))
    assert explain(failed_server(1), asked, view, CONSTRAINTS).notes == ()


def test_the_access_to_the_flavor_is_that_of_today():
    snapshot = snapshot_of({'hosts': THREE})
    (now,) = snapshot.flavors
    view = replace(snapshot, flavors=(replace(now, is_shared=False),))
    asked = Question(1, 'small', image_properties={})
    found = explain(failed_server(1, flavor=now), asked, view, CONSTRAINTS)
    assert (found.request.flavor.is_shared, found.notes) == (False, ())


def test_a_quota_is_the_limit_only_of_a_failure_that_it_can_explain():
    row = {'hosts': {'cmp-1': FULL}, 'quotas': {'instances': [9, 9], 'cores': [9, 9]}}
    found = explained(row, failed_server(1, 'DELETED'))
    assert [*found.why()][-1] == 'No host takes it: too little VCPU left (the only host).'
    quota = failed_server(1, 'DELETED', message='Quota exceeded', cause=Cause.QUOTA)
    found = explained(row, quota)
    assert [*found.why()][-1].startswith('No host takes it: ')
    assert 'instances' in [*found.why()][-1]
    assert [*found.why()][-1].endswith('; too little VCPU left (the only host).')


@pytest.mark.parametrize('host', ['cmp-2', None])
def test_a_request_that_names_its_host_first_reads_that_another_host_would_do(host):
    """By an option, or by ``zone:host``, for which a new host is no remedy, either."""
    row = {'hosts': {'cmp-1': {'free': 4}, 'cmp-2': {'free': 1}, 'cmp-3': OFF}}
    named = {} if host else {'availability_zone': 'nova:cmp-2'}
    decision = explained(row, failed_server(3), host, **named).decision
    first = decision.remedies[0]
    assert (first.code, first.change, first.capacity) == (
        'any_host',
        'without the requested host',
        5,
    )
    assert not {'hosts', 'started_hosts'} & {each.code for each in decision.remedies}
    full = {'hosts': {'cmp-1': FULL, 'cmp-2': {'free': 1}}}
    assert explained(full, failed_server(3), host, **named).decision.remedies == ()


HIDDEN = {
    'hosts': None,
    'group': {'policy': 'anti-affinity'},
    'flavor': {'vcpus': 2},
    'flavors': {'less': {'vcpus': 1}},
}


ASK = 'ask the operator to enable or free a suitable host (give the id id-1)'
OTHERWISE = 'delete own servers that are no longer needed, or wait'
BY_PLACEMENT = 'No valid host was found. '


@pytest.mark.parametrize(
    ('message', 'words'),
    [
        (
            NOT_ENOUGH,
            ['no availability_zone',
             'a new server group with a larger max_server_per_host '
             '(more of its servers may share a host)',
             'a new server group with soft-anti-affinity (its servers may share a host)',
             'without the server group (nothing keeps the servers apart)', ASK,
             'flavor: less', OTHERWISE],
        ),
        (BY_PLACEMENT, ['no availability_zone', ASK, 'flavor: less', OTHERWISE]),
    ],
)  # fmt: skip
def test_a_tenant_reads_what_they_could_change(message, words):
    """Without hosts, nothing is promised; Placement knows no server group, filters no resources."""
    failed = failed_server(1, message=message)
    found = explained(HIDDEN, failed, availability_zone='nova')
    assert list(found.suggestions) == words
    assert [*found.remedies()] == []
    known = {**HIDDEN, 'hosts': {'cmp-1': FULL}}
    assert explained(known, failed).suggestions == ()


def suggested_for(flavor, flavors=None, message=BY_PLACEMENT, **question):
    row = {'hosts': None, 'flavor': flavor, 'flavors': flavors or {}}
    return [*explained(row, failed_server(1, message=message), **question).suggestions]


def test_a_tenant_reads_of_a_flavor_without_the_special_requirement():
    """It is of the same size, or at least half as large; a GPU may be given up, too."""
    specs = {'trait:CUSTOM_A': 'required', 'hw:rng': 'true'}
    others = {'rng': {'extra_specs': {'hw:rng': 'true'}}, 'none': {}}
    assert suggested_for({'extra_specs': specs}, others) == [
        ASK,
        'flavor: rng, which does not require trait:CUSTOM_A=required',
        'flavor: none, which does not require trait:CUSTOM_A=required and hw:rng=true',
        OTHERWISE,
    ]
    gpu = {'extra_specs': {'resources:VGPU': '1'}, 'disk': 100}
    words = 'flavor: half, which does not require resources:VGPU=1'
    assert suggested_for(gpu, {'half': {'disk': 50}, 'less': {'disk': 49}}) == [
        ASK,
        words,
        OTHERWISE,
    ]


def test_a_tenant_reads_of_a_volume_only_for_a_flavor_with_a_large_disk():
    wide = {'vcpus': 2, 'disk': 1}
    deep = suggested_for({'disk': 150}, {'less': {}, 'wide': wide})
    assert deep == ['boot from a volume', ASK, OTHERWISE]  # 'less' has a 150th of the disk
    assert suggested_for({'disk': 1}, {'wide': wide}) == ['no flavor asks for less', ASK, OTHERWISE]


def test_a_tenant_reads_of_the_three_closest_flavors():
    others = {f'{ram}': {'ram': ram} for ram in (64, 128, 256, 400)}
    words = 'flavor: 400 or 256 (the smaller, the likelier)'
    assert suggested_for({}, others) == [words, ASK, OTHERWISE]


def test_a_tenant_reads_of_a_far_smaller_flavor_after_the_operator():
    """Placement reads no hint: without it, the flavor is still the only change."""
    tiny = {'tiny': {'ram': 64}}
    hint = {'scheduler_hints': {'same_host': [SERVER]}}
    assert suggested_for({}, tiny) == [ASK, 'flavor: tiny', OTHERWISE]
    assert suggested_for({}, tiny, **hint) == [ASK, 'flavor: tiny', OTHERWISE]


def test_a_tenant_reads_what_the_filters_may_have_rejected():
    hinted = suggested_for({}, message=NOT_ENOUGH, scheduler_hints={'same_host': [SERVER]})
    assert hinted == [
        'without the scheduler hint same_host',
        'no flavor asks for less',
        ASK,
        OTHERWISE,
    ]
    properties = {'hw_architecture': 'aarch64', 'os_type': 'linux'}
    row = {'hosts': None}
    failed = failed_server(1)
    asked = Question(1, 'small', image_properties=properties)
    found = explain(failed, asked, snapshot_of(row), CONSTRAINTS)
    image = 'another image, which does not require hw_architecture=aarch64'
    assert [*found.suggestions] == [image, 'no flavor asks for less', ASK, OTHERWISE]


def test_what_certainly_fits_would_help_where_the_same_request_probably_fails_again():
    row = {
        'hosts': THREE,
        'flavor': {'extra_specs': {'hw:mem_page_size': '1GB'}},
        'flavors': {'plain': {}},
    }
    filters = (*FILTERS, 'NUMATopologyFilter')
    found = explained(row, failed_server(1), enabled_filters=filters)
    assert found.would_fail_again
    words = 'flavor: plain, which does not require hw:mem_page_size=1GB'
    assert [*found.remedies()] == [(words, ())]


def test_no_other_host_helps_a_request_that_names_its_host():
    row = {'hosts': {'cmp-1': {'free': 1}, 'cmp-2': {'free': 1}}}
    codes = [{each.code for each in explained(row, failed_server(3), name).decision.remedies}
             for name in (None, 'cmp-2')]  # fmt: skip
    assert [('hosts' in each) for each in codes] == [True, False]
