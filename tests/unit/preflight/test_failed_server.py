"""The meaning of Nova's messages, and the question about the same request."""

import pytest

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.preflight.failed_server import (
    MODELLED,
    ActionFailure,
    Cause,
    FailedServer,
    Sibling,
    action_cause,
    cause_of,
    question_of,
)
from senlin_affinity.preflight.question import Question
from tests.support.values import replace

UUID = '5c0f8a52-0000-4000-8000-000000000000'
RAN_OUT = 'Exceeded maximum number of retries. Exhausted all hosts available for retrying build'


@pytest.mark.parametrize(
    ('message', 'cause'),
    [
        (None, Cause.NOT_SHOWN),
        ('No valid host was found. ', Cause.NO_HOST),
        ('No valid host was found. There are not enough hosts available.', Cause.NO_HOST),
        (f'{RAN_OUT} failures for instance {UUID}.', Cause.RETRIES),
        (f'{RAN_OUT} failures: Last exception: Volume is not ready', Cause.RETRIES),
        ('Quota exceeded for instances: Requested 1, but already used 1 of 1', Cause.QUOTA),
        ('Quota exceeded, too many servers in group', Cause.QUOTA),
        (f'Build of instance {UUID} aborted: Volume 7d did not finish', Cause.VOLUME),
        (f'Build of instance {UUID} aborted: Block Device Mapping is Invalid.', Cause.VOLUME),
        (f'Build of instance {UUID} aborted: Binding failed for port 7d', Cause.PORT),
        (f'Build of instance {UUID} aborted: Failed to allocate the network(s)', Cause.PORT),
        (f'Build of instance {UUID} aborted: Image 7d is unacceptable', Cause.IMAGE),
        (f'Build of instance {UUID} aborted: disk I/O', Cause.BUILD),
        (f'Build of instance {UUID} aborted: VolumeLimitExceeded: Maximum', Cause.VOLUME),
        # Without another attempt ([scheduler] max_attempts is 1), Nova stores the exception itself.
        ('Maximum number of ports exceeded', Cause.PORT),
        ('Insufficient compute resources: Claim pci failed.', Cause.CLAIM),
        ('Anti-affinity instance group policy was violated', Cause.GROUP_CHECK),
        (
            'ServerGroup policy is not supported: ServerGroupAntiAffinityFilter not configured',
            Cause.GROUP_FILTER,
        ),
        ('internal error: qemu unexpectedly closed the monitor: -netdev', Cause.HYPERVISOR),
        ('Something else', Cause.OTHER),
    ],
)
def test_the_cause_that_a_message_names(message, cause):
    assert cause_of(message) is cause
    assert (cause in MODELLED) is (
        cause not in (Cause.VOLUME, Cause.PORT, Cause.IMAGE, Cause.BUILD, Cause.OTHER)
        and cause is not Cause.HYPERVISOR
    )


LAST = (
    'Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance '
    f'{UUID}. Last exception: '
)


@pytest.mark.parametrize(
    ('text', 'origin', 'meaning'),
    [
        ('Maximum number of ports exceeded', Cause.PORT, 'quota of ports in Neutron'),
        ('No fixed IP addresses available for network: 7d', Cause.PORT, 'no free address'),
        ('Binding failed for port 7d, please check neutron logs', Cause.PORT, 'could not bind'),
        ('Port id 7d could not be found.', Cause.PORT, ''),
        ('Volume 7d could not be attached. Reason: x', Cause.VOLUME, ''),
        ("Maximum number of volumes allowed (10) exceeded for quota 'volumes'.", Cause.VOLUME, 'C'),
        (
            'Insufficient compute resources: Requested instance NUMA topology cannot fit the given '
            'host NUMA topology.',
            Cause.CLAIM,
            'no NUMA node',
        ),
        ('Insufficient compute resources: Claim pci failed.', Cause.CLAIM, 'no free PCI device'),
        ('Insufficient compute resources: Free memory 2 MB', Cause.CLAIM, ''),
        ('PCI device request [InstancePCIRequest] failed', Cause.CLAIM, 'no free PCI device'),
        ('internal error: process exited while connecting to monitor', Cause.HYPERVISOR, ''),
        ("unsupported configuration: CPU mode 'x' is not supported", Cause.HYPERVISOR, ''),
        ('Image 7d could not be found.', Cause.IMAGE, ''),
        (
            'Anti-affinity instance group policy was violated',
            Cause.GROUP_CHECK,
            'did not satisfy the policy',
        ),
        ('something new', Cause.RETRIES, ''),
    ],
)
def test_the_exception_of_the_last_attempt(text, origin, meaning):
    failure = ActionFailure(Cause.RETRIES, LAST + text)
    assert (failure.last_exception, failure.origin) == (text, origin)
    assert meaning in failure.meaning
    assert bool(meaning) is bool(failure.meaning)


@pytest.mark.parametrize('message', [f'{LAST}None', RAN_OUT, None])
def test_no_exception_of_the_last_attempt(message):
    failure = ActionFailure(Cause.RETRIES, message)
    assert (failure.last_exception, failure.origin) == (None, Cause.RETRIES)


def test_a_reason_of_senlin_is_no_exception_of_nova():
    message = 'Maximum number of ports exceeded'
    assert ActionFailure(Cause.POLICY, message, source='Senlin').meaning == ''
    assert ActionFailure(Cause.PORT, message).meaning


def test_a_request_filter_rejects_the_request():
    """Nova then asks neither Placement nor the scheduler's filters."""
    failure = ActionFailure(
        Cause.NO_HOST, 'No valid host was found. Scheduling failed: No hosts for me'
    )
    assert (failure.rejection, failure.is_by_filters) == (
        'Scheduling failed: No hosts for me',
        None,
    )


def test_whether_placement_or_the_filters_left_no_host():
    assert ActionFailure(Cause.NO_HOST, 'No valid host was found. ').is_by_filters is False
    filtered = 'No valid host was found. There are not enough hosts available.'
    assert ActionFailure(Cause.NO_HOST, filtered).is_by_filters is True
    assert ActionFailure(Cause.QUOTA, filtered).is_by_filters is None
    assert ActionFailure(Cause.NOT_SHOWN).is_by_filters is None


def server(**more):
    siblings = tuple(Sibling(f'id-{n}', f'web-{n}', 'ERROR') for n in (1, 2, 3))
    values = {
        'failure': ActionFailure(Cause.NO_HOST, 'No valid host was found. '),
        'flavor_name': 'tiny',
        'project_id': 'p',
        'availability_zone': 'az-1',
        'server_group': 'g',
        'hints': {'different_host': ['s']},
        'image': Image('i'),
        'siblings': siblings,
        'number': 3,
    }
    return FailedServer('id-1', 'web-1', 'ERROR', **{**values, **more})


SETTINGS = Question(0, enabled_filters=('ComputeFilter',), options={'drs_pattern': 'x'})


def test_the_question_is_about_the_whole_request():
    asked = question_of(server(), SETTINGS)
    assert (asked.count, asked.flavor, asked.server_group) == (3, 'tiny', 'g')
    assert (asked.availability_zone, asked.project_id) == ('az-1', 'p')
    assert (asked.image, asked.is_volume_booted) == (Image('i'), False)
    assert question_of(server(is_volume_booted=True, image=None), SETTINGS).is_volume_booted
    assert asked.scheduler_hints == {'different_host': ['s']}
    assert (asked.enabled_filters, asked.options) == (('ComputeFilter',), {'drs_pattern': 'x'})


def test_siblings_that_run_are_not_requested_again():
    ran = Sibling('id-2', 'web-2', 'ACTIVE', is_failed=False)
    siblings = (server().siblings[0], ran, Sibling('id-3', 'web-3', 'DELETED'))
    failed = server(siblings=siblings)
    assert question_of(failed, SETTINGS).count == 2
    assert [each.id for each in failed.remaining] == ['id-1']


def test_options_override_what_nova_shows():
    given = replace(
        SETTINGS,
        count=7,
        flavor='big',
        image='cirros',
        availability_zone='az-2',
        server_group='other',
        scheduler_hints={'same_host': 't'},
    )
    asked = question_of(server(is_volume_booted=True, image=None), given)
    assert (asked.count, asked.flavor, asked.image) == (7, 'big', 'cirros')
    assert (asked.availability_zone, asked.server_group) == ('az-2', 'other')
    assert asked.scheduler_hints == {'different_host': ['s'], 'same_host': 't'}
    assert not asked.is_volume_booted
    hinted = question_of(server(), replace(SETTINGS, scheduler_hints={'group': ['hinted']}))
    assert (hinted.server_group, 'group' in hinted.scheduler_hints) == ('hinted', False)


def test_a_forced_host_stays_a_part_of_the_zone():
    asked = question_of(server(), replace(SETTINGS, availability_zone='az-1:cmp-1:node'))
    assert asked.target == ('az-1', 'cmp-1', 'node')


def test_an_unknown_deleted_server():
    with pytest.raises(
        InvalidSpec, match='web-1 is deleted, .* at least its flavor .* --flavor FLAVOR'
    ):
        question_of(server(flavor_name=None), SETTINGS)


@pytest.mark.parametrize(
    ('status', 'reason', 'cause'),
    [
        ('CANCELLED', "Failed policy 'p'", Cause.CANCELLED),
        ('FAILED', "Failed policy 'p'", Cause.POLICY),
        ('FAILED', 'Failed in locking cluster.', Cause.LOCK),
        ('FAILED', 'CLUSTER_RESIZE timeout', Cause.TIMEOUT),
        ('FAILED', 'something else', Cause.SENLIN),
    ],
)
def test_the_cause_of_a_failed_action(status, reason, cause):
    assert action_cause(status, reason) is cause
