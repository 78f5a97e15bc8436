"""The aggregate filter on Nova's own objects: host states, aggregates, flavors, requests."""

from nova.objects.aggregate import Aggregate
from nova.objects.flavor import Flavor
from nova.objects.request_spec import RequestSpec
from nova.scheduler import filters
from nova.scheduler.host_manager import HostState

from senlin_affinity.plugins.nova import aggregate_filter
from senlin_affinity.plugins.nova.aggregate_filter import AggregateInstanceTypeFilter

INSTANCE = '6f1f7a7c-4c7d-4a55-9ad5-0c8a3c1a7a10'


def host(*aggregates, name='cmp-1'):
    state = HostState(name, name, None)
    state.aggregates = [Aggregate(name=f'agg-{i}', metadata=m) for i, m in enumerate(aggregates)]
    return state


def request(extra_specs, **more):
    flavor = Flavor(name='m1.ssd', extra_specs=extra_specs)
    return RequestSpec(flavor=flavor, instance_uuid=INSTANCE, **more)


def test_d0_14_it_is_a_filter_of_todays_nova():
    """Nova finds it by its path, asks it once per request, and not for a rebuild."""
    path = f'{aggregate_filter.__name__}.{AggregateInstanceTypeFilter.__name__}'
    handler = filters.HostFilterHandler()
    (found,) = handler.get_matching_classes([path])
    assert found is AggregateInstanceTypeFilter
    state, asked = host({'ssd': '2'}), request({'ssd': '1'})
    assert handler.get_filtered_objects([found()], [state], asked, index=0) == []
    assert handler.get_filtered_objects([found()], [state], asked, index=1) == [state]
    rebuild = request({'ssd': '1'}, scheduler_hints={'_nova_check_type': ['rebuild']})
    assert handler.get_filtered_objects([found()], [state], rebuild) == [state]


def test_flavor_whose_extra_specs_were_not_loaded():
    """Reading them would make Nova's object look into a database that a scheduler may not have."""
    asked, judge = RequestSpec(flavor=Flavor(name='m1.tiny')), AggregateInstanceTypeFilter()
    assert judge.host_passes(host({'ssd': 'true'}), asked) is True
    assert judge.host_passes(host({'ssd': '1', 'force_metadata_check': '1'}), asked) is False


def test_metadata_that_changes_is_seen():
    """What is kept is kept by its content, not by the object."""
    state, asked, judge = host({'ssd': '1'}), request({'ssd': '1'}), AggregateInstanceTypeFilter()
    assert judge.host_passes(state, asked) is True
    state.aggregates[0].metadata['ssd'] = '2'
    assert judge.host_passes(state, asked) is False
    asked.flavor.extra_specs['ssd'] = '2'
    assert judge.host_passes(state, asked) is True
