"""A rejection discloses only what creating the servers would show.

The trials are counted here, from the figures that the cloud is made of, and not by the planner.
"""

import re
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.stages import Stages
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.preflight import hook, run, sample
from senlin_affinity.preflight.disclosure import NO_ROOM
from tests.property.test_stage_laws import A_HOST, A_QUESTION, OWNER, SIZES, cloud_of


def room(has, number, asked, size, zone):
    """So many servers get onto a host, whatever group they are of."""
    is_closed = (
        has['is_disabled']
        or asked['down'] == number
        or (asked['is_rare'] and not has['is_rare'])
        or asked['disk'] not in (None, has['disk'])
        or zone not in (None, has['zone'])
    )
    ram, vcpus, disk = size
    cpus, memory, gigabytes = has['free']
    return 0 if is_closed else min(cpus // vcpus, 512 * memory // ram, gigabytes // disk)


def left(asked, size, members):
    """So many of the servers the quotas leave, in a group that has some."""
    ram, vcpus, _disk = size
    each = {'maxTotalCores': vcpus, 'maxTotalRAMSize': ram}
    used = {'maxServerGroupMembers': members}
    rooms = (
        (limit - used.get(name, 0)) // each.get(name, 1)
        for name, limit in asked['limits'].items()
        if limit >= 0
    )
    return min([asked['count'], *(max(0, number) for number in rooms)])


def trial(hosts, asked, size=SIZES[0], **more):
    """Return how many of the wanted servers start, with something of the request changed."""
    places = [place % len(hosts) for place in asked['members']]
    own = {key: asked[key] for key in ('policy', 'most', 'zone')} | {'held': places} | more
    held = own['held']
    rooms = [room(has, number, asked, size, own['zone']) for number, has in enumerate(hosts)]
    if own['policy'] == 'affinity':
        found = sum(rooms[place] for place in {*held}) if held else max(rooms)
    elif own['policy'] == 'anti-affinity':
        slots = [max(0, own['most'] - held.count(number)) for number in range(len(hosts))]
        found = sum(map(min, rooms, slots))
    else:
        found = sum(rooms)
    return min(found, left(asked, size, len(held)))


def with_change(hosts, asked, change):
    """Return how many servers start with a change that a report names."""
    name, _, value = change.partition(': ')
    if name == 'max_server_per_host':
        return trial(hosts, asked, most=int(value), held=())
    if name == 'policies':
        return trial(hosts, asked, policy='soft', held=())
    if name == 'flavor':
        return trial(hosts, asked, sizes_of(asked)[int(value.removeprefix('f'))])
    if name == 'no availability_zone':
        return trial(hosts, asked, zone=None)
    if name == 'availability_zone':
        return trial(hosts, asked, zone=value)
    assert name.startswith('a new server group'), change
    return trial(hosts, asked, held=())


def sizes_of(asked):
    return [SIZES[0], *sorted(asked['flavors'])]


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(st.lists(A_HOST, min_size=1, max_size=10), A_QUESTION)
def test_a_rejection_discloses_what_trials_show(hosts, asked):
    cloud, request = cloud_of(hosts, {**asked, 'is_pinned': False, 'member_of': None})
    with cloud, mock.patch.object(sample, 'SPARE', asked['spare']):
        both = Clients(
            OwnerClient(cloud.connection(OWNER)), OperatorClient(cloud.connection('admin'))
        )
        answer = hook.decide(request, run.run(request, Stages(both))).answer
    if not isinstance(answer, Refusal):
        assert trial(hosts, asked) == asked['count']
        return
    line, _, helps = answer.reason.partition('; would help: ')
    shown, *reasons = line.split('; ')
    assert shown == f'does not fit: at most {trial(hosts, asked)} of {asked["count"]}'
    for change in filter(None, re.split(r' \(\d+ of \d+\)(?:, |$)', helps)):
        assert with_change(hosts, asked, change) == asked['count'], change
    restricted = ('they must be in zone', 'must share a host')  # whether it is in the way or not
    for reason in reasons:
        if 'a host may hold' in reason:
            assert trial(hosts, asked, policy='soft') > trial(hosts, asked), reason
        else:
            own = ('the project ', 'the user ', 'members allowed', NO_ROOM, *restricted)
            assert any(words in reason for words in own), reason
