"""An action on a server as a question, a request and a decision, and its explanation."""

import pytest
from msgspec import structs
from msgspec.structs import replace as with_fields

from senlin_affinity.answers.headline import limiting_reason
from senlin_affinity.answers.repetition import explain
from senlin_affinity.constraints.quota import DRIVER, USAGE
from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.actions import Action, ServerAction
from senlin_affinity.nova.moves import REBUILT_IMAGE
from senlin_affinity.preflight.failed_server import (
    ActionFailure,
    Cause,
    Change,
    FailedServer,
    cause_of,
)
from senlin_affinity.preflight.failed_server import question_of as failed_question
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.server_action import asking, describe, question_of
from tests.support.small_cloud import CONSTRAINTS, flavor_of, snapshot_of
from tests.support.values import replace

SMALL = flavor_of({})
THREE = {f'cmp-{number}': {} for number in (1, 2, 3)}
FULL = {'cmp-1': {}, 'cmp-2': {'free': 0}, 'cmp-3': {'free': 0}}
ZONES = {'cmp-1': {'zone': 'az-1'}, 'cmp-2': {'zone': 'az-2'}}
AT = '2026-11-24T09:14:05Z'
NO_HOST = 'No valid host was found. '


def server(**more):
    known = {'host': 'cmp-1', 'flavor': SMALL, 'project_id': 'ours', 'user_id': 'u'}
    return Server('s1', 'web-1', more.pop('status', 'ACTIVE'), **{**known, **more})


def row(hosts=None, **more):
    return {'hosts': THREE if hosts is None else hosts, 'flavors': {'big': {'ram': 1024}}, **more}


def asked(action=Action.MIGRATE, hosts=None, more=None, view=None, cloud=None, **given):
    """Return the request of the action in a small cloud; ``more`` are fields of the server."""
    snapshot = with_fields(snapshot_of(row(hosts, **(cloud or {}))), nova_release=34)
    if snapshot.server_groups:
        (group,) = snapshot.server_groups
        members = (*group.members, Member('s1', 'cmp-1'))
        snapshot = with_fields(snapshot, server_groups=(replace(group, members=members),))
        more = {'server_group': 'g', **(more or {})}
    action = ServerAction(action, server(**(more or {})))
    question = question_of(action, Question(1, **given))
    known = structs.replace(snapshot, **view or {})
    return asking(action, question, known)


def decided(*arguments, **more):
    return asked(*arguments, **more).decide(CONSTRAINTS)


def test_the_question_has_what_the_server_was_created_with():
    of = server(pinned_zone='az-1', server_group='g', hints={'different_host': 'x'})
    question = question_of(ServerAction(Action.MIGRATE, of), Question(1))
    assert (question.flavor, question.server_group) == ('small', 'g')
    assert (question.availability_zone, question.hints) == ('az-1', {'different_host': 'x'})
    assert (question.project_id, question.user_id, question.image) == ('ours', 'u', Image())
    new = question_of(ServerAction(Action.RESIZE, of), Question(1, 'big'))
    assert new.flavor == 'big'


def test_a_nova_that_does_not_show_the_flavor():
    hidden = ServerAction(Action.MIGRATE, server(flavor=None))
    with pytest.raises(InvalidSpec, match='does not show the flavor of web-1: specify --flavor'):
        question_of(hidden, Question(1))
    assert asked(more={'flavor': None}, flavor='big').request.flavor.name == 'big'


@pytest.mark.parametrize(('action', 'flavor'), [(Action.MIGRATE, None), (Action.RESIZE, 'big')])
def test_the_own_host_is_not_considered(action, flavor):
    found = decided(action, FULL, flavor=flavor)
    assert (found.fits, [each.host for each in found.hosts]) == (False, ['cmp-2', 'cmp-3'])
    assert decided(action, flavor=flavor).fits is True


def test_a_live_migration_fits_by_an_upper_bound():
    found = decided(Action.LIVE_MIGRATE)
    assert (found.fits, found.fits_by_upper_bound, found.capacity_certain) == (True, True, 0)
    assert [*found.not_known] == [
        'what Nova checks only on the chosen host (CPU model and hypervisor version)'
    ]
    assert decided(Action.LIVE_MIGRATE, FULL).at_most == ()


def test_an_obstacle_rejects_the_request():
    found = decided(Action.EVACUATE)
    assert (found.fits, found.capacity, found.placements) == (False, 0, ())
    assert 'move.host_up (the compute service of cmp-1 is up' in found.line()
    assert found.remedies == ()
    down = {**THREE, 'cmp-1': {'down': True}}
    assert decided(Action.EVACUATE, down).fits is True


def test_a_server_keeps_its_group_and_flavor_so_no_remedy_changes_them():
    group = {'policy': 'anti-affinity', 'members': ['cmp-2', 'cmp-3']}
    found = decided(hosts={**THREE, 'cmp-4': {'disabled': True}}, cloud={'group': group})
    assert [each.code for each in found.remedies] == ['started_hosts', 'hosts']
    assert found.tried == ()
    assert [each.code for each in found.hosts] == [
        *('server_group.host_full', 'server_group.host_full', 'host_state.disabled'),
    ]


def test_a_flavor_that_the_server_does_not_get_hides_no_pair_of_changes():
    """A smaller flavor alone would be enough, but it is not the one that was requested."""
    some = {'VCPU': [9, 0], 'MEMORY_MB': [700, 0], 'DISK_GB': [9, 0]}
    hosts = {'cmp-1': {}, 'cmp-2': {'resources': some}, 'cmp-3': {'disabled': True}}
    quotas = {'instances': [2, 2], 'cores': [2, 2], 'ram': [1124, 1024]}
    more = {'flavors': {'big': {'ram': 1024}, 'mid': {'ram': 600}}, 'quotas': quotas}
    cloud = {**more, 'project': 'ours', 'user': 'u'}
    found = decided(Action.RESIZE, hosts, flavor='big', cloud=cloud)
    assert [each.code for each in found.remedies] == ['two_changes']
    assert found.remedies[0].change.startswith('quota ram: 1536, and ')


@pytest.mark.parametrize(('release', 'commands'), [(34, 1), (33, 0), (None, 0)])
def test_a_pinned_zone_can_be_removed(release, commands):
    request = asked(Action.MIGRATE, ZONES, {'pinned_zone': 'az-1'})
    known = replace(request, cloud=with_fields(request.cloud, nova_release=release))
    (remedy, *_more) = known.decide(CONSTRAINTS).remedies
    assert (remedy.code, remedy.change) == ('any_zone', 'web-1 unpinned from zone az-1')
    unset = 'openstack --os-compute-api-version 2.104 server unset --pinned-availability-zone s1'
    assert remedy.commands == (unset,) * commands


@pytest.mark.parametrize(
    ('action', 'zone', 'group', 'advice'),
    [
        (Action.RESIZE, 'az-1', None, ()),
        (Action.MIGRATE, None, 'affinity', ('free capacity on the host of the group',)),
    ],
)
def test_an_existing_server_is_advised_of_no_other_zone_and_group(action, zone, group, advice):
    cloud = {'group': group and {'policy': group, 'members': ['cmp-1']}}
    given = {'flavor': 'big'} if action is Action.RESIZE else {}
    found = asked(action, ZONES, {'pinned_zone': zone}, cloud=cloud, **given).decide(CONSTRAINTS)
    assert (found.fits, found.advice()) == (False, advice)


def test_a_requested_host():
    hosts = {**THREE, 'cmp-2': {'free': 0}}
    found = decided(Action.MIGRATE, hosts, host='cmp-2')
    assert [each.host for each in found.hosts] == ['cmp-2']
    assert [each.code for each in found.remedies if each.code == 'any_host'] == ['any_host']
    assert decided(Action.MIGRATE, hosts, host='cmp-3').fits is True
    found = decided(Action.MIGRATE, hosts, host='cmp-1')
    assert (found.fits, [each.host for each in found.hosts]) == (False, ['cmp-1'])
    assert 'move.own_host (web-1 is on cmp-1 already)' in found.line()
    with pytest.raises(InvalidSpec, match="there is no host 'cmp-9'"):
        asked(Action.MIGRATE, host='cmp-9')


def test_hosts_that_the_owner_may_not_see():
    found = decided(
        Action.UNSHELVE,
        more={'status': 'SHELVED_OFFLOADED', 'host': None},
        view={'owner_sees_hosts': False},
    )
    assert (found.fits, found.hosts) == (None, ())


def test_a_rebuild_compares_the_image_with_the_own_host_only():
    image = Image('i', properties={'trait:CUSTOM_A': 'required'})
    hosts = {'cmp-1': {'free': 0, 'disabled': True}, 'cmp-2': {'traits': ['CUSTOM_A']}}
    found = decided(Action.REBUILD, hosts, image=image)
    assert [(each.host, each.code) for each in found.hosts] == [('cmp-1', 'traits.missing')]
    assert decided(Action.REBUILD, hosts, image=Image('i')).fits is True
    views = {'images': {'new': image}}
    assert decided(Action.REBUILD, hosts, image='new', view=views).fits is False


@pytest.mark.parametrize(
    ('action', 'status', 'name', 'at_most'),
    [
        # No other filter of Nova runs on a rebuild.
        (Action.REBUILD, 'ACTIVE', 'AggregateInstanceExtraSpecsFilter', ()),
        (Action.REBUILD, 'ACTIVE', 'NUMATopologyFilter', ()),
        (Action.REBUILD, 'ACTIVE', 'OfAnotherPackage', ('filter OfAnotherPackage',)),
        (Action.UNSHELVE, 'SHELVED', 'OfAnotherPackage', ()),
        (Action.UNSHELVE, 'SHELVED_OFFLOADED', 'OfAnotherPackage', ('filter OfAnotherPackage',)),
    ],
)
def test_the_filters_that_run(action, status, name, at_most):
    known = {'image': Image('new')} if action is Action.REBUILD else {}
    found = asked(action, more={'status': status}, enabled_filters=(name,), **known)
    found = replace(found, is_late_checked=False).decide(CONSTRAINTS)
    assert (found.fits, found.at_most) == (True, at_most)


@pytest.mark.parametrize(
    ('action', 'flavor', 'options', 'fits'),
    [
        (Action.RESIZE, 'big', {}, False),  # 512 MiB more than the 100 that are left
        (Action.RESIZE, 'thin', {}, True),  # fewer cores
        (Action.MIGRATE, None, {}, True),
        (Action.UNSHELVE, None, {}, True),
        (Action.UNSHELVE, None, {USAGE.key: True}, False),
        (Action.RESIZE, 'thin', {DRIVER.key: 'nova.quota.UnifiedLimitsDriver'}, False),
    ],
)
def test_the_quotas_that_nova_checks(action, flavor, options, fits):
    quotas = {'instances': [2, 2], 'cores': [2, 2], 'ram': [1124, 1024]}
    cloud = {'quotas': quotas, 'project': 'ours', 'user': 'u'}
    cloud['flavors'] = {'big': {'ram': 1024}, 'thin': {'ram': 256}}
    offloaded = {'status': 'SHELVED_OFFLOADED', 'host': None}
    more = offloaded if action is Action.UNSHELVE else {}
    found = decided(action, more=more, cloud=cloud, flavor=flavor, options=options)
    assert found.fits is fits
    if not fits and flavor == 'big':
        (remedy,) = (each for each in found.remedies if each.code == 'quota')
        assert remedy.change == 'quota ram: 1536'


@pytest.mark.parametrize('is_of_user', [False, True])
def test_the_quotas_of_a_resize_have_the_numbers_of_nova(is_of_user):
    """Nova: Requested 4, 8192, but already used 16, 32768 of 18, 36000 cores, ram."""
    quotas = {'cores': Quota(18, 16), 'ram': Quota(36000, 32768)}
    if is_of_user:
        quotas = {name: Quota(None, each.used, each) for name, each in quotas.items()}
    whose = "user's" if is_of_user else "project's"
    view = {'quotas': quotas, 'project_id': 'ours', 'user_id': 'u'}
    cloud = {'flavors': {'big': {'vcpus': 8, 'ram': 16384}}}
    small = {'flavor': flavor_of({'vcpus': 4, 'ram': 8192})}
    hosts = {'cmp-2': {'resources': {'VCPU': [9, 0], 'MEMORY_MB': [16384, 0], 'DISK_GB': [9, 0]}}}
    found = decided(Action.RESIZE, hosts, small, view, cloud, flavor='big')
    assert limiting_reason(found) == (
        f'the {whose} quota of cores has 2 of 18 left, but the resize needs 4 more; the {whose} '
        'quota of ram has 3232 of 36000 MiB left, but the resize needs 8192 more'
    )
    facts = found.request['quota'].facts
    assert (facts['used'], facts['left'], facts['needed'], facts['each']) == (16, 2, 4, 4)
    (remedy,) = found.remedies
    cores, ram = (f'{name} of the user' if is_of_user else name for name in ('cores', 'ram'))
    assert f'{cores}: 20, {ram}: 40960' in remedy.change


def test_a_resize_after_the_quota_was_lowered_has_nothing_left():
    cloud = {'quotas': {'cores': [2, 9]}, 'flavors': {'big': {'vcpus': 8}}}
    found = decided(Action.RESIZE, cloud={**cloud, 'project': 'ours', 'user': 'u'}, flavor='big')
    assert 'has 0 of 2 left, but the resize needs 7 more' in limiting_reason(found)


def test_an_action_for_json():
    found = asked(Action.RESIZE, flavor='big').asked
    named = {'id': 's1', 'name': 'web-1', 'status': 'ACTIVE', 'host': 'cmp-1'}
    assert describe(found) == {'action': 'resize', 'server': named, 'flavor': 'big'}


def test_a_server_that_is_shelved_on_its_host_starts_there():
    hosts = {'cmp-1': {'free': 0, 'disabled': True}, 'cmp-2': {'free': 0}}
    found = decided(Action.UNSHELVE, hosts, {'status': 'SHELVED', 'pinned_zone': 'az-9'})
    assert (found.fits, [each.host for each in found.hosts]) == (True, ['cmp-1'])
    found = decided(Action.UNSHELVE, hosts, {'status': 'SHELVED_OFFLOADED', 'host': None})
    assert (found.fits, [each.host for each in found.hosts]) == (False, ['cmp-1', 'cmp-2'])


def test_what_the_question_specifies_is_known():
    unknown = Texts(('hints', 'pinned_zone', 'image_properties', REBUILT_IMAGE, 'flavor'))
    of = {'unknown': unknown, 'image_properties': {'hw_x': '1'}}
    assert asked(more=of).asked.server.unknown == unknown
    given = {'image_properties': {'trait:CUSTOM_A': 'required'}}
    found = asked(more=of, **given).asked.server
    assert found.unknown == {'hints', 'pinned_zone', 'flavor'}
    assert found.image_properties == {'hw_x': '1', **given['image_properties']}
    hosts = {**THREE, 'cmp-2': {'traits': ['CUSTOM_A']}}
    codes = [each.code for each in decided(hosts=hosts, more=of, **given).hosts]
    assert codes == [None, 'traits.missing']


# --- explanations


def explained(action, hosts=None, message=NO_HOST, failed=None, more=None, cloud=None, **given):
    of = server(**(more or {}))
    failure = ActionFailure(cause_of(message), message, AT)
    values = {'flavor_name': 'small', 'project_id': 'ours', 'user_id': 'u', **(failed or {})}
    found = FailedServer(of.id, of.name, of.status, failure, **values)
    found = replace(found, attempt=ServerAction(action, of))
    question = failed_question(found, Question(0, **given))
    view = with_fields(snapshot_of(row(hosts, **(cloud or {}))), nova_release=34)
    return explain(found, question, view, CONSTRAINTS, found.host)


def test_an_action_that_would_fail_again():
    found = explained(Action.LIVE_MIGRATE, FULL)
    assert [*found.sentences()] == [
        'The live migration of web-1 found no host at 2026-11-24 09:14 UTC.',
        'Nova: No valid host was found.',
        'No host takes it: too little VCPU left (both hosts).',
        'The same live migration would fail today.',
        'Nova does not consider cmp-1, the host of web-1.',
    ]
    said = found.as_dict()
    assert said['attempt'] == {'action': 'live-migrate', 'flavor': 'small', 'host': None}
    assert (said['requested'], said['siblings'], said['suggestions']) == (1, [], [])


def test_a_resize_names_its_flavor():
    failed, message = {'flavor_name': 'big'}, f'{NO_HOST}No valid host found for resize'
    found = explained(Action.RESIZE, FULL, message, failed)
    assert found.headline() == 'The resize of web-1 to big found no host at 2026-11-24 09:14 UTC.'
    assert [*found.sentences()][-1] == (
        'Nova does not consider cmp-1, the host of web-1: allow_resize_to_same_host is false.'
    )
    assert (found.request.flavor.name, found.likely_cause) == ('big', None)
    assert explained(Action.RESIZE, FULL, message, failed, flavor='small').request.flavor == SMALL


@pytest.mark.parametrize(
    ('hosts', 'words'), [(THREE, 'today: the project'), (FULL, 'today, also because the project')]
)
def test_a_quota_that_rejects_a_resize_is_named_beside_the_hosts(hosts, words):
    cloud = {'quotas': {'ram': [1124, 1024]}}
    found = explained(Action.RESIZE, hosts, failed={'flavor_name': 'big'}, cloud=cloud)
    assert ('No host takes it: too little VCPU' in ' '.join(found.why())) is (hosts is FULL)
    assert found.today().startswith(f"The same resize would fail {words}'s quota of ram has ")


def test_an_obstacle_is_named_beside_the_hosts():
    found = explained(Action.EVACUATE, FULL, more={'status': 'ERROR'})
    assert found.today().startswith(
        'The same evacuation would fail today, also because the compute service of cmp-1 is up'
    )


def test_an_action_that_works_now():
    gone = Change('server', 'deleted', '2026-11-24T09:20:00Z')
    found = explained(Action.MIGRATE, failed={'changes': (gone, gone)})
    assert [*found.sentences()][2:4] == [
        'It works today.',
        'The cloud has changed since: 2 servers were deleted, the last at 2026-11-24 09:20 UTC. '
        'Nova keeps no record of changes to hosts, traits or quotas.',
    ]
    unchanged = [*explained(Action.MIGRATE).sentences()][3]
    assert unchanged.startswith('Nothing visible has changed since.')


def test_a_live_migration_without_a_chosen_host_did_not_fail_there():
    """What Nova checks only on that host is not the likely cause, but not known today."""
    found = explained(Action.LIVE_MIGRATE)
    assert (found.likely_cause, found.would_fail_again) == (None, False)
    assert found.today() == (
        'It probably works today. Not known: '
        'what Nova checks only on the chosen host (CPU model and hypervisor version).'
    )


def test_an_obstacle_today():
    found = explained(Action.EVACUATE, more={'status': 'ERROR'})
    assert found.today().startswith(
        'The same evacuation would fail today: the compute service of cmp-1 is up'
    )


def test_a_target_that_nova_shows():
    found = explained(Action.MIGRATE, failed={'host': 'cmp-2'})
    assert found.headline().startswith('The cold migration of web-1 to cmp-2 found no host')
    assert [each.host for each in found.decision.hosts] == ['cmp-2']


@pytest.mark.parametrize(
    ('message', 'cause'),
    [
        ("Unacceptable CPU info: CPU doesn't have compatibility.", Cause.HYPERVISOR),
        ('Migration pre-check error: Binding failed', Cause.HYPERVISOR),
        (f'{NO_HOST}Image traits cannot be satisfied by x', Cause.NO_HOST),
    ],
)
def test_messages_of_actions(message, cause):
    failure = ActionFailure(cause_of(message), message)
    assert (failure.cause, failure.rejection) == (cause, '')
    found = explained(Action.LIVE_MIGRATE, message=message)
    assert ('This is not a placement failure' in ' '.join(found.why())) is (
        cause is Cause.HYPERVISOR
    )


@pytest.mark.parametrize(
    ('hidden', 'words'),
    [
        ({}, 'does not show the flavor of the resize of web-1: specify it with '),
        ({'--flavor': 'the new flavor'}, 'show the new flavor of the resize of web-1: specify'),
    ],
)
def test_a_resize_whose_flavor_is_hidden(hidden, words):
    """``failures`` has no such option, so the message names a command that has it."""
    with pytest.raises(InvalidSpec, match=f'{words}.*server explain s1 --flavor FLAVOR"'):
        explained(Action.RESIZE, failed={'flavor_name': None, 'hidden': hidden})


def test_a_message_that_only_administrators_read():
    failed = explained(Action.MIGRATE, message=None)
    assert 'Nova has no message for this failure.' in failed.why()
    hidden = replace(failed, decision=replace(failed.decision, hosts_after=None))
    assert 'Nova shows the message of a failed action to administrators only.' in hidden.why()
