"""The capacity of several flavors: what limits it, what is left, and by which parts it is shown."""

import pytest
from msgspec import structs

from senlin_affinity import api
from senlin_affinity.engine import flavor_capacity
from senlin_affinity.engine.flavor_capacity import FreeAmount, PartCapacity
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.bounds import NONE, Bounds
from senlin_affinity.model.cloud import Cloud, Quota
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.nova import candidate_query
from senlin_affinity.preflight import question
from tests.support.values import replace

SMALL = Flavor('1', 'm1.small', 1, 1024, 0)
LARGE = Flavor('2', 'm1.large', 4, 8192, 0)
XLARGE = Flavor('3', 'm1.xlarge', 8, 32768, 0)
GPU = Flavor('4', 'gpu', 1, 1024, 0, extra_specs={'resources:CUSTOM_GPU': '1'})
RACK_1, RACK_2 = (
    Aggregate(f'7bbcc3c4-1da2-4437-a48a-00000000000{n}', f'rack-{n}', None, {'rack': f'r{n}'})
    for n in (1, 2)
)
LICENSED = Aggregate('7bbcc3c4-1da2-4437-a48a-000000000003', 'licensed', None, {'rack': 'r1'})


def host(name, vcpus, ram, zone='az-1', *, aggregates=(), used=(0, 0), **fields):
    resources = {'VCPU': Resource(vcpus, used[0]), 'MEMORY_MB': Resource(ram, used[1])}
    resources |= fields.pop('resources', {})
    uuids = frozenset(each.uuid for each in aggregates)
    return Host(name, availability_zone=zone, aggregates=uuids, resources=resources, **fields)


HOSTS = (
    host('a', 64, 65536, aggregates=(RACK_1, LICENSED), used=(32, 49152)),
    host('b', 64, 65536, aggregates=(RACK_2,), used=(0, 49152)),
    host('c', 32, 24576, 'az-2', used=(32, 0)),
    host('d', 96, 98304, 'az-2', enabled=False),
)
VIEW = Cloud(HOSTS, (RACK_1, RACK_2, LICENSED), (SMALL, LARGE, XLARGE, GPU), quotas={})


def only(flavor=None, view=VIEW, **asked):
    (found,) = api.capacity(view, None if flavor is None else [flavor], **asked).flavors
    return found


def test_the_scarcest_flavor_comes_first():
    found = api.capacity(VIEW).flavors
    assert [(each.flavor.name, each.bounds.expected) for each in found] == [
        ('gpu', 0),
        ('m1.xlarge', 0),
        ('m1.large', 4),
        ('m1.small', 32),
    ]


def test_a_flavor_for_which_memory_is_short_strands_vcpus():
    """96 VCPUs are free, but no host has 32768 MEMORY_MB left; c is too small."""
    found = only('m1.xlarge')
    assert (found.bounds, found.hosts) == (NONE, 0)
    assert (found.runs_out_first, found.lacking) == ('MEMORY_MB', 32768)
    assert dict(found.stranded) == {'VCPU': 96, 'MEMORY_MB': 16384 * 2}
    assert found.rejected_hosts == (('resources.exhausted', 3), ('host_state.disabled', 1))


def test_a_flavor_for_which_each_host_lacks_something_else():
    """Host c has the memory, hosts a and b have the VCPUs."""
    found = only(Flavor('9', 'wide', 4, 20000, 0))
    assert (found.bounds, found.runs_out_first, found.lacking) == (NONE, 'MEMORY_MB', 0)


def test_a_flavor_leaves_what_its_servers_do_not_use():
    found = only('m1.large')
    assert (found.bounds, found.hosts, found.runs_out_first) == (Bounds(4, 4, 4), 2, 'MEMORY_MB')
    assert dict(found.stranded) == {'VCPU': 96 - 4 * 4, 'MEMORY_MB': 24576}


def test_a_flavor_that_no_host_can_hold_strands_nothing():
    found = only('gpu')
    assert (found.runs_out_first, dict(found.stranded)) == (
        None,
        {'VCPU': 0, 'MEMORY_MB': 0, 'CUSTOM_GPU': 0},
    )
    assert found.rejected_hosts[0] == ('resources.not_offered', 3)


@pytest.mark.parametrize(
    ('by', 'expected'),
    [
        ('zone', {'az-1': 4, 'az-2': 0}),
        ('aggregate', {'': 0, 'licensed': 2, 'rack-1': 2, 'rack-2': 2}),
        ('rack', {'': 0, 'r1': 2, 'r2': 2}),
        ('host', {'a': 2, 'b': 2, 'c': 0, 'd': 0}),
        (None, {}),
    ],
)
def test_the_numbers_of_parts(by, expected):
    """Aggregates may overlap; the part without a name has the hosts of no aggregate."""
    parts = only('m1.large', by=by).parts
    assert {part.name: part.bounds.upper for part in parts} == expected


def test_an_aggregate_without_hosts_takes_none():
    empty = Aggregate('7bbcc3c4-1da2-4437-a48a-000000000009', 'empty')
    snapshot = replace(VIEW, aggregates=(*VIEW.aggregates, empty))
    parts = only('m1.large', snapshot, by='aggregate').parts
    assert PartCapacity('empty', NONE) in parts


def test_the_loss_of_the_largest_host_of_each_zone():
    """The largest usable host of az-1 holds 8 servers of 8 GiB; az-1 has room for 4 more."""
    found = only('m1.large')
    assert [(zone.name, zone.largest_host) for zone in found.zones] == [('az-1', 8), ('az-2', 3)]
    assert found.spare == NONE
    emptier = tuple(replace(each, resources=empty(each)) for each in HOSTS)
    found = only('m1.large', replace(VIEW, hosts=emptier))
    assert (found.bounds.upper, found.spare.upper) == (8 + 8 + 3, 8)


def empty(given):
    return {name: Resource(has.capacity, 0) for name, has in given.resources.items()}


def test_amounts_by_class_and_zone():
    """m1.small leaves 80 VCPUs of az-1 and, on host c without a free VCPU, all memory."""
    assert api.capacity(VIEW, ['m1.small']).amounts == (
        FreeAmount('MEMORY_MB', 'az-1', 131072, 32768, 0),
        FreeAmount('MEMORY_MB', 'az-2', 24576, 24576, 24576),
        FreeAmount('VCPU', 'az-1', 128, 96, 64),
        FreeAmount('VCPU', 'az-2', 32, 0, 0),
    )


def test_a_shared_pool_counts_once():
    disk = Resource(100, 40, pool='nfs')
    hosts = tuple(
        replace(each, resources={**each.resources, 'DISK_GB': disk}) for each in HOSTS[:2]
    )
    snapshot = replace(VIEW, hosts=hosts, pools={'nfs': {'DISK_GB': Resource(100, 40)}})
    view, flavor = snapshot, Flavor('5', 'disk', 1, 1024, 25)
    found = api.capacity(view, [flavor], 'host')
    assert found.flavors[0].bounds.upper == 2
    assert [part.bounds.upper for part in found.flavors[0].parts] == [2, 2]
    assert found.amounts[0] == FreeAmount('DISK_GB', 'az-1', 100, 60, 0)


def test_nodes_of_bare_metal_count_one_each():
    node = {'CUSTOM_BAREMETAL': Resource(1, 0)}
    used = {'CUSTOM_BAREMETAL': Resource(1, 1)}
    nodes = [
        Host('ironic', f'node-{n}', 'ironic', 'az-1', resources=each)
        for n, each in enumerate((node, node, used))
    ]
    specs = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    metal = Flavor('6', 'metal', 8, 1, 1, extra_specs={'resources:CUSTOM_BAREMETAL': '1', **specs})
    view = Cloud(tuple(nodes), flavors=(metal,), quotas={})
    found = only(view=view, by='host')
    assert (found.bounds, found.hosts) == (Bounds(2, 2, 2), 2)
    assert [(part.name, part.bounds.upper) for part in found.parts] == [('ironic', 2)]


def test_a_request_that_nova_rejects_says_so_and_comes_last():
    specs = {'trait:CUSTOM_A': 'required', 'resources1:CUSTOM_GPU': '1', 'resources2:VCPU': '1'}
    wrong = replace(SMALL, id='7', name='wrong', extra_specs=specs)
    found = api.capacity(VIEW, [wrong, 'm1.xlarge']).flavors[-1]
    assert (found.flavor.name, found.bounds) == ('wrong', NONE)
    assert found.rejection.code == 'candidates.no_group_policy'
    assert 'group_policy' in found.rejection.sentence


def test_quotas_do_not_limit_the_number():
    quotas = {'instances': Quota(10, 7), 'cores': Quota(100, 0)}
    view = replace(VIEW, quotas=quotas, project_id='p')
    found = only('m1.small', view, project_id='p')
    assert (found.bounds.upper, found.of_quotas.upper) == (32, 3)
    assert only('m1.small', view, project_id='other').of_quotas is None


def test_the_headroom_of_a_group():
    members = (Member('s', 'a'),)
    group = ServerGroup('g', 'web', 'anti-affinity', {'max_server_per_host': 2}, members)
    view = replace(VIEW, server_groups=(group,))
    found = only('m1.small', view, question=api.Question(0, server_group='web'))
    assert (found.bounds.upper, found.runs_out_first) == (3, 'server_group')


def test_a_number_with_a_caveat_has_its_code():
    vsphere = tuple(replace(each, hypervisor_type='VMware vCenter Server') for each in HOSTS)
    found = only('m1.small', replace(VIEW, hosts=vsphere))
    assert found.is_at_most
    assert [each.code for each in found.caveats] == ['resources.vsphere']
    assert only('m1.small').caveats == ()


def test_an_unspecified_filter_lowers_what_each_part_is_guaranteed():
    """The filter would admit the flavor to one aggregate only."""
    fast = Aggregate('7bbcc3c4-1da2-4437-a48a-000000000004', 'fast', None, {'disk': 'fast'})
    hosts = (host('a', 8, 8192, aggregates=(fast,)), host('b', 8, 8192, 'az-2'))
    flavor = replace(SMALL, extra_specs={'disk': 'fast'})
    view = Cloud(hosts, (fast,), (flavor,), quotas={})
    found = only(view=view, by='zone')
    assert (found.bounds.lower, found.bounds.expected) == (8, 16)
    assert {part.name: tuple(part.bounds) for part in found.parts} == {
        'az-1': (8, 8, 8),
        'az-2': (0, 8, 8),
    }


@pytest.mark.parametrize(
    ('names', 'expected'),
    [
        (['m1.*'], ['m1.small', 'm1.large', 'm1.xlarge']),
        (['3', 'm1.small'], ['m1.small', 'm1.xlarge']),
        (['*large', 'm1.large'], ['m1.large', 'm1.xlarge']),
    ],
)
def test_names_of_flavors(names, expected):
    found = flavor_capacity.select(VIEW.flavors, names)
    assert [each.name for each in found] == expected


@pytest.mark.parametrize(
    ('asked', 'message'),
    [
        ({'flavors': ['m1.smal']}, "flavor: there is no flavor 'm1.smal': did you mean m1.small?"),
        (
            {'flavors': ['x*']},
            "flavor: no flavor matches 'x*': choose from gpu, m1.large",
        ),
        ({'by': 'rak'}, "by: no aggregate has the metadata key 'rak': did you mean rack?"),
    ],
)
def test_wrong_names(asked, message):
    with pytest.raises(InvalidSpec) as caught:
        api.capacity(VIEW, **asked)
    assert str(caught.value).startswith(message)


def test_aggregates_that_are_not_known():
    view = replace(VIEW, aggregates=None)
    with pytest.raises(InvalidSpec, match='by: must be zone or host, because the aggregates are'):
        api.capacity(view, by='rack')


def test_flavors_that_are_not_known():
    view = Cloud(HOSTS, unavailable={'flavors': 'Nova answered 403'})
    with pytest.raises(CloudError, match='the flavors are not known: Nova answered 403'):
        api.capacity(view)
    assert only(SMALL, view).bounds.upper == 32


def test_hosts_that_are_not_known():
    view = Cloud(flavors=(SMALL,))
    found = only(view=view, by='zone')
    assert (found.bounds, found.parts, found.hosts) == (Bounds(0, 0, None), (), 0)


def test_a_rejected_query_says_nothing_about_other_flavors():
    """Placement rejects the query of one flavor for a reason that is not understood."""
    cloud = VIEW
    asked = question.resolve_question(api.Question(1, 'm1.small', image_properties={}), VIEW)
    rejected = {candidate_query.query(*asked): 'no, because'}
    view = structs.replace(cloud, rejected=rejected)
    settings = api.Question(0, image_properties={})
    found = api.capacity(view, ['m1.small', 'm1.large'], question=settings).flavors
    codes = {each.flavor.name: each.rejection and each.rejection.code for each in found}
    assert codes == {'m1.small': 'candidates.query_rejected', 'm1.large': None}
