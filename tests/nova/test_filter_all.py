"""All hosts of a request at once, with Nova's own objects, give the results of single hosts."""

import logging
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nova.objects.aggregate import Aggregate
from nova.objects.flavor import Flavor
from nova.objects.request_spec import RequestSpec
from nova.scheduler import filters
from nova.scheduler.host_manager import HostState

from senlin_affinity.plugins.nova import aggregate_filter
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter

LOGGER = 'senlin_affinity.plugins.nova_filter'
WORDS = ('1', '2', '~', '!', '*', '>= 2', '<or> 1 <or> ~', '<or> ! <or> 1', '1, 2', 'x')
KEYS = ('ssd', 'rack', 'other:key', 'aggregate_instance_extra_specs:ssd')
SPECS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(WORDS), max_size=3)
METADATA = st.builds(
    lambda plain, force: {**plain, **({} if force is None else {'force_metadata_check': force})},
    SPECS,
    st.sampled_from((None, None, None, 'True', 'maybe')),
)


@st.composite
def clouds(draw):
    """Generate hosts with a few aggregates each; aggregates may share an object, or a name."""
    metadata = draw(st.lists(METADATA, min_size=1, max_size=4))
    known = [aggregate(each, f'agg-{number % 3}') for number, each in enumerate(metadata)]
    sets = draw(st.lists(st.lists(st.sampled_from(known), max_size=3), min_size=1, max_size=8))
    return [host(*mine, name=f'cmp-{number}') for number, mine in enumerate(sets)]


def aggregate(metadata, name='agg'):
    return Aggregate(name=name, metadata=metadata)


def host(*aggregates, name='cmp-1'):
    state = HostState(name, name, None)
    state.aggregates = [*aggregates]
    return state


def request(extra_specs, **more):
    return RequestSpec(flavor=Flavor(name='m1.ssd', extra_specs=extra_specs), **more)


def answer(ask, level):
    """Return the passing hosts, and the log."""
    logged, logger = [], logging.getLogger(LOGGER)
    keep = logging.Handler()
    keep.emit = lambda record: logged.append((record.levelname, record.getMessage()))
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(keep)
    try:
        return list(ask()), logged
    finally:
        logger.removeHandler(keep)
        logger.setLevel(before)


def one_by_one(judge, hosts, asked):
    return [each for each in hosts if judge._filter_one(each, asked)]


HINTS = st.sampled_from(({}, {'scheduler_hints': {'_nova_check_type': ['rebuild']}}))


@given(clouds(), SPECS, HINTS, st.sampled_from((logging.DEBUG, logging.INFO)))
def test_all_at_once_is_as_one_by_one(hosts, extra_specs, hints, level):
    """What passes, and what is logged, which for a host that is rejected is a line at DEBUG."""
    asked, judge = request(extra_specs, **hints), AggregateInstanceTypeFilter()
    together = answer(partial(judge.filter_all, hosts, asked), level)
    alone = partial(one_by_one, AggregateInstanceTypeFilter(), hosts, asked)
    passing, logged = answer(alone, level)
    assert together == (passing, logged)


def test_an_error_rejects_only_its_host():
    bad, good = host(), host(aggregate({'ssd': '1'}), name='cmp-2')
    bad.aggregates = None
    judge, asked = AggregateInstanceTypeFilter(), request({'ssd': '1'})
    passing, logged = answer(lambda: judge.filter_all([bad, good, host()], asked), logging.INFO)
    assert passing == [good]
    assert logged == [('ERROR', 'the aggregate filter failed, and rejects host cmp-1')]
    assert [*judge.filter_all([good, good], None)] == []


def test_hosts_in_the_same_aggregates_are_decided_once(monkeypatch):
    racks = [aggregate({'rack': name}) for name in 'ab']
    hosts = [host(racks[number % 2], name=f'cmp-{number}') for number in range(50)]
    decided, judge = [], aggregate_filter._judge
    monkeypatch.setattr(
        aggregate_filter, '_judge', lambda *given: decided.append(1) or judge(*given)
    )
    handler = filters.HostFilterHandler()
    asked = request({'rack': 'a'})
    found = handler.get_filtered_objects([AggregateInstanceTypeFilter()], hosts, asked)
    assert found == hosts[::2]
    assert len(decided) == 2


class TakesAll(AggregateInstanceTypeFilter):
    """Overrides host_passes."""

    def host_passes(self, host_state, spec_obj):
        return host_state.host != 'cmp-2' or super().host_passes(host_state, spec_obj)


class TakesNone(AggregateInstanceTypeFilter):
    """Has no filter_all, like Nova's oldest filters."""

    def _filter_one(self, obj, spec_obj):
        return False


class OnRebuild(AggregateInstanceTypeFilter):
    """Also runs for a rebuild."""

    RUN_ON_REBUILD = True


@pytest.mark.parametrize(
    ('kind', 'more', 'passing'),
    [
        (AggregateInstanceTypeFilter, {}, []),
        (TakesAll, {}, ['cmp-1']),
        (TakesNone, {}, []),
        (OnRebuild, {'scheduler_hints': {'_nova_check_type': ['rebuild']}}, []),
    ],
)
def test_a_subclass_that_overrides_host_passes_is_called(kind, more, passing):
    shared = aggregate({'ssd': '2'})
    hosts = [host(shared, name=f'cmp-{number}') for number in (1, 2)]
    asked = request({'ssd': '1'}, **more)
    assert [each.host for each in kind().filter_all(iter(hosts), asked)] == passing
