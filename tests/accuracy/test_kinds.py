"""Each class of requests and clouds is among the generated cases."""

import pytest

from senlin_affinity.nova.combination_rules import NEWEST, check
from senlin_affinity.nova.group_policy import FILTERS
from senlin_affinity.nova.guest_request import GuestRequest
from tests.accuracy.case import DEVICE
from tests.accuracy.kinds import KINDS, mixed

#: The seeds that ``make accuracy`` generates.
SEEDS = range(1, 25)
NODE = 'CUSTOM_BAREMETAL_GOLD'


def cases(kind):
    return [KINDS[kind](seed) for seed in SEEDS]


def asked(kind):
    """Return each question of a kind, with its case and its extra specs."""
    return [
        (ask, case, case.flavors[ask.flavor]['extra_specs'])
        for case in cases(kind)
        for ask in case.asks
    ]


def rejection(case, ask):
    flavor = case.flavors[ask.flavor]
    size = flavor['vcpus'], flavor['ram']
    image = {key: str(value) for key, value in case.images.get(ask.image, {}).items()}
    return check(GuestRequest(flavor['extra_specs'], *size, image, (DEVICE,)), NEWEST).rejection


def test_gpus_and_bare_metal_are_in_one_cloud():
    for case in cases('mixed hosts'):
        nodes = [host for host in case.hosts.values() if NODE in host.get('inventory', {})]
        assert {each['hypervisor_type'] for each in nodes} == {'ironic'}
        assert 0 < len(nodes) < len(case.hosts) - 1
        assert any('VGPU' in provider.inventory for provider in case.providers)


def test_some_nodes_are_not_available_in_ironic():
    """Others are free, or have a server."""
    found, used = [], []
    for case in cases('mixed hosts'):
        own = {name: host['inventory'] for name, host in case.hosts.items() if 'inventory' in host}
        found += [(each[NODE]['reserved'], each[NODE]['total']) for each in own.values()]
        used += [server.host for server in case.servers if server.host in own]
    assert {*found} == {(0, 1), (1, 1)}
    assert used


@pytest.mark.parametrize('kind', [mixed.VM, mixed.GPU, mixed.METAL])
def test_requests_name_hosts_of_each_kind_of_flavor(kind):
    named = [ask for ask, _case, _specs in asked('mixed hosts') if kind in ask.flavor]
    assert any(ask.host for ask in named)
    assert any(':' in (ask.zone or '') for ask in named)


def test_leftovers_are_on_hosts_with_and_without_servers_and_on_gpus():
    has_servers, on_gpus = set(), 0
    for case in cases('leftovers'):
        used = {server.host for server in case.servers}
        has_servers |= {name in used for name in case.stale.orphans}
        on_gpus += sum(bool(provider.orphaned) for provider in case.providers)
    assert has_servers == {True, False}
    assert on_gpus >= len(SEEDS) / 4


def test_nova_api_rejects_about_half_of_the_flavors_each_for_one_of_many_reasons():
    found = [rejection(case, ask) for ask, case, _specs in asked('rejected flavors')]
    rejected = [each for each in found if each is not None]
    assert 0.3 * len(found) < len(rejected) < 0.8 * len(found)
    assert len({each.exception for each in rejected}) >= 15


def test_extra_specs_without_a_namespace_are_compared_by_a_filter():
    found = asked('unscoped keys')
    assert all(any(':' not in key.rstrip(':') for key in specs) for _ask, _case, specs in found)
    is_compared = {'AggregateInstanceExtraSpecsFilter' in case.filters for _ask, case, _s in found}
    has_key = {bool(case.aggregates) for _ask, case, _specs in found}
    assert is_compared == has_key == {True, False}


def test_members_belong_to_both_users():
    owners = {frozenset(each.user for each in case.servers if each.group)
              for case in cases('users of members')}  # fmt: skip
    assert {frozenset({'demo'}), frozenset({'guest'}), frozenset({'demo', 'guest'})} <= owners
    assert any(case.user_quotas for case in cases('users of members'))


def test_placement_rejects_queries_for_each_reason():
    """A trait or class that does not exist, a group without resources or without a policy."""
    specs = [specs for _ask, _case, specs in asked('rejected queries')]
    assert any('forbidden' in each.values() and 'NOPE' in str(each) for each in specs)
    assert any('required' in each.values() and 'NOPE' in str(each) for each in specs)
    assert any('resources:CUSTOM_NOPE' in str(each) for each in specs)
    assert {'trait1:CUSTOM_HAS': 'required'} in specs
    assert any('resources2:DISK_GB' in each and 'group_policy' not in each for each in specs)


def test_a_filter_that_no_constraint_models_rejects_requests():
    found = [
        (filter_, case.filters)
        for _ask, case, specs in asked('unmodelled filters')
        for key, filter_ in (
            ('hw:numa_nodes', 'NUMATopologyFilter'),
            ('hw:mem_page_size', 'NUMATopologyFilter'),
            ('pci_passthrough:alias', 'PciPassthroughFilter'),
            ('capabilities:hypervisor_type', 'ComputeCapabilitiesFilter'),
        )
        if key in specs
    ]
    assert all(name in filters for name, filters in found)
    assert {name for name, _filters in found} == {
        *('NUMATopologyFilter', 'PciPassthroughFilter', 'ComputeCapabilitiesFilter'),
    }
    assert any(ask.hints for ask, _case, _specs in asked('unmodelled filters'))


@pytest.mark.parametrize('kind', ['members', 'services'])
def test_nova_conductor_may_have_the_filters_of_the_scheduler(kind):
    """Without the filter of a group's policy, it then rejects every server of the group."""
    without = [
        case.is_conductor_restarted
        for case in cases(kind)
        for ask in case.asks
        if ask.group is not None
        and FILTERS.get(case.groups[ask.group]['policy'], case.filters[0]) not in case.filters
    ]
    assert {*without} == {True, False}
