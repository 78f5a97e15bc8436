"""The decision by a sample or by all candidates equals the one by the whole cloud."""

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity import engine
from senlin_affinity.cloud import whole_cloud
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.fetch import fetch
from senlin_affinity.model.cloud import OtherHosts
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import sample
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.scenario.scenario import Scenario
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost
from tests.support.fake_placement import FakeProvider
from tests.support.our_constraints import OURS

OWNER, PROJECT = 'demo', 'demo-project'
RULES = tuple(rule() for rule in OURS)
FILTER = 'AggregateInstanceExtraSpecsFilter'
RARE, DISABLED = 'CUSTOM_RARE', 'COMPUTE_STATUS_DISABLED'
MOSTLY, SELDOM = st.sampled_from([True] * 4 + [False]), st.sampled_from([False] * 4 + [True])
#: RAM, VCPUs and disk of flavors; the request uses the first, the others are smaller or larger.
SIZES = ((1024, 2, 2), (512, 2, 2), (1024, 1, 2), (512, 1, 1), (2048, 4, 2))
FREE = st.sampled_from([0, 0, 1, 2, 2, 3, 5])
POLICIES = ('anti-affinity', 'anti-affinity', 'affinity', 'soft-anti-affinity')
LIMITS = {
    'maxTotalInstances': st.sampled_from([-1, -1, -1, 0, 3]),
    'maxTotalCores': st.sampled_from([-1, -1, -1, 3, 8]),
    'maxTotalRAMSize': st.sampled_from([-1, -1, -1, 4096]),
    'maxServerGroupMembers': st.sampled_from([-1, -1, -1, 2, 5]),
}
A_HOST = st.fixed_dictionaries(
    {
        'free': st.tuples(FREE, FREE, st.just(9)),
        'used': st.booleans(),
        'is_disabled': SELDOM,
        'is_rare': MOSTLY,
        'zone': st.sampled_from(['az1', 'az1', 'az2', 'nova']),
        'disk': st.sampled_from(['ssd', 'ssd', 'hdd', None]),
    }
)
A_QUESTION = st.fixed_dictionaries(
    {
        'count': st.integers(1, 9),
        'policy': st.sampled_from(POLICIES),
        'most': st.integers(1, 3),
        'members': st.lists(st.integers(0, 9), max_size=3),
        'flavors': st.sets(st.sampled_from(SIZES[1:])),
        'is_rare': st.booleans(),
        'disk': st.sampled_from([None, None, 'ssd']),
        'zone': st.sampled_from([None, None, 'az1']),
        'limits': st.fixed_dictionaries(LIMITS),
        'lost': st.sampled_from([None, None, 0, 1]),
        'down': st.sampled_from([None, 0, 1]),
        'spare': st.sampled_from([2, 2, 10]),
    }
)

A_ROOMY_HOST = st.builds(
    lambda host, free: {**host, 'free': (free, free, 9)}, A_HOST, st.sampled_from([1, 4, 6, 8])
)
A_SMALL_QUESTION = st.builds(
    lambda question_values, count: {**question_values, 'count': count, 'spare': 2, 'limits': {}},
    A_QUESTION,
    st.integers(1, 5),
)
#: A request in a nearly full cloud, whose sample has all candidates.
A_FULL_HOST = st.builds(
    lambda host, free: {**host, 'free': (free, free, 9), 'is_disabled': False},
    A_HOST,
    st.sampled_from([0, 0, 6]),
)
A_QUESTION_WITH_MEMBERS = st.builds(
    lambda question_values, members: {
        **question_values,
        'policy': 'anti-affinity',
        'members': members,
        'limits': {},
        'spare': 2,
        'is_rare': False,
        'zone': None,
        'disk': None,
    },
    A_QUESTION,
    st.lists(st.integers(0, 29), min_size=1, max_size=6),
)


def cloud_of(hosts, question_values):
    """Return the cloud, with the group and its members, and the scale request."""
    fakes = [
        FakeHost(
            name_of(number, has),
            status='disabled' if has['is_disabled'] else 'enabled',
            state='down' if question_values['down'] == number else 'up',
            zone=has['zone'],
            kind=has.get('kind', 'QEMU'),
        )
        for number, has in enumerate(hosts)
    ]
    places = {
        name: tuple(name_of(n, has) for n, has in enumerate(hosts) if has[key] == name)
        for key, name in (('zone', 'az1'), ('zone', 'az2'), ('disk', 'ssd'), ('disk', 'hdd'))
    }
    metadata = {name: {'disk': name} for name in ('ssd', 'hdd')}
    metadata |= {name: {'availability_zone': name} for name in ('az1', 'az2')}
    places['theirs'] = tuple(name_of(n, has) for n, has in enumerate(hosts) if has.get('is_theirs'))
    metadata['theirs'] = {'filter_tenant_id': 'another-project', 'owner': 'another'}
    aggregates = [FakeAggregate(name, found, metadata[name]) for name, found in places.items()]
    images = FakeGlance(FakeImage('cirros'))
    cloud = Edge(
        hosts=fakes,
        aggregates=aggregates,
        flavors=(),
        glance=images,
        services=('compute', 'placement'),
    )
    nova = cloud.nova
    cloud.placement.providers = [
        FakeProvider(each.uuid, amounts_of(has), traits(has), name=each.name)
        for each, has in zip(cloud.placement.providers, hosts, strict=True)
    ]
    for root, has in zip([*cloud.placement.providers], hosts, strict=True):
        if has.get('is_nested'):
            part = FakeProvider(f'{root.uuid}-gpu', {'CUSTOM_GPU': (4, 1)}, parent=root.uuid)
            cloud.placement.providers.append(part)
    cloud.placement.cut = question_values.get('cut')
    if (
        question_values['zone'] is None
    ):  # the whole cloud is not compared with Placement for other zones
        cloud.placement.lost |= {
            each.host for n, each in enumerate(fakes) if n == question_values['lost']
        }
    specs = {f'trait:{RARE}': 'required'} if question_values['is_rare'] else {}
    specs |= {} if question_values['disk'] is None else {'disk': question_values['disk']}
    for number, (ram, vcpus, disk) in enumerate([SIZES[0], *sorted(question_values['flavors'])]):
        nova.add_flavor(f'f{number}', extra_specs=specs, ram=ram, vcpus=vcpus, disk=disk)
    nova.limits |= {**question_values['limits'], 'totalInstancesUsed': 0, 'totalCoresUsed': 0}
    nova.limits |= {'totalRAMUsed': 0}
    is_anti = question_values['policy'] == 'anti-affinity'
    rules = {'max_server_per_host': question_values['most']} if is_anti else {}
    group = nova.add_group('web', question_values['policy'], rules=rules, project_id=PROJECT)
    for place in question_values['members']:
        nova.boot(group, fakes[place % len(hosts)].host, project=PROJECT)
    return cloud, question_of(question_values, group)


def name_of(number, has):
    return has.get('name', f'cmp-{number}')


def amounts_of(has):
    """Return the capacity and the usage of a host with this free capacity."""
    used = int(has['used'])
    cpus, memory, disk = has['free']
    return {
        'VCPU': (cpus + used, used),
        'MEMORY_MB': (512 * (memory + used), 512 * used),
        'DISK_GB': (disk + used, used),
    }


def traits(has):
    return (*[RARE] * has['is_rare'], *[DISABLED] * has['is_disabled'])


def question_of(question_values, group):
    zone = {} if question_values['zone'] is None else {'availability_zone': question_values['zone']}
    question = Question(
        question_values['count'],
        server_group=group,
        policy={'type': TYPE, 'version': '1.1', 'properties': zone},
        profile={'properties': {'flavor': 'f0', 'image': 'cirros'}},
        project_id=PROJECT,
        enabled_filters=(*DEFAULT_FILTERS, FILTER),
    )
    return question


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(st.lists(A_HOST, min_size=1, max_size=14), A_QUESTION)
def test_a_stage_accepts_rejects_and_counts_as_the_whole_cloud_does(hosts, question_values):
    compare(hosts, question_values)


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(st.lists(A_ROOMY_HOST, min_size=8, max_size=24), A_SMALL_QUESTION)
def test_a_sample_accepts_only_what_the_whole_cloud_accepts(hosts, question_values):
    compare(hosts, question_values)


@settings(max_examples=settings.default.max_examples // 5)
@given(st.lists(A_FULL_HOST, min_size=8, max_size=30), A_QUESTION_WITH_MEMBERS)
def test_a_sample_beside_members_accepts_only_what_the_whole_cloud_accepts(hosts, question_values):
    compare(hosts, question_values)


def compare(hosts, question_values):
    """Compare the decision of a stage with the one of the whole cloud."""
    cloud, request = cloud_of(hosts, question_values)
    with cloud, mock.patch.object(sample, 'SPARE', question_values['spare']):
        both = Clients(
            OwnerClient(cloud.connection(OWNER)), OperatorClient(cloud.connection('admin'))
        )
        view = fetch(request, RULES, both)
        if view.rest is OtherHosts.NONE:
            return
        every = whole_cloud.fetch(both, request)
        whole = decided(request, every)
        if view.rest is OtherHosts.UNKNOWN and view.hosts is not None:
            assert whole.fits
        else:
            staged = decided(request, view)
            assert staged.fits == whole.fits
            if all(host.hypervisor_type for host in view.hosts or ()):
                assert number(staged) == number(whole)
                assert staged.capacity_is_upper_bound == whole.capacity_is_upper_bound
            else:  # more than ten candidates: their states are unknown
                assert number(staged) >= number(whole)


def decided(request, view):
    asked, cloud = resolve_question(request, view)
    return engine.plan(asked, Scenario.of(cloud), RULES, remedies=False)


def number(decision):
    return min(decision.capacity, decision.wanted)
