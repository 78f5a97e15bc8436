"""What Placement is asked, at which microversion, and what is made of its answer."""

import pytest

from senlin_affinity.core.errors import CloudError, InvalidSpec
from senlin_affinity.core.member_of import MemberOf
from tests.support import edge as at_edge
from tests.support.edge import Edge, Failure
from tests.support.fake_placement import SHARING, FakePlacement, FakeProvider

U, V, W = (f'00000000-0000-4000-8000-00000000000{number}' for number in (1, 2, 3))


def provider(name, *aggregates, **more):
    amounts = {'VCPU': (64, 0), 'MEMORY_MB': (4096, 0)}
    return FakeProvider(name, amounts, name=name, aggregates=frozenset(aggregates), **more)


HOSTS = (
    provider('cmp-1', U),
    provider('cmp-1_numa0', parent='cmp-1'),
    provider('cmp-2', V, W),
    provider('storage', V, traits=(SHARING,)),
)
ROOM = {'VCPU': 2, 'MEMORY_MB': 512}
CANDIDATES, PROVIDERS = '/allocation_candidates', '/resource_providers'


def ask(values, offered='1.39', providers=HOSTS):
    """The names of the hosts that are admitted, and what Placement was asked."""
    with Edge(placement=FakePlacement([*providers], offered)) as edge:
        found = edge.ports.candidates.admitted(ROOM, MemberOf.parse(values))
    assert found == {name: name for name in found.values()}
    assert edge.nova.requests() == []
    return sorted(found), [*zip(edge.placement.asked, edge.placement.microversions, strict=True)]


@pytest.mark.parametrize(
    ('values', 'query', 'names'),
    [
        ([], [], ['cmp-1', 'cmp-2']),
        ([U], [U], ['cmp-1']),
        ([f'in:{V},{U}'], [f'in:{U},{V}'], ['cmp-1', 'cmp-2']),
        ([f'in:{U},{V}', W], [W, f'in:{U},{V}'], ['cmp-2']),
        ([f'!{V}'], [f'!{V}'], ['cmp-1']),
        ([f'!in:{V},{U}'], [f'!in:{U},{V}'], []),
        ([U.upper(), f'!{W}'], [U, f'!{W}'], ['cmp-1']),
    ],
)
def test_the_query_and_the_hosts_that_are_left(values, query, names):
    """R1-02, R1-05, R1-15, Q1-2."""
    found, ((candidates, microversion), (providers, _)) = ask(values)
    assert found == names
    path, _, parameters = candidates.partition('?')
    assert (path, providers) == (f'GET {CANDIDATES}', f'GET {PROVIDERS}?')
    wanted = ['resources=MEMORY_MB:512,VCPU:2', *(f'member_of={value}' for value in query)]
    assert sorted(parameters.split('&')) == sorted(wanted)
    assert microversion == ('1.32' if '!' in str(values) else '1.29')


@pytest.mark.parametrize('values', [[], [U], [f'in:{U},{V}', W]])
@pytest.mark.parametrize('offered', ['1.29', '1.31', '1.32'])
def test_what_is_required_works_below_1_32(values, offered):
    assert ask(values, offered)[1][0][1] == '1.29'


def test_rx_08_r1_42_forbidden_aggregates_at_1_32():
    found, ((_, microversion), _) = ask([f'!{U}'], '1.32')
    assert (found, microversion) == (['cmp-2'], '1.32')


@pytest.mark.parametrize(
    'ask_it',
    [
        lambda candidates, member_of: candidates.check_version(member_of, 'member_of'),
        lambda candidates, member_of: candidates.admitted(ROOM, member_of),
    ],
    ids=['check', 'query'],
)
@pytest.mark.parametrize(
    ('values', 'offered', 'needed'),
    [([f'!{U}'], '1.31', '1.32'), ([V, f'!{U}'], '1.28', '1.32'), ([U], '1.28', '1.29')],
)
def test_rx_08_r1_42_an_older_placement_is_refused(values, offered, needed, ask_it):
    """And never asked without the constraint."""
    remedy = 'take the values with ! out' if needed == '1.32' else 'leave member_of out'
    words = f'need Placement microversion {needed}, this cloud offers {offered}: {remedy}'
    with (
        Edge(placement=FakePlacement([*HOSTS], offered)) as edge,
        pytest.raises(InvalidSpec, match=words) as caught,
    ):
        ask_it(edge.ports.candidates, MemberOf.parse(values))

    assert caught.value.path == 'member_of'
    assert edge.placement.asked == []


def test_the_check_is_no_request():
    with Edge(placement=FakePlacement()) as edge:
        edge.ports.candidates.check_version(MemberOf.parse([f'!{U}']), 'member_of')
        assert edge.placement.asked == []


def test_placement_is_looked_for_when_it_is_needed():
    """A cloud whose catalogue has none serves everything else."""
    with Edge() as edge:
        candidates = edge.ports.candidates
        candidates.check_version(MemberOf(), 'member_of')
        with pytest.raises(CloudError, match='could not find Placement: '):
            candidates.check_version(MemberOf.parse([U]), 'member_of')


def test_only_what_the_allocation_requests_name_counts():
    """D1-11, D1-12: the list has all; a sharing provider that is left alone is no host."""
    found, _ = ask([f'!{W}'], providers=(*HOSTS[:3], provider('ss', traits=(SHARING,))))
    assert found == ['cmp-1']


@pytest.mark.parametrize('url', [CANDIDATES, PROVIDERS])
@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
def test_a_failure_says_what_was_tried(url, failure):
    words = {
        CANDIDATES: 'could not ask Placement for the hosts with room: ',
        PROVIDERS: 'could not list the resource providers: ',
    }
    with Edge(placement=FakePlacement([*HOSTS])) as edge:
        edge.fail('GET', url, failure)
        with pytest.raises(CloudError) as caught:
            edge.ports.candidates.admitted(ROOM, MemberOf())

    assert str(caught.value).startswith(words[url])
    assert failure.words in str(caught.value)


@pytest.mark.parametrize(
    'text',
    [
        '{}',
        '[]',
        '{"allocation_requests": null, "provider_summaries": {}}',
        '{"allocation_requests": [{"allocations": {"x": {}}}], "provider_summaries": {}}',
        '{"allocation_requests": [{"allocations": {"x": {}}}], "provider_summaries": {"x": {}}}',
        '{"allocation_requests": [{"allocations": 7}], "provider_summaries": {}}',
    ],
)
def test_odd_answers(text):
    with Edge(placement=FakePlacement()) as edge:
        edge.fail('GET', CANDIDATES, Failure('odd', '', 200, text=text))
        with pytest.raises(CloudError, match='the answer is odd'):
            edge.ports.candidates.admitted(ROOM, MemberOf())
