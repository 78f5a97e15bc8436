"""A rejection discloses only what creating the servers would show.

The trials are counted from the figures of the cloud, without the planner.
"""

import re
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.answers import hook
from senlin_affinity.answers.disclosure import NO_ROOM
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.fetch import fetch
from senlin_affinity.model.numbers import at_most
from senlin_affinity.policy.senlin_data import Refusal
from senlin_affinity.preflight import sample
from tests.property.test_fetch_laws import A_HOST, A_QUESTION, OWNER, RULES, SIZES, cloud_of


def room(host, number, question, size, zone):
    """Return how many servers fit on a host, ignoring the group."""
    is_closed = (
        host['is_disabled']
        or question['down'] == number
        or (question['is_rare'] and not host['is_rare'])
        or question['disk'] not in (None, host['disk'])
        or zone not in (None, host['zone'])
    )
    ram, vcpus, disk = size
    cpus, memory, gigabytes = host['free']
    return 0 if is_closed else min(cpus // vcpus, 512 * memory // ram, gigabytes // disk)


def left(question, size, members):
    """Return how many of the servers the quotas allow, for a group with this many members."""
    ram, vcpus, _disk = size
    each = {'maxTotalCores': vcpus, 'maxTotalRAMSize': ram}
    used = {'maxServerGroupMembers': members}
    rooms = (
        (limit - used.get(name, 0)) // each.get(name, 1)
        for name, limit in question['limits'].items()
        if limit >= 0
    )
    return min([question['count'], *(max(0, number) for number in rooms)])


def trial(hosts, question, size=SIZES[0], **more):
    """Return how many of the wanted servers start, with something of the request changed."""
    places = [place % len(hosts) for place in question['members']]
    own = {key: question[key] for key in ('policy', 'most', 'zone')} | {'held': places} | more
    held = own['held']
    rooms = [room(host, number, question, size, own['zone']) for number, host in enumerate(hosts)]
    if own['policy'] == 'affinity':
        found = sum(rooms[place] for place in {*held}) if held else max(rooms)
    elif own['policy'] == 'anti-affinity':
        slots = [max(0, own['most'] - held.count(number)) for number in range(len(hosts))]
        found = sum(map(min, rooms, slots))
    else:
        found = sum(rooms)
    return min(found, left(question, size, len(held)))


def with_change(hosts, question, change):
    """Return how many servers start with a change that a report names."""
    name, _, value = change.partition(': ')
    if name == 'max_server_per_host':
        return trial(hosts, question, most=int(value), held=())
    if name == 'policies':
        return trial(hosts, question, policy='soft', held=())
    if name == 'flavor':
        return trial(hosts, question, sizes_of(question)[int(value.removeprefix('f'))])
    if name == 'no availability_zone':
        return trial(hosts, question, zone=None)
    if name == 'availability_zone':
        return trial(hosts, question, zone=value)
    assert name.startswith('a new server group'), change
    return trial(hosts, question, held=())


def sizes_of(question):
    return [SIZES[0], *sorted(question['flavors'])]


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(st.lists(A_HOST, min_size=1, max_size=10), A_QUESTION)
def test_a_rejection_discloses_what_trials_show(hosts, question):
    cloud, request = cloud_of(hosts, {**question, 'is_pinned': False, 'member_of': None})
    with cloud, mock.patch.object(sample, 'SPARE', question['spare']):
        both = Clients(
            OwnerClient(cloud.connection(OWNER)), OperatorClient(cloud.connection('admin'))
        )
        answer = hook.place_nodes(request, RULES, fetch(request, RULES, both)).answer
    if not isinstance(answer, Refusal):
        assert trial(hosts, question) == question['count']
        return
    line, _, helps = answer.reason.partition('; would help: ')
    first, *reasons = line.split('; ')
    assert first == f'does not fit: {at_most(trial(hosts, question), question["count"])}'
    for change in filter(None, re.split(r' \(\d+ of \d+\)(?:, |$)', helps)):
        assert with_change(hosts, question, change) == question['count'], change
    restricted = ('the servers must be in zone', 'must share a host')  # with or without an effect
    for reason in reasons:
        if 'a host may hold' in reason:
            assert trial(hosts, question, policy='soft') > trial(hosts, question), reason
        else:
            of_quotas = ('the project ', 'the user ', 'allowed members', ' need')
            own = (*of_quotas, NO_ROOM, *restricted)
            assert any(words in reason for words in own), reason
