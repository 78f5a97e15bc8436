"""What the capacity of several flavors depends on is fetched by few requests."""

import pytest

from senlin_affinity import api
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.options import ISOLATION
from tests.support.edge import UNAVAILABLE, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost
from tests.support.fake_placement import FakeProvider

NO_GROUPS = api.Question(0)
ALL = ('*',)
MISSING = '/resource_providers?member_of='


def made(**more):
    hosts = tuple(FakeHost(f'cmp-{n}', vcpus=8, memory_mb=4096, disk_gb=100) for n in range(3))
    services = 'compute', 'placement'
    return Edge(hosts=hosts, services=services, flavors=(), aggregates=(), **more)


@pytest.fixture
def edge():
    with made() as edge:
        for number in (1, 2, 4):
            edge.nova.add_flavor(f'small-{number}', vcpus=number)
        yield edge


@pytest.fixture
def edge_with_images():
    images = FakeGlance(FakeImage('cirros'), FakeImage('debian'))
    with made(glance=images) as edge:
        for number in (1, 2, 4):
            edge.nova.add_flavor(f'small-{number}', vcpus=number)
        yield edge


def nest(edge):
    """Give the first host a provider of GPUs."""
    root = edge.nova.hypervisor_id(0)
    edge.placement.providers.append(FakeProvider('gpus', {'CUSTOM_GPU': (4, 1)}, parent=root))


def fetch(edge, flavors=ALL, question=NO_GROUPS, **more):
    return api.fetch(edge.connection(), question, flavors=flavors, **more)


def asked(edge, part):
    return [each for each in edge.placement.asked if part in each]


def test_flavors_without_anything_special_need_eight_requests(edge):
    """The goal is 4 to Placement, and 15 in all."""
    fetch(edge)
    assert len(edge.placement.asked) == 2
    assert len(edge.nova.asked) == 6


def test_a_cloud_that_hides_hosts_needs_four_requests_to_placement(edge):
    edge.placement.cut = 1
    fetch(edge)
    assert len(edge.placement.asked) == 4
    assert len(edge.nova.asked) == 6


def test_a_flavor_on_nested_providers_needs_one_request_more(edge):
    """Nothing but the host with the nested provider is "at most" without it."""
    nest(edge)
    edge.nova.add_flavor('gpu', extra_specs={'resources:CUSTOM_GPU': '1'}, vcpus=1)
    view = fetch(edge, ['gpu'])
    (query,) = asked(edge, 'CUSTOM_GPU')
    (found,) = api.capacity(view, ['gpu']).flavors
    assert (found.bounds, found.caveats) == ((3, 3, 3), ())
    (without,) = api.capacity(api.fetch(edge.connection()), ['gpu']).flavors
    assert [caveat.code for caveat in without.caveats] == ['resources.nested']


def test_flavors_with_one_query_share_its_answer(edge):
    nest(edge)
    edge.nova.add_flavor('twin', vcpus=1)
    edge.nova.add_flavor('gpu', extra_specs={'resources:CUSTOM_GPU': '1'}, vcpus=2)
    view = fetch(edge)
    queries = [each for each in edge.placement.asked if 'VCPU:' in each]
    assert len(queries) == len({*queries}) == 4
    found = {each.flavor.name: each for each in api.capacity(view).flavors}
    assert {name: each.is_at_most for name, each in found.items()} == dict.fromkeys(found, False)
    assert found['twin'].bounds == found['small-1'].bounds


def test_an_answer_that_fails_leaves_the_numbers_at_most(edge):
    nest(edge)
    edge.fail('GET', '/allocation_candidates', UNAVAILABLE, skip=1)
    view = fetch(edge)
    assert 'answer' in view.unavailable
    assert any(each.is_at_most for each in api.capacity(view).flavors)


def test_the_names_of_traits_are_read_for_a_trait_that_no_host_has(edge):
    edge.nova.add_flavor('new', extra_specs={'trait:CUSTOM_NEW': 'required'})
    fetch(edge, ['small-*'])
    assert asked(edge, '/traits') == []
    view = fetch(edge)
    assert len(asked(edge, '/traits')) == len(asked(edge, '/resource_classes')) == 1
    found = next(each for each in api.capacity(view).flavors if each.flavor.name == 'new')
    assert found.rejection.code == 'candidates.unknown_traits'


def test_the_access_to_private_flavors_is_read_for_another_project(edge):
    private = {'os-flavor-access:is_public': False}
    for name in ('ours', 'theirs', 'ignored'):
        edge.nova.add_flavor(name, **private)
        projects = [{'tenant_id': 'p'}] if name == 'ours' else []
        access = {'flavor_access': projects}
        edge.answer(f'/flavors/{name}/os-flavor-access', lambda _query, access=access: access)
    edge.nova.quota_sets['p'] = {}
    view = fetch(edge, ['small-1', 'ours', 'theirs'], api.Question(0, project_id='p'))
    shared = {each.name: each.is_shared for each in view.flavors}
    assert (shared['ours'], shared['theirs'], shared['ignored']) == (True, False, None)
    names = [each.flavor.name for each in api.capacity(view, project_id='p').flavors]
    assert 'theirs' not in names
    assert 'ours' in names


def test_the_members_of_a_zone_are_read_once_for_all_flavors(edge):
    zone = edge.nova.add_aggregate('zone', ['cmp-0', 'cmp-1'], availability_zone='az-1')
    edge.placement.lost.add('cmp-0')
    view = fetch(edge, question=api.Question(0, availability_zone='az-1'))
    assert asked(edge, MISSING) == [f'GET {MISSING}in:{zone}']
    assert [host.unmirrored for host in view.hosts] == [{zone}, set(), set()]


@pytest.mark.parametrize(('number', 'requests'), [(10, 10), (11, 0)])
def test_many_sets_of_aggregates_are_not_read(edge, number, requests):
    """Each flavor requires another trait, so Nova forbids another set of isolated aggregates."""
    for each in range(number):
        name = f'trait:CUSTOM_{each}'
        edge.nova.add_aggregate(f'isolated-{each}', ['cmp-0'], **{name: 'required'})
        edge.nova.add_flavor(f'isolated-{each}', extra_specs={name: 'required'})
    question = api.Question(0, options={ISOLATION.key: True})
    view = fetch(edge, ['isolated-*'], question)
    assert len(asked(edge, MISSING)) == requests
    found = api.capacity(view, ['isolated-*'], question=question)
    codes = {each.code for each in found.assumptions}
    assert ('aggregates.same_in_placement' in codes) is (requests == 0)


def test_a_flavor_that_does_not_exist(edge):
    with pytest.raises(InvalidSpec, match="^flavor: there is no flavor 'smal-1'"):
        fetch(edge, ['smal-1'])


def test_a_zone_that_does_not_exist_is_named_by_the_answer(edge):
    question = api.Question(0, availability_zone='az-9')
    view = fetch(edge, question=question)
    with pytest.raises(InvalidSpec, match="there is no availability zone 'az-9'"):
        api.capacity(view, question=question)


def test_a_tenant_learns_what_is_not_known(edge):
    view = api.fetch(edge.connection('demo'), NO_GROUPS, flavors=ALL)
    assert view.hosts is None
    assert {each.bounds for each in api.capacity(view).flavors} == {(0, 0, None)}
    assert edge.placement.asked == []


def test_a_list_of_requests_needs_one_request_for_each_image_and_none_for_each_server(
    edge_with_images,
):
    edge = edge_with_images
    group = ServerGroup.planned('new', 'anti-affinity', {})
    few = [api.Question(1, 'small-1', image='cirros', server_group=group)]
    many = [
        api.Question(9, f'small-{size}', image=image, server_group=group)
        for size in (1, 2, 4)
        for image in ('cirros', 'debian')
    ]
    counts = []
    for questions in (few, many * 20):
        workload = api.Workload.of(questions)
        before = [len(each.asked) for each in (edge.nova, edge.placement, edge.glance)]
        view = api.fetch(edge.connection(), workload)
        after = [len(each.asked) for each in (edge.nova, edge.placement, edge.glance)]
        counts.append([now - then for now, then in zip(after, before, strict=True)])
    assert counts[0][:2] == counts[1][:2]
    assert (counts[0][2], counts[1][2]) == (1, 2)
    assert {*view.images} == {'cirros', 'debian'}
    assert api.plan_workload(few, view).fits


def test_a_list_reads_the_answer_of_each_query_once(edge):
    nest(edge)
    edge.nova.add_flavor('gpu', extra_specs={'resources:CUSTOM_GPU': '1'}, vcpus=1)
    questions = [api.Question(1, 'gpu'), api.Question(1, 'gpu'), api.Question(9, 'missing')]
    view = api.fetch(edge.connection(), api.Workload.of(questions))
    (_query,) = asked(edge, 'CUSTOM_GPU')
    assert api.plan_workload(questions[:2], view).fits
    with pytest.raises(InvalidSpec, match="request 3: flavor: there is no flavor 'missing'"):
        api.plan_workload(questions, view)


def test_an_image_of_a_list_must_exist(edge_with_images):
    workload = api.Workload.of([api.Question(1, 'small-1', image='nope')])
    with pytest.raises(InvalidSpec, match='nope'):
        api.fetch(edge_with_images.connection(), workload)


def test_images_that_cannot_be_read_are_not_known(edge):
    """The cloud of this test has no image service."""
    question = api.Question(1, 'small-1', image='cirros')
    view = api.fetch(edge.connection(), api.Workload.of([question]))
    assert 'image' in view.unavailable
    assert api.plan_workload([question], view).fits
