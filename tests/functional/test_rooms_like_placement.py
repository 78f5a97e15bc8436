"""The resources in a snapshot agree with the candidates of the real Placement.

Forests contain hosts, nested providers and sharing providers. A flavor with a candidate is never
rejected, and a flavor that certainly fits has one.
"""

import uuid
from urllib.parse import urlencode

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from senlin_affinity.cloud import providers
from senlin_affinity.model.cloud import Cloud, Flavor
from senlin_affinity.model.host import Host
from tests.support.asked import NamedRequest, plan
from tests.support.placement_judge import SHARING
from tests.support.small_cloud import CONSTRAINTS

CLASSES = ('CUSTOM_LICENSE', 'CUSTOM_GPU')
TRAIT = 'CUSTOM_GOLD'
HOSTS = (0, 1, 2)
#: Examples are not minimized, because each step would build a forest in Placement.
NOT_MINIMIZED = (Phase.explicit, Phase.generate)


def amounts(*names, least=0):
    """Generate the total and the usage of some classes."""
    each = st.none() | st.tuples(st.integers(1, 12), st.integers(0, 12))
    return st.fixed_dictionaries(dict.fromkeys(names, each)).map(
        lambda found: {name: given for name, given in found.items() if given is not None}
    )


OWN = st.fixed_dictionaries(
    {
        'VCPU': st.tuples(st.just(4), st.integers(0, 4)),
        'MEMORY_MB': st.tuples(st.just(8), st.sampled_from([0, 0, 0, 4, 8])),
    }
)
OF_HOST = st.builds(lambda own, more: own | more, OWN, amounts('DISK_GB', *CLASSES))
GOLD = st.booleans()
#: Of each host: its inventory, whether it has the trait, and its nested provider, if any.
A_HOST = st.tuples(OF_HOST, GOLD, st.none() | amounts(*CLASSES))
#: Of each sharing provider: its inventory, whether it has the trait, and the hosts it shares with.
A_SHARER = st.tuples(amounts('DISK_GB', *CLASSES), GOLD, st.sets(st.sampled_from(HOSTS)))
FLAVOR = st.fixed_dictionaries(
    {
        'VCPU': st.integers(0, 2),
        'MEMORY_MB': st.sampled_from([0, 1, 4]),
        'DISK_GB': st.integers(0, 12),
    },
    optional=dict.fromkeys(CLASSES, st.integers(1, 3)),
)
TYPICAL = ({'VCPU': (4, 0), 'MEMORY_MB': (8, 0), 'DISK_GB': (10, 0)}, False, None)
SMALL = {'VCPU': 1, 'MEMORY_MB': 1, 'DISK_GB': 1}
FULL_DISK = {**SMALL, 'DISK_GB': 11}
LICENCE = {**SMALL, 'CUSTOM_LICENSE': 1}
LICENCES, DISKS = {'CUSTOM_LICENSE': (5, 0)}, {'DISK_GB': (12, 0)}
OVERUSED = ({**TYPICAL[0], 'CUSTOM_GPU': (4, 1)}, False, {'CUSTOM_GPU': (2, 8)})
NO_MEMORY = ({**TYPICAL[0], 'MEMORY_MB': (8, 8), 'DISK_GB': (3, 0)}, False, None)
# The sharing provider alone satisfies the request, so Placement's candidate contains no host.
NO_DISK = ({'VCPU': (4, 0), 'MEMORY_MB': (8, 0)}, False, None)
#: Hosts, sharing providers, a flavor, and the largest number of requests.
EXAMPLES = (
    ([TYPICAL] * 3, [(LICENCES, False, {0})], [(LICENCE, False)], 4),
    ([TYPICAL] * 3, [(LICENCES, True, {0})], [(LICENCE, True)], 4),
    ([TYPICAL] * 3, [(DISKS, False, {0})], [(FULL_DISK, False)], 4),
    ([TYPICAL] * 3, [(DISKS, True, {0})], [(FULL_DISK, True)], 4),
    ([OVERUSED, TYPICAL, TYPICAL], [], [({**SMALL, 'CUSTOM_GPU': 1}, False)], 4),
    ([NO_MEMORY, TYPICAL, TYPICAL], [(DISKS, False, {0})], [({'VCPU': 1, 'DISK_GB': 9}, False)], 3),
    ([NO_DISK, TYPICAL, TYPICAL], [(DISKS, False, {0})], [({'DISK_GB': 2}, False)], 4),
)


class Forest:
    """Providers in the judge's Placement, which are deleted at the end."""

    def __init__(self, judge):
        self._judge = judge
        self._made = []
        self._used = []

    def __enter__(self):
        self._judge.build(())
        for name in CLASSES:
            self._judge._change('PUT', f'/resource_classes/{name}')
        self._judge._change('PUT', f'/traits/{TRAIT}')
        return self

    def __exit__(self, *_exception):
        for path in (*self._used, *reversed(self._made)):
            self._judge._change('DELETE', path)

    def add(self, amounts, traits=(), aggregates=(), parent=None):
        """Add a provider and a consumer of its usage, and return its UUID; the usage may exceed the
        total.
        """
        identity = str(uuid.uuid4())
        path = f'/resource_providers/{identity}'
        more = {} if parent is None else {'parent_provider_uuid': parent}
        self._change('POST', '/resource_providers', {'name': identity, 'uuid': identity, **more})
        self._made.append(path)
        self._parts(path, 'inventories', {name: {'total': 12} for name in amounts})
        used = {name: use for name, (_total, use) in amounts.items() if use}
        if used:
            self._used.append(f'/allocations/{uuid.uuid4()}')
            allocations = {identity: {'resources': used}}
            body = {'project_id': 'p', 'user_id': 'u', 'consumer_generation': None}
            self._change('PUT', self._used[-1], body | {'allocations': allocations})
        totals = {name: {'total': each[0]} for name, each in amounts.items()}
        self._parts(path, 'inventories', totals)
        self._parts(path, 'traits', list(traits))
        self._parts(path, 'aggregates', list(aggregates))
        return identity

    def get(self, path, _what, _microversion, params=None):
        """Send a GET request with an adapter's signature."""
        query = f'?{urlencode(params, doseq=True)}' if params else ''
        answer = self._judge._send('GET', path + query)
        assert answer.status_code == 200, answer.text
        return answer.json

    def candidates(self, requested, required):
        """Return the providers of each allocation candidate."""
        query = {'resources': ','.join(f'{name}:{amount}' for name, amount in requested.items())}
        if required:
            query['required'] = TRAIT
        body = self.get('/allocation_candidates', '', None, query)
        return [set(request['allocations']) for request in body['allocation_requests']]

    def claim(self, allocations):
        """Reserve the resources of a candidate, as Nova does for a server."""
        self._used.append(f'/allocations/{uuid.uuid4()}')
        body = {'project_id': 'p', 'user_id': 'u', 'consumer_generation': None}
        self._change('PUT', self._used[-1], body | {'allocations': allocations})

    def release(self, number):
        """Delete all allocations after the first ones."""
        for path in self._used[number:]:
            self._judge._change('DELETE', path)
        del self._used[number:]

    def _parts(self, path, part, content):
        if content:
            generation = self._judge._send('GET', path).json['generation']
            body = {part: content, 'resource_provider_generation': generation}
            self._change('PUT', f'{path}/{part}', body)

    def _change(self, method, path, body):
        self._judge._change(method, path, body)


A_CASE = (
    st.lists(A_HOST, min_size=len(HOSTS), max_size=len(HOSTS)),
    st.lists(A_SHARER, max_size=2),
    st.lists(st.tuples(FLAVOR, GOLD), min_size=6, max_size=6),
    st.sampled_from([3, 4]),
)


@pytest.mark.parametrize('case', EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_flavor_with_a_candidate_is_not_rejected_in_the_examples(judge, case):
    check_hosts(judge, *case)


@pytest.mark.nightly
@settings(max_examples=15, phases=NOT_MINIMIZED, deadline=None)
@given(*A_CASE)
def test_a_flavor_with_a_candidate_is_not_rejected(judge, hosts, sharers, flavors, most):
    check_hosts(judge, hosts, sharers, flavors, most)


def check_hosts(judge, hosts, sharers, flavors, most):
    with Forest(judge) as forest:
        aggregates = [str(uuid.uuid4()) for _ in sharers]
        trees = {}
        for number, (own, is_gold, part) in enumerate(hosts):
            own_aggregates = [
                aggregates[i] for i, sharer in enumerate(sharers) if number in sharer[2]
            ]
            root = forest.add(own, [TRAIT] * is_gold, own_aggregates)
            trees[root] = {root}
            if part:
                trees[root].add(forest.add(part, parent=root))
        for (has, is_gold, _shared), aggregate in zip(sharers, aggregates, strict=True):
            forest.add(has, [SHARING] + [TRAIT] * is_gold, [aggregate])
        found = providers.rooms(forest, {root: {} for root in trees}, most).rooms
        for requested, is_gold in flavors:
            wanted = {name: amount for name, amount in requested.items() if amount}
            if wanted:
                check(forest, trees, found, wanted, is_gold)


def check(forest, trees, found, requested, is_gold):
    """Compare the decision for each host with its candidates."""
    granted = forest.candidates(requested, is_gold)
    specs = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    specs |= {f'resources:{name}': str(amount) for name, amount in requested.items()}
    if is_gold:
        specs[f'trait:{TRAIT}'] = 'required'
    for root, tree in trees.items():
        room = found.get(root)
        host = Host('cmp', 'cmp')
        if room is not None:
            shape = {'is_nested': room.is_nested, 'is_partial': room.is_partial}
            host = Host('cmp', 'cmp', traits=room.traits, resources=room.resources, **shape)
        flavor = Flavor('f', 'f', 1, 1, 1, extra_specs=specs)
        snapshot = Cloud((host,), (), (flavor,), (), {}, pools=room.pools if room else {})
        decision = plan(NamedRequest(1, 'f'), snapshot, CONSTRAINTS)
        is_granted = any(tree & request for request in granted)
        details = (requested, is_gold, room, granted, decision.line())
        assert not (is_granted and decision.fits is False), details
        if not decision.capacity_is_upper_bound and decision.fits:
            assert is_granted, details


def test_a_pool_outside_the_aggregate_of_a_zone_is_not_used(judge):
    """So a number that is counted from a pool is "at most" if Nova queries by aggregates."""
    zone, nfs = str(uuid.uuid4()), str(uuid.uuid4())
    with Forest(judge) as forest:
        forest.add({'VCPU': (4, 0)}, aggregates=[zone, nfs])
        forest.add({'DISK_GB': (12, 0)}, [SHARING], [nfs])
        query = {'resources': 'VCPU:1,DISK_GB:1'}
        for more, number in ({}, 1), ({'member_of': f'in:{nfs}'}, 1), ({'member_of': zone}, 0):
            body = forest.get('/allocation_candidates', '', None, query | more)
            assert len(body['allocation_requests']) == number


def test_a_forest_deletes_its_providers(judge):
    """Other tests rely on an empty Placement."""
    with Forest(judge) as forest:
        forest.add({'VCPU': (4, 4)})
    assert forest.get('/resource_providers', '', None, {'name': 'x'}) == {'resource_providers': []}
