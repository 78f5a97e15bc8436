"""The number of servers of one kind that Placement allocates on a host, one by one."""

import itertools

import pytest

from senlin_affinity.model import host
from senlin_affinity.model.host import Count, count


def takes(**amounts):
    """Return the amounts of providers' resource classes: ``n0_VCPU=2``."""
    return {tuple(name.split('_', 1)): amount for name, amount in amounts.items()}


def choices(*parts):
    """Return the alternatives of a server with independent choices."""
    return [
        {key: amount for part in each for key, amount in part.items()}
        for each in itertools.product(*parts)
    ]


CPUS = [takes(n0_VCPU=2), takes(n1_VCPU=2)]
GPUS = [takes(g0_VGPU=1), takes(g1_VGPU=1)]
PORTS = [takes(p0_PORT=1), takes(p1_PORT=1)]
FREE = takes(n0_VCPU=5, n1_VCPU=4, g0_VGPU=1, g1_VGPU=2, p0_PORT=9, p1_PORT=9, r_RAM=64)


@pytest.mark.parametrize(
    ('alternatives', 'room', 'certain'),
    [
        pytest.param([], 0, 0, id='no alternative'),
        pytest.param([takes(n0_VCPU=2)], 2, 2, id='one provider'),
        pytest.param([takes(n0_VCPU=2), takes(n0_VCPU=2)], 2, 2, id='an alternative twice'),
        pytest.param(CPUS, 4, 4, id='two providers'),
        pytest.param([takes(n0_VCPU=6), takes(n1_VCPU=2)], 2, 2, id='one of them is too small'),
        pytest.param(choices(CPUS, GPUS), 3, 3, id='two independent choices'),
        pytest.param(choices(GPUS, CPUS, PORTS), 3, 3, id='three independent choices'),
        pytest.param(choices(PORTS, GPUS, CPUS), 3, 3, id='three in another order'),
        pytest.param(choices([takes(r_RAM=32)], CPUS), 2, 2, id='a shared class is the scarcest'),
        pytest.param(
            [takes(n0_VCPU=2, g0_VGPU=1), takes(n1_VCPU=2, g1_VGPU=1)], 3, 3, id='pairs of devices'
        ),
        pytest.param(
            [takes(n0_VCPU=1), takes(n0_VCPU=1, n1_VCPU=1)], 5, 5, id='one is a part of the other'
        ),
        pytest.param(
            [takes(n0_VCPU=2), takes(n0_VCPU=2, g0_VGPU=1)], 2, 2, id='one of them lacks a class'
        ),
        pytest.param(
            [takes(n0_VCPU=3), takes(n0_VCPU=1, n1_VCPU=1)], 4, 3, id='the order of servers matters'
        ),
        pytest.param(
            choices([takes(n0_VCPU=3), takes(n0_VCPU=1, n1_VCPU=1)], PORTS), 4, 3,
            id='the order matters beside an independent choice',
        ),
        pytest.param(
            [takes(n0_VCPU=1, g0_VGPU=1), takes(n0_VCPU=1, g1_VGPU=1), takes(n1_VCPU=1, g1_VGPU=1)],
            3, 3, id='choices that depend on each other',
        ),
    ],
)  # fmt: skip
def test_the_number_of_servers_in_the_best_and_the_worst_order(alternatives, room, certain):
    assert count(alternatives, FREE) == Count(room, certain)


def by_search(alternatives, free):
    """Return the numbers by trying every order."""
    after = [
        by_search(alternatives, {key: free[key] - each.get(key, 0) for key in free})
        for each in alternatives
        if all(free[key] >= amount for key, amount in each.items())
    ]
    if not after:
        return Count(0, 0)
    return Count(1 + max(each.room for each in after), 1 + min(each.certain for each in after))


@pytest.mark.parametrize('free', itertools.product((1, 2, 3), repeat=4))
def test_dependent_choices_agree_with_a_search(free):
    names = ('n0', 'VCPU'), ('n1', 'VCPU'), ('g0', 'VGPU'), ('g1', 'VGPU')
    alternatives = [
        takes(n0_VCPU=1, g0_VGPU=1),
        takes(n0_VCPU=2, g1_VGPU=1),
        takes(n1_VCPU=1, g1_VGPU=1),
    ]
    left = dict(zip(names, free, strict=True))
    found, exact = count(alternatives, left), by_search(alternatives, left)
    assert found == exact
    both = count(choices(alternatives, PORTS), {**left, **takes(p0_PORT=1, p1_PORT=1)})
    assert both == Count(min(2, exact.room), min(2, exact.certain))


@pytest.mark.parametrize(('states', 'expected'), [(20, Count(8, 4)), (21, Count(7, 5))])
def test_the_search_of_a_large_host_ends_with_bounds(monkeypatch, states, expected):
    free = takes(n0_VCPU=13, n1_VCPU=4)
    alternatives = [takes(n0_VCPU=3), takes(n0_VCPU=1, n1_VCPU=1), takes(n0_VCPU=14)]
    monkeypatch.setattr(host, '_MOST_STATES', states)
    host._among.cache_clear()
    found = count(alternatives, free)
    host._among.cache_clear()
    assert found == expected


def test_hosts_that_differ_in_the_names_of_their_providers_are_searched_once():
    host._among.cache_clear()
    for one, two in ('ab', 'ba'):
        free = {(one, 'VCPU'): 5, (two, 'VCPU'): 4}
        assert count([{key: 2} for key in free], free) == Count(4, 4)
    assert host._among.cache_info().misses == 1


@pytest.mark.parametrize('names', itertools.permutations(['CPU', 'RAM', 'PORT']))
def test_a_choice_beside_a_pair_of_classes_is_exact_on_a_large_host(names):
    cpu, ram, port = names  # the order of the names is the order of the classes
    pairs = [{('n0', cpu): 1, ('n0', ram): 1}, {('n1', cpu): 1, ('n1', ram): 1}]
    ports = [{('p0', port): 1}, {('p1', port): 1}]
    free = {(node, name): 100 for node in ('n0', 'n1') for name in (cpu, ram)}
    free |= {('p0', port): 90, ('p1', port): 90}
    assert count(choices(pairs, ports), free) == Count(180, 180)
