"""Allocation candidates are counted per host, and a truncated response is recognized."""

from urllib.parse import urlencode

import pytest

from senlin_affinity.cloud import allocations
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from tests.support.fake_placement import SHARING

GPU, TRAIT = 'CUSTOM_GPU', 'CUSTOM_T'
ZONE = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'
QUERY = 'resources=VCPU%3A2'


def summary(root, *traits, **resources):
    """Return a provider summary; the resources are free amounts of 9."""
    amounts = {name: {'capacity': 9, 'used': 9 - free} for name, free in resources.items()}
    return {'root_provider_uuid': root, 'traits': list(traits), 'resources': amounts}


def answer(requests, **summaries):
    """Return a response; a request has the amounts by provider."""
    made = [
        {'allocations': {uuid: {'resources': amounts} for uuid, amounts in request.items()}}
        for request in requests
    ]
    return {'allocation_requests': made, 'provider_summaries': summaries}


def parsed(body, hosts=(), query=QUERY, longest=0):
    """Return the room and the certain number of each host, and whether the response is whole."""
    hosts = hosts or [Host('a', 'a')]
    roots = [host.host for host in hosts]
    grants, is_whole = allocations.parse(body, query, hosts, roots, longest)
    assert {each.query for its in grants for each in its} <= {query}
    return [(each.room, each.certain) for its in grants for each in its or [None] if each], is_whole


def test_the_servers_of_each_host_are_counted():
    body = answer([{'b': {'VCPU': 2}}], b=summary('b', VCPU=5))
    hosts = [Host('a', 'a'), Host('b', 'b')]
    found = allocations.parse(body, QUERY, hosts, ['a', 'b'], 2)
    assert found.grants == ((), (CandidateCapacity(QUERY, 2, 2),))


@pytest.mark.parametrize(
    ('disk', 'names', 'certain'),
    [(9, 'ab', 2), (8, 'ab', 2), (7, 'ab', 0), (9, 'abc', 0)],
    ids=['more than enough', 'enough for both', 'too little', 'truncated'],
)
def test_shared_disk_is_certain_if_it_suffices_for_all_hosts(disk, names, certain):
    """Each host has CPUs for two servers, which need two GB each."""
    requests = [{name: {'VCPU': 2}, 's': {'DISK_GB': 2}} for name in 'ab']
    roots = {name: summary(name, VCPU=5) for name in 'ab'}
    body = answer(requests, **roots, s=summary('s', SHARING, DISK_GB=disk))
    query = urlencode({'resources': 'VCPU:2,DISK_GB:2'})
    hosts = [Host(name, name) for name in names]
    assert parsed(body, hosts, query) == ([(2, certain)] * 2, names == 'ab')


def test_a_host_counts_on_its_own_disk_if_shared_disk_is_scarce():
    requests = [
        request
        for name in 'ab'
        for request in ({name: {'DISK_GB': 2}}, {name: {}, 's': {'DISK_GB': 2}})
    ]
    roots = {name: summary(name, DISK_GB=3) for name in 'ab'}
    body = answer(requests, **roots, s=summary('s', SHARING, DISK_GB=4))
    hosts = [Host(name, name) for name in 'ab']
    assert parsed(body, hosts, longest=5) == ([(3, 1)] * 2, True)


def test_a_shared_pool_of_a_host_is_certain_for_it():
    body = answer(
        [{'a': {'VCPU': 2}, 's': {'DISK_GB': 2}}],
        a=summary('a', VCPU=5),
        s=summary('s', SHARING, DISK_GB=4),
    )
    pooled = Host('a', 'a', resources={'DISK_GB': Resource(9, 5, pool='s')})
    unknown = Host('c', 'c')  # so the response may be truncated
    assert parsed(body, [pooled, unknown]) == ([(2, 2)], False)
    assert parsed(body, [Host('a', 'a'), unknown]) == ([(2, 0)], False)


def test_a_lower_bound_counts_no_shared_capacity():
    body = answer(
        [
            {'a': {'VCPU': 2}},
            {'b': {'VCPU': 2}, 's': {'DISK_GB': 1}},
            {'c': {'VCPU': 1}, 'child': {GPU: 1}},
            {'s': {'DISK_GB': 1}},
        ],
        a=summary('a', VCPU=7),
        b=summary('b', VCPU=9),
        c=summary('c', VCPU=9),
        child=summary('c', **{GPU: 4}),
        s=summary('s', SHARING, DISK_GB=9),
    )
    assert allocations.lower_bounds(body) == {'a': 3, 'b': 0, 'c': 4}


KNOWN = {'VCPU': Resource(9, 7), GPU: Resource(2, 1)}


@pytest.mark.parametrize(
    ('query', 'more', 'is_whole'),
    [
        ({}, {}, False),
        ({}, {'enabled': False}, True),
        ({}, {'resources': {'VCPU': Resource(9, 8)}}, True),
        ({}, {'resources': {}}, True),
        ({}, {'resources': {}, 'is_partial': True}, False),
        ({}, {'resources': None}, False),
        ({'required': TRAIT}, {}, True),
        ({'required': f'A,{TRAIT}'}, {'traits': frozenset({TRAIT})}, True),
        ({'required': TRAIT}, {'traits': frozenset({TRAIT})}, False),
        ({'required': TRAIT}, {'resources': None}, False),
        ({'required': ['!A', TRAIT]}, {'traits': frozenset({TRAIT})}, False),
        ({'required': 'in:A,B'}, {}, True),
        ({'required': 'in:A'}, {}, False),
        ({'root_required': TRAIT}, {}, True),
        ({'root_required': f'!{TRAIT}'}, {'traits': frozenset({TRAIT})}, False),
        ({'resources1': f'{GPU}:1'}, {}, False),
        ({'resources': '', 'resources1': f'{GPU}:1'}, {}, False),
        ({'resources1': f'{GPU}:2'}, {}, True),
        ({'resources1': f'{GPU}:1', 'required1': TRAIT}, {}, True),
        ({'member_of': ZONE}, {}, True),
        ({'member_of': ZONE}, {'aggregates': frozenset({ZONE})}, False),
    ],
)
def test_a_response_without_a_host_that_may_have_room_is_truncated(query, more, is_whole):
    host = Host('a', 'a', **{'resources': KNOWN, **more})
    query = urlencode({'resources': 'VCPU:2', **query}, doseq=True)
    assert parsed(answer([]), [host], query) == ([], is_whole)
    assert parsed(answer([]), [host], query, longest=1) == ([], True)


CHILDREN = {
    'a': summary('a', VCPU=5),
    'c1': summary('a', TRAIT, TRAIT[1:], VGPU=1, **{GPU: 2}),
    'c2': summary('a', **{GPU: 1}),
    'full': summary('a', VGPU=-1, **{GPU: 0}),
    'other': summary('x', TRAIT, **{GPU: 9}),
}


@pytest.mark.parametrize(
    ('query', 'needed'),
    [
        ({'resources': 'VCPU:2'}, 1),
        ({'resources': f'VCPU:2,{GPU}:1'}, 2),
        ({'resources': f'VCPU:2,{GPU}:2'}, 1),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1'}, 2),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:2'}, 1),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1,VGPU:1'}, 1),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1', 'required1': TRAIT}, 1),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1', 'required1': f'!{TRAIT}'}, 1),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1', 'required1': f'in:{TRAIT}'}, 2),
        ({'resources': 'VCPU:2', 'resources1': f'{GPU}:1', 'resources2': f'{GPU}:1'}, 4),
    ],
)
def test_a_response_with_all_requests_of_a_host_is_whole(query, needed):
    """There are as many as combinations of the providers of its tree."""
    request = {'a': {'VCPU': 2}}
    for number, is_whole in ((needed - 1, False), (needed, True)):
        if number:
            body = answer([request] * number, **CHILDREN)
            assert parsed(body, [Host('a', 'a')], urlencode(query))[1] is is_whole


@pytest.mark.parametrize(
    ('more', 'needed'),
    [
        ({'resources': {'DISK_GB': Resource(9, 5)}}, 1),
        ({'resources': {'DISK_GB': Resource(9, 5, is_sum=True)}}, 2),
        ({'resources': {'DISK_GB': Resource(9, 5, pool='s')}}, 2),
        ({'resources': {'DISK_GB': Resource(9, 5)}, 'is_partial': True}, 2),
        ({'resources': None}, 2),
    ],
)
def test_a_provider_that_may_share_with_a_host_adds_requests(more, needed):
    query = urlencode({'resources': 'VCPU:2,DISK_GB:1'})
    summaries = {
        'a': summary('a', VCPU=5, DISK_GB=4),
        's': summary('s', SHARING, DISK_GB=9),
        'ip': summary('ip', SHARING, IPV4_ADDRESS=9),
        'b': summary('b', VCPU=5, DISK_GB=4),
    }
    for number in (1, 2):
        body = answer([{'a': {'VCPU': 2, 'DISK_GB': 1}}] * number, **summaries)
        assert parsed(body, [Host('a', 'a', **more)], query)[1] is (number >= needed)


def test_a_sharing_provider_in_the_tree_of_a_host_counts_once():
    summaries = {'a': summary('a', VCPU=5), 's': summary('a', SHARING, DISK_GB=9)}
    query = urlencode({'resources': 'VCPU:2,DISK_GB:1'})
    assert parsed(answer([{'a': {'VCPU': 2}}], **summaries), [Host('a', 'a')], query)[1]


class Placement:
    """A Placement whose only response is an error or a body."""

    def __init__(self, status=None, body=None):
        self.status, self.body, self.asked = status, body, []

    def get(self, path, what, microversion):
        self.asked.append((path, what, microversion))
        if self.status:
            raise CloudError('failed', self.status)
        return self.body


def test_a_limit_is_appended_to_a_query():
    placement = Placement(body={})
    allocations.candidates(placement, QUERY, 5)
    assert placement.asked[0][0] == f'/allocation_candidates?{QUERY}&limit=5'


@pytest.mark.parametrize(
    'body',
    [
        [],
        {'allocation_requests': []},
        {'provider_summaries': {}},
        answer([{'a': {'VCPU': 2}}]),
        answer([{'a': {'VCPU': 2}}], a={}),
    ],
)
def test_a_malformed_response_is_an_error(body):
    for read in (allocations.lower_bounds, parsed):
        with pytest.raises(CloudError, match='could not list the allocation candidates: '):
            read(body)
