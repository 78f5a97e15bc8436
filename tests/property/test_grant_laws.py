"""The number of servers per candidate equals that of creating them in every order."""

from functools import cache
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from senlin_affinity.model import host

CLASSES = ('VCPU', 'VGPU')
PROVIDERS = ('a', 'b', 'c')
KEYS = tuple(product(PROVIDERS, CLASSES))
TAKES = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 3), min_size=1, max_size=3)
FREE = st.fixed_dictionaries(dict.fromkeys(KEYS, st.integers(0, 6)))


def one_by_one(alternatives, free):
    """Return the largest and the smallest number of servers that fit, over every order."""
    keys = sorted(free)

    @cache
    def more(left):
        now = dict(zip(keys, left, strict=True))
        counts = [
            more(tuple(now[key] - takes.get(key, 0) for key in keys))
            for takes in alternatives
            if all(now[key] >= amount for key, amount in takes.items())
        ]
        if not counts:
            return 0, 0
        return 1 + max(most for most, _ in counts), 1 + min(least for _, least in counts)

    return more(tuple(free[key] for key in keys))


@given(st.lists(TAKES, max_size=4), FREE)
@example([{('a', 'VGPU'): 1, ('b', 'VGPU'): 1}, {('c', 'VGPU'): 1, ('b', 'VGPU'): 1}], {})
@example([{('a', 'VCPU'): 1}, {('a', 'VCPU'): 1, ('a', 'VGPU'): 1}], {})
def test_the_count_equals_a_search_of_all_orders(alternatives, free):
    free = dict.fromkeys(KEYS, 3) | free
    assert host.count(alternatives, free) == one_by_one(alternatives, free)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40)), min_size=1, max_size=4),
    st.integers(0, 60),
)
def test_independent_choices_are_counted_exactly(ports, gpus, cpus):
    """Each server takes a CPU of the host, one of the ports and one of the GPUs."""
    free = {('host', 'VCPU'): cpus}
    free |= {(f'port-{index}', 'PORT'): has for index, (_, has) in enumerate(ports)}
    free |= {(f'gpu-{index}', 'VGPU'): has for index, (_, has) in enumerate(gpus)}
    alternatives = [
        {('host', 'VCPU'): 1, (f'port-{one}', 'PORT'): port, (f'gpu-{two}', 'VGPU'): gpu}
        for one, (port, _) in enumerate(ports)
        for two, (gpu, _) in enumerate(gpus)
        if port <= ports[one][1] and gpu <= gpus[two][1] and cpus
    ]
    every = [sum(has // amount for amount, has in each) for each in (ports, gpus)]
    room = min(cpus, *every)
    assert host.count(alternatives, free) == (room, room)


@given(st.lists(TAKES, min_size=2, max_size=4), FREE)
def test_the_approximate_bounds_contain_the_exact_ones(alternatives, free):
    fitting = [takes for takes in alternatives if all(free[key] >= takes[key] for key in takes)]
    if not fitting:
        return
    places = {key: place for place, key in enumerate(KEYS)}
    choices = [tuple((places[key], takes[key]) for key in takes) for takes in fitting]
    room, certain = host._bounds(choices, [free[key] for key in KEYS])
    most, least = one_by_one(fitting, free)
    assert room >= most
    assert certain <= least


def test_many_orders_are_approximated():
    free = {(str(each), 'VF'): 20 for each in range(6)}
    pairs = [{(str(one), 'VF'): 1, (str(two), 'VF'): 1} for one in range(6) for two in range(one)]
    room, certain = host.count(pairs, free)
    assert room >= 60
    assert 20 <= certain < 60
