"""The first sentence and the first remedy, in clouds whose generator knows the decisive cause.

A cloud has pools of several kinds of hosts. A request is for one pool, and one cause keeps its
servers from this pool. The hosts of the other pools are in any state, which must not matter.
"""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.answers.headline import limiting_reason
from tests.support.asked import plan
from tests.support.our_constraints import OURS
from tests.support.small_cloud import request_of, rules_of, snapshot_of

CONSTRAINTS = tuple(constraint() for constraint in OURS)
NONE = dict.fromkeys(('resources:VCPU', 'resources:MEMORY_MB', 'resources:DISK_GB'), '0')
STATES = st.sampled_from([{}, {'disabled': True}, {'down': True}])


class Pool(NamedTuple):
    """A kind of hosts, and the flavor and zone of a request that only these can take.

    ``scarce`` is the resource class of which a host has 1 for one server.
    """

    host: dict
    specs: dict
    scarce: str
    zone: str | None = None


def resources(**more):
    return {'VCPU': [8, 0], 'MEMORY_MB': [8192, 0], 'DISK_GB': [80, 0], **more}


POOLS = {
    'kvm': Pool({'resources': resources(VCPU=[1, 0])}, {}, 'VCPU'),
    'gpu': Pool({'resources': resources(VGPU=[1, 0])}, {'resources:VGPU': '1'}, 'VGPU'),
    'bm': Pool(
        {
            'type': 'ironic',
            'partial': True,
            'resources': {'MEMORY_MB': [0, 0], 'CUSTOM_GOLD': [1, 0]},
        },
        {**NONE, 'resources:CUSTOM_GOLD': '1'},
        'CUSTOM_GOLD',
    ),
    'ssd': Pool(
        {'resources': resources(VCPU=[1, 0]), 'traits': ['CUSTOM_SSD']},
        {'trait:CUSTOM_SSD': 'required'},
        'VCPU',
    ),
    'az': Pool({'resources': resources(VCPU=[1, 0]), 'zone': 'az-2'}, {}, 'VCPU', 'az-2'),
}
#: The pools whose hosts could also take the servers of another one.
ALSO = {'kvm': ('gpu', 'ssd', 'az'), 'az': (), 'gpu': (), 'bm': (), 'ssd': ()}
CAUSES = ('full', 'no disk', 'disabled', 'no such host', 'quota', 'group')
ZONE = ('availability_zone', 'any_zone')
ASKERS = (*ZONE, 'boot_from_volume', 'max_server_per_host', 'new_group', 'soft_policy')
HARDWARE = ('aggregate_hosts', 'host_traits', 'hosts')


def used(host, scarce):
    capacity, _used = host['resources'][scarce]
    return {**host, 'resources': {**host['resources'], scarce: [capacity, capacity]}}


@st.composite
def clouds(draw):
    """Return the row of a cloud and a request, the name of its pool, and the cause."""
    name = draw(st.sampled_from(sorted(POOLS)))
    cause = draw(st.sampled_from([each for each in CAUSES if (name, each) != ('bm', 'no disk')]))
    pool, count = POOLS[name], draw(st.integers(1, 3))
    hosts = {}
    for other in sorted(POOLS.keys() - {name, *ALSO[name]}):
        for number in range(draw(st.integers(0 if name != 'az' else 1, 4))):
            host = POOLS[other].host
            if draw(st.booleans()):
                host = used(host, POOLS[other].scarce)
            hosts[f'{other}-{number}'] = {**host, **draw(STATES)}
    own = {f'{name}-{number}': pool.host for number in range(draw(st.integers(count, 4)))}
    row = {'flavor': {'extra_specs': pool.specs}, 'request': {'count': count}}
    row['request']['image_properties'] = {}
    if cause == 'full':
        own = {host: used(each, pool.scarce) for host, each in own.items()}
    elif cause == 'no disk':
        own = {host: used(each, 'DISK_GB') for host, each in own.items()}
    elif cause == 'disabled':
        own = {host: {**each, 'disabled': True} for host, each in own.items()}
    elif cause == 'no such host':
        own = {}
    elif cause == 'quota':
        row['quotas'] = {'instances': [5, 5]}
    else:
        members = [host for host in own for _server in range(2)]
        row['group'] = {'policy': 'anti-affinity', 'members': members}
    row['aggregates'] = {'two': {'zone': 'az-2'}}
    if pool.zone is not None:
        row['request']['availability_zone'] = pool.zone
    # A host of the default zone is in no aggregate.
    row['hosts'] = {
        host: {**each, 'aggregates': ['two'] if each.get('zone') else []}
        for host, each in {**hosts, **own}.items()
    }
    return row, name, cause


@settings(max_examples=150, deadline=None)
@given(clouds())
def test_the_first_sentence_and_the_first_remedy_are_about_the_cause(drawn):
    row, name, cause = drawn
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    assert decision.fits is False
    words, hosts = limiting_reason(decision), row['hosts']
    own = [host for host in hosts if host.startswith(f'{name}-')]
    first = decision.remedies[0] if decision.remedies else None
    if cause == 'full':
        assert words.startswith(f'too little {POOLS[name].scarce} left (')
    elif cause == 'no disk':
        assert words.startswith('too little DISK_GB left (')
        assert first.code in ('boot_from_volume', *ZONE)
    elif cause == 'disabled' and name == 'az':
        assert (
            words
            == 'every compute service in zone az-2 is disabled, so Nova rejects requests for it'
        )
    elif cause == 'disabled':
        assert words.startswith('the compute service is disabled (')
        assert first.code == 'started_hosts'
        assert 'check' in first.change
    elif cause == 'no such host' and len(hosts) > 1:
        assert words.startswith('no suitable host exists: ')
    elif cause == 'quota':
        assert words.startswith('the project has 5 of 5 instances: ')
        assert first.code == 'quota'
    elif cause == 'group':
        assert words.startswith('server group web allows 1 per host, and ')
        assert words.endswith('full')
        assert first.code in ('new_group', *ZONE)
    if len(own) < len(hosts) and cause in ('full', 'no disk', 'group'):
        assert 'suitable host' in words
    others = hosts.keys() - {*own}
    assert not any(f'{host})' in words or f'{host},' in words for host in others)
    # What the requester can change comes first, and more hardware last.
    codes = [each.code for each in decision.remedies if each.code != 'two_changes']
    places = [2 if code in HARDWARE else 0 if code in ASKERS else 1 for code in codes]
    if decision.remedies and decision.remedies[0].capacity >= decision.wanted:
        assert places == sorted(places)
