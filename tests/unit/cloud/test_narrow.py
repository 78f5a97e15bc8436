"""The look of a yes at the HTTP edge: what it asks, and what is left to the whole look."""

from dataclasses import replace
from typing import ClassVar

import pytest

from senlin_affinity.cloud import clients, cloud_view, few, narrow
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.reason import Reason, tenant_reason
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import Refusal
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import hook
from senlin_affinity.preflight.question import Question
from tests.support.edge import FORBIDDEN, SERVER_ERROR, TIMEOUT, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost
from tests.support.fake_placement import SHARING, FakeProvider
from tests.support.our_constraints import OURS

PROJECT = 'admin-project'
#: Ten are to spare.
HOSTS = tuple(FakeHost(f'cmp-{number}') for number in range(14))
ZONE = FakeAggregate('one', tuple(each.host for each in HOSTS), {'availability_zone': 'az1'})
RULES = tuple(rule() for rule in OURS)


@pytest.fixture
def cloud():
    with make() as edge:
        yield edge


def make(**more):
    images = FakeGlance(FakeImage('cirros'))
    given = {'hosts': HOSTS, 'services': ('compute', 'placement'), 'glance': images}
    return Edge(**given | more)


def needs(cloud, *arguments, **more):
    return hook.scope_of(growth_of(cloud, *arguments, **more))


def growth_of(
    cloud,
    count=2,
    *,
    members=(),
    group=None,
    project=PROJECT,
    flavor='m1.tiny',
    user=None,
    **wanted,
):
    nova = cloud.nova
    group = group or nova.add_group('web', project_id=project or PROJECT)
    for host in members:
        nova.boot(group, host, project=PROJECT if user is None else project)
    question = Question(
        count,
        server_group=group,
        policy={'type': TYPE, 'version': '1.1', 'properties': wanted},
        profile={'properties': {'flavor': flavor, 'image': 'cirros'}},
        project_id=project,
    )
    return hook.ScaleRequest(question, Binding(group, is_inherited=True), RULES)


def see(cloud, *arguments, **more):
    return narrow.see(clients.of(cloud.connection()), needs(cloud, *arguments, **more)).view


def test_a_yes(cloud):
    view = see(cloud, 2, members=['cmp-1'])
    assert view.is_yes
    assert len(view.snapshot.hosts) == 2 + 1 + 10
    assert view.snapshot.quotas['instances'].of_user is not None


def test_a_yes_in_a_zone(cloud):
    cloud.nova.aggregates = (ZONE,)
    assert see(cloud, 2, availability_zone='az1').is_yes
    assert 'GET /os-aggregates' in cloud.nova.requests()
    assert ZONE.id in cloud.placement.asked[0]


def test_members_may_be_where_the_answer_is(cloud):
    assert see(cloud, 2, members=['cmp-1'] * 3) is None


def test_what_hosts_share_is_nobodys_for_certain(cloud):
    """One that shares is no host, either."""
    cpus = {'VCPU': (4, 0), 'MEMORY_MB': (4096, 0)}
    cloud.placement.providers = [FakeProvider(f'cmp-{number}', cpus) for number in range(14)]
    roots = tuple(each.uuid for each in cloud.placement.providers)
    disk = {'DISK_GB': (99, 0)}
    cloud.placement.providers.append(
        FakeProvider('nfs', disk, (SHARING,), shares_with=roots, name='nfs')
    )
    assert see(cloud, 1) is None


# what, and what it needs
UNSEEN = [
    ('a group that is gone', {'group': '7d1d4b4c-0f8f-4d3b-a8ea-2f1f1ed0e1c1'}),
    ('another project', {'project': 'another'}),
    ('no such flavor', {'flavor': 'm1.none'}),
    ('no flavor', {'flavor': ''}),
]


@pytest.mark.parametrize(('name', 'more'), UNSEEN, ids=[row[0] for row in UNSEEN])
def test_what_is_not_there_is_left_to_the_whole_look(cloud, name, more):
    assert see(cloud, **more) is None
    assert cloud.placement.asked == []


@pytest.mark.parametrize('wanted', [{'pin_hosts': True}, {'spread': [{'by': 'rack'}]}])
def test_who_chooses_hosts_needs_all_of_them(cloud, wanted):
    assert see(cloud, **wanted) is None
    assert cloud.nova.requests() == []


@pytest.mark.parametrize('url', ['/flavors/m1.tiny', '/limits', '/allocation_candidates'])
@pytest.mark.parametrize('failure', [FORBIDDEN, SERVER_ERROR], ids=str)
def test_what_is_refused_is_left_to_the_whole_look(cloud, url, failure):
    needed = needs(cloud)
    cloud.fail('GET', url, failure)
    assert narrow.see(clients.of(cloud.connection()), needed).view is None


def test_who_does_not_answer_is_not_waited_for_twice(cloud):
    needed = needs(cloud)
    cloud.fail('GET', '/allocation_candidates', TIMEOUT)
    with pytest.raises(CloudError, match='timed out'):
        narrow.see(clients.of(cloud.connection()), needed)


@pytest.mark.parametrize('failure', [FORBIDDEN, TIMEOUT], ids=str)
def test_an_image_that_can_not_be_read_is_left_to_the_whole_look(cloud, failure):
    needed = needs(cloud)
    cloud.fail('GET', '/v2/images', failure)
    assert narrow.see(clients.of(cloud.connection()), needed).view is None


def test_an_older_placement_is_not_asked(cloud):
    cloud.placement.newest = '1.35'
    assert see(cloud) is None
    assert cloud.placement.asked == []


def test_the_users_quota_counts_and_may_be_hidden(cloud):
    needed = needs(cloud)
    cloud.fail('GET', f'/os-quota-sets/{PROJECT}/detail', FORBIDDEN)
    assert narrow.see(clients.of(cloud.connection()), needed).view.is_yes


# -- a no

OWNER = 'demo'


def two_eyes(cloud):
    return Clients(OwnerClient(cloud.connection(OWNER)), OperatorClient(cloud.connection('admin')))


def quota(cloud, instances):
    cloud.nova.limits |= {'maxTotalInstances': instances, 'totalInstancesUsed': 1}


@pytest.mark.parametrize(('instances', 'asked'), [(1, 0), (3, 1)], ids=['nothing', 'some'])
def test_a_no_by_the_quota_says_what_the_whole_look_says(cloud, instances, asked):
    quota(cloud, instances)
    scale_request = growth_of(cloud, 5, project=f'{OWNER}-project')
    eyes_of_both, needed = two_eyes(cloud), hook.scope_of(scale_request)
    view = narrow.see(eyes_of_both, needed).view
    assert len(cloud.placement.asked) == asked
    said = hook.decide(scale_request, view)
    assert isinstance(said.answer, Refusal)
    assert said.answer == hook.decide(scale_request, cloud_view.fetch(eyes_of_both, needed)).answer
    assert said.refusal is not None


def test_a_quota_that_is_not_all_that_refuses_is_left_to_the_whole_look(cloud):
    quota(cloud, 14)
    needed = needs(cloud, 20, members=['cmp-1'] * 3, project=f'{OWNER}-project')
    assert narrow.see(two_eyes(cloud), needed).view is None


def test_who_sees_the_hosts_gets_all_reasons(cloud):
    quota(cloud, 3)
    assert see(cloud, 5) is None


# -- what was read goes on to the whole look


@pytest.mark.parametrize('is_told', [True, False], ids=['told', 'untold'])
@pytest.mark.parametrize(('who', 'wanted'), [('admin', {'availability_zone': 'az1'}), (OWNER, {})])
def test_nothing_is_asked_twice_and_the_answer_stays_the_same(cloud, who, wanted, is_told):
    cloud.nova.aggregates = (ZONE,)
    cloud.nova.add_flavor('small')
    project = f'{who}-project'
    scale_request = growth_of(
        cloud, 5, members=['cmp-1'], flavor='small', project=project, **wanted
    )
    needed, own = hook.scope_of(scale_request), clients.of(cloud.connection(who))
    few_hosts = narrow.see(own, needed)
    before = len(cloud.nova.requests())
    whole = cloud_view.fetch(own, needed, None, few_hosts.read if is_told else None)
    assert few_hosts.view is None
    once, again = cloud.nova.requests()[:before], cloud.nova.requests()[before:]
    twice = {*once} & {*again} - {'GET /'}
    assert (not twice) == is_told, twice
    assert hook.decide(scale_request, whole) == hook.decide(
        scale_request, cloud_view.fetch(own, needed)
    )


def test_an_image_that_was_not_read_is_not_tried_again(cloud):
    needed = needs(cloud)
    cloud.fail('GET', '/v2/images', TIMEOUT)
    own = clients.of(cloud.connection())
    read = narrow.see(own, needed).read
    cloud.mend()
    assert 'timed out' in cloud_view.fetch(own, needed, None, read).unavailable['image']


# -- a no by all hosts that Placement has

RARE = 'CUSTOM_RARE'
#: What hosts are like, the hosts of the members, and how many servers more.
NOES = [
    ('nobody is there', {}, (), 9),
    ('members on them, and elsewhere', {}, ('cmp-1', 'cmp-1', 'cmp-9'), 9),
    ('all of them are full', {}, ('cmp-0', 'cmp-1', 'cmp-2', 'cmp-3'), 1),
    ('one is down', {1: {'state': 'down'}}, (), 4),
    ('one is disabled', {1: {'status': 'disabled'}}, ('cmp-2',), 3),
    ('one is called otherwise', {1: {'hypervisor_hostname': 'cmp-1.domain'}}, ('cmp-1',), 4),
    ('room, but none to spare', {}, ('cmp-1',), 3),
]


def rare(cloud, hosts=4, **more):
    """Few hosts have what the flavor asks for."""
    cloud.nova.add_flavor('rare', extra_specs={f'trait:{RARE}': 'required'})
    providers = cloud.placement.providers
    for number in range(hosts):
        providers[number] = replace(providers[number], traits=(RARE,))
    count, members = more.pop('count', 9), more.pop('members', ())
    more = {'project': f'{OWNER}-project', 'user': OWNER, 'flavor': 'rare'} | more
    return growth_of(cloud, count, members=members, **more)


@pytest.mark.parametrize(('name', 'odd', 'members', 'count'), NOES, ids=[row[0] for row in NOES])
def test_a_no_by_few_hosts_says_what_the_whole_look_says(name, odd, members, count):
    hosts = [replace(host, **odd.get(number, {})) for number, host in enumerate(HOSTS)]
    with make(hosts=hosts) as cloud:
        scale_request = rare(cloud, members=members, count=count)
        both, needed = two_eyes(cloud), hook.scope_of(scale_request)
        seen, whole = narrow.see(both, needed).view, cloud_view.fetch(both, needed)
        assert not seen.is_yes
        assert {host.host for host in seen.snapshot.hosts} == {f'cmp-{n}' for n in range(4)}
        said = hook.decide(scale_request, seen)
        assert said.answer == hook.decide(scale_request, whole).answer
        assert isinstance(said.answer, Refusal) == (name != 'room, but none to spare')


def test_what_the_clouds_eyes_may_not_see_of_members_is_not_known_to_either_look(cloud):
    scale_request = rare(cloud, members=['cmp-1'])
    both, needed = two_eyes(cloud), hook.scope_of(scale_request)
    cloud.fail('GET', '/os-migrations', FORBIDDEN)
    cloud.fail('GET', '/servers/detail', FORBIDDEN, skip=1, times=1)  # the owner's goes well
    seen = narrow.see(both, needed).view
    cloud.fail('GET', '/servers/detail', FORBIDDEN, skip=1, times=1)
    whole = cloud_view.fetch(both, needed)
    assert seen.snapshot.soft_deleted is whole.snapshot.soft_deleted is None
    assert hook.decide(scale_request, seen).answer == hook.decide(scale_request, whole).answer


def test_what_a_no_by_few_hosts_asks(cloud):
    """Nothing that grows with the cloud."""
    scale_request = rare(cloud, members=['cmp-1'])
    before = len(cloud.nova.requests())
    assert narrow.see(two_eyes(cloud), hook.scope_of(scale_request)).view is not None
    asked = [each.split('?')[0] for each in cloud.nova.requests()[before:]]
    ids = [cloud.nova.hypervisor_id(number) for number in range(4)]
    assert sorted(each for each in asked if 'hypervisors/' in each) == sorted(
        ['GET /os-hypervisors/detail', *(f'GET /os-hypervisors/{each}' for each in ids)]
    )
    assert not {'GET /os-services', 'GET /os-aggregates'} & {*asked}
    assert len(cloud.placement.asked) == 2
    assert cloud.placement.asked[1].endswith('&limit=5')


def test_no_more_is_asked_for_than_can_be_few(cloud):
    scale_request = rare(cloud, count=5000)
    assert narrow.see(two_eyes(cloud), hook.scope_of(scale_request)).view is not None
    assert f'&limit={few.MOST + 1}' in cloud.placement.asked[0]


def test_a_provider_that_is_no_hypervisor_is_no_host(cloud):
    scale_request = rare(cloud)
    providers = cloud.placement.providers
    providers[0] = replace(providers[0], uuid='7d1d4b4c-0f8f-4d3b-a8ea-2f1f1ed0e1c1')
    seen = narrow.see(two_eyes(cloud), hook.scope_of(scale_request)).view
    assert len(seen.snapshot.hosts) == 3


def shared(cloud):
    one = cloud.placement.providers[1]
    cloud.placement.providers[1] = replace(one, traits=(RARE, SHARING))


def nested(cloud):
    root = cloud.placement.providers[1].uuid
    gpu = FakeProvider('gpu', {'CUSTOM_GPU': (4, 0)}, parent=root, name='gpu')
    cloud.placement.providers.append(gpu)


def cut(cloud):
    cloud.placement.cut = 4


def hidden(cloud):
    cloud.fail('GET', '/os-hypervisors/[0-9a-f-]{36}', FORBIDDEN)


@pytest.mark.parametrize('more', [shared, nested, cut, hidden])
def test_what_proves_nothing_is_left_to_the_whole_look(cloud, more):
    scale_request = rare(cloud)
    more(cloud)
    assert narrow.see(two_eyes(cloud), hook.scope_of(scale_request)).view is None


def test_an_owner_who_sees_the_hosts_is_told_of_all_of_them(cloud):
    own = Clients(OwnerClient(cloud.connection('admin')), OperatorClient(cloud.connection('admin')))
    scale_request = rare(cloud, project=PROJECT, user=None)
    assert narrow.see(own, hook.scope_of(scale_request)).view is None


@pytest.mark.parametrize(
    ('most', 'always', 'rows', 'is_few'),
    [(4, 4, 99, True), (4, 3, 1, True), (3, 3, 1, False), (4, 3, 99, False)],
)
def test_many_hosts_are_left_to_the_whole_look(cloud, monkeypatch, most, always, rows, is_few):
    """A part of all hosts of the cloud may be asked for one by one, and a few in any cloud."""
    for name, value in {'MOST': most, '_ALWAYS': always, '_ROWS': rows}.items():
        monkeypatch.setattr(few, name, value)
    needed = hook.scope_of(rare(cloud))
    assert (narrow.see(two_eyes(cloud), needed).view is not None) == is_few


def test_a_no_of_today_is_none_of_the_largest_size(cloud):
    needed = hook.scope_of(rare(cloud))
    assert narrow.see(two_eyes(cloud), needed.any_time()).view is None


# -- what else the owner reads of a no, by other hosts


def same_words(cloud, scale_request, is_narrow=True):
    """The refusal, which the whole look words alike; None where this one words it."""
    both, needed = two_eyes(cloud), hook.scope_of(scale_request)
    seen = narrow.see(both, needed).view
    asked = [*cloud.placement.asked]
    whole = hook.decide(scale_request, cloud_view.fetch(both, needed)).answer
    assert isinstance(whole, Refusal)
    assert (seen is not None) == is_narrow
    if seen is not None:
        assert hook.decide(scale_request, seen).answer == whole
    return whole.reason, [each for each in asked if 'allocation_candidates' in each]


def full(cloud, *numbers, left=0):
    """Of these hosts so much memory is left."""
    for number in numbers:
        one = cloud.placement.providers[number]
        memory = {'MEMORY_MB': (left + 1, 1)}
        cloud.placement.providers[number] = replace(one, resources={**one.resources, **memory})


# the hosts of a smaller flavor, its number, the requests (with a still smaller one, and a longer)
SMALLER = [('a few', range(4, 6), '(6 of 9)', 4), ('enough', range(4, 14), '(9 of 9)', 2)]


@pytest.mark.parametrize('row', SMALLER, ids=[row[0] for row in SMALLER])
def test_a_smaller_flavor_may_have_other_hosts(cloud, monkeypatch, row):
    _name, others, number, requests = row
    monkeypatch.setattr('senlin_affinity.preflight.lower_bound.SPARE', 2)
    scale_request = rare(cloud, 14, flavor='large')
    for flavor, ram in (('large', 512), ('small', 400), ('less', 390)):
        cloud.nova.add_flavor(flavor, extra_specs={f'trait:{RARE}': 'required'}, ram=ram)
    full(cloud, *range(4), left=512)
    full(cloud, *range(4, 14))
    full(cloud, *others, left=400)
    reason, asked = same_words(cloud, scale_request)
    assert f'flavor: small {number}' in reason
    assert len(asked) == requests


def test_a_smaller_flavor_that_fits_here_is_not_asked_about(cloud):
    scale_request = rare(cloud)
    cloud.nova.add_flavor('smaller', extra_specs={f'trait:{RARE}': 'required'}, ram=32)
    assert 'flavor' not in same_words(cloud, scale_request)[0]


def zoned(cloud, monkeypatch, *zones):
    """Three hosts in a zone, the others in others."""
    named = dict(zip(range(3, 14), [*zones] * 11, strict=False))
    of_hosts = [replace(host, zone=named.get(n, 'az1')) for n, host in enumerate(HOSTS)]
    cloud.nova.hosts = tuple(of_hosts)
    for zone in ('az1', *zones):
        found = [host.host for host in of_hosts if host.zone == zone != 'nova']
        cloud.nova.add_aggregate(zone, found, availability_zone=zone)
    monkeypatch.setattr('senlin_affinity.preflight.lower_bound.SPARE', 2)
    project = f'{OWNER}-project'
    return growth_of(cloud, 6, project=project, user=OWNER, availability_zone='az1')


@pytest.mark.parametrize('spare', [2, 3])
@pytest.mark.parametrize('zones', [('az2',), ('az2', 'nova')], ids=len)
def test_in_a_zone_the_others_are_asked_about(cloud, monkeypatch, zones, spare):
    scale_request = zoned(cloud, monkeypatch, *zones)
    monkeypatch.setattr('senlin_affinity.preflight.lower_bound.SPARE', spare)
    reason, _asked = same_words(cloud, scale_request)
    assert 'they must be in zone az1' in reason
    assert 'availability_zone: az2' in reason
    assert 'no availability_zone' in reason


def test_of_many_zones_the_whole_look_tells(cloud, monkeypatch):
    scale_request = zoned(cloud, monkeypatch, *(f'az{number}' for number in range(2, 12)))
    same_words(cloud, scale_request, is_narrow=False)


def test_a_host_that_placement_lost_is_left_to_the_whole_look(cloud, monkeypatch):
    scale_request = zoned(cloud, monkeypatch, 'az2')
    cloud.placement.lost.add('cmp-1')
    same_words(cloud, scale_request, is_narrow=False)


def test_a_host_that_only_placement_has_in_the_zone_is_left_to_the_whole_look(cloud, monkeypatch):
    scale_request = zoned(cloud, monkeypatch, 'az2')
    (zone,) = (each.id for each in cloud.nova.aggregates if each.name == 'az1')
    cloud.placement.stale['cmp-5'] = {zone}
    reason, _asked = same_words(cloud, scale_request, is_narrow=False)
    assert 'at most 4 of 6' in reason


@pytest.mark.parametrize('limits', [
    {'maxTotalCores': 2, 'totalCoresUsed': 0},
    {'maxServerGroupMembers': 3},
], ids=['cores', 'members of the group'])  # fmt: skip
def test_a_quota_that_leaves_less_than_the_hosts(cloud, limits):
    cloud.nova.limits |= limits
    project = f'{OWNER}-project'
    scale_request = growth_of(cloud, 9, members=['cmp-13'], project=project, user=OWNER)
    assert 'at most 2 of 9' in same_words(cloud, scale_request)[0]


def test_a_quota_that_drivers_count_in_two_ways_hides_no_rule(cloud):
    """No host is filled for certain, and still it is the rule that is in the way."""
    cloud.nova.limits |= {'maxTotalCores': 0, 'totalCoresUsed': 0}
    cloud.nova.add_flavor('none', extra_specs={'resources:VCPU': '0'})
    scale_request = growth_of(cloud, 20, flavor='none', project=f'{OWNER}-project', user=OWNER)
    reason = same_words(cloud, scale_request, is_narrow=False)[0]
    assert 'at most 14 of 20; a host may hold 1 of server group web; would help' in reason


def test_a_host_that_is_full_by_a_rule_and_by_its_figures(cloud):
    """Placement does not have it, and it tells nothing: only a quota is in the way."""
    cloud.nova.limits |= {'maxServerGroupMembers': 2}
    scale_request = rare(cloud, members=['cmp-5', 'cmp-5'], count=1)
    assert 'a host may hold' not in same_words(cloud, scale_request)[0]


FILTER = 'AggregateInstanceExtraSpecsFilter'


def by_aggregates(cloud, hosts=3):
    """A flavor for the hosts of one aggregate."""
    cloud.nova.add_flavor('fast', extra_specs={'disk': 'fast'})
    cloud.nova.add_aggregate('fast', [host.host for host in HOSTS[:hosts]], disk='fast')
    scale_request = growth_of(cloud, 4, flavor='fast', project=f'{OWNER}-project')
    filters = (*DEFAULT_FILTERS, FILTER)
    return replace(scale_request, question=replace(scale_request.question, enabled_filters=filters))


@pytest.mark.parametrize('name', ['cmp-1', 'cmp-1.domain'])
def test_by_a_rule_that_reads_aggregates(cloud, name):
    one = replace(HOSTS[1], hypervisor_hostname=name)
    with make(hosts=(HOSTS[0], one, *HOSTS[2:])) as cloud:
        assert 'at most 3 of 4' in same_words(cloud, by_aggregates(cloud))[0]


def test_placement_may_not_know_all_hosts_of_an_aggregate(cloud):
    """The filter of Nova's reads Nova's own."""
    scale_request = by_aggregates(cloud)
    cloud.placement.lost.add('cmp-1')
    same_words(cloud, scale_request, is_narrow=False)


def test_a_reserved_host_that_placement_grants_is_no_proof(cloud):
    """Nova asks Placement, which does not have the host in the reserved aggregate."""
    cloud.nova.add_aggregate('reserved', ['cmp-0'], **{'reservation:x': '1'})
    cloud.placement.lost.add('cmp-0')
    scale_request = rare(cloud, count=4)
    options = {
        'reservations_enforced_by': 'nova',
        'required_member_prefix': 'reservation:',
        'forbidden_member_prefixes': ('reservation:',),
    }
    question = replace(
        scale_request.question, options={**scale_request.question.options, **options}
    )
    scale_request, both = replace(scale_request, question=question), two_eyes(cloud)
    needed = hook.scope_of(scale_request)
    assert narrow.see(both, needed).view is None
    assert not isinstance(
        hook.decide(scale_request, cloud_view.fetch(both, needed)).answer, Refusal
    )


def test_no_host_is_read_for_an_enforced_scheduler_hint(cloud):
    scale_request = rare(cloud, count=4)
    question = replace(
        scale_request.question,
        scheduler_hints={'different_host': ['5c0f0000-0000-4000-8000-000000000001']},
        enabled_filters=(*DEFAULT_FILTERS, 'DifferentHostFilter'),
    )
    both, needed = two_eyes(cloud), hook.scope_of(replace(scale_request, question=question))
    assert narrow.see(both, needed).view is None
    assert not [each for each in cloud.nova.requests() if 'hypervisors/' in each]


def test_aggregates_of_many_hosts_are_left_to_the_whole_look(cloud, monkeypatch):
    monkeypatch.setattr(few, '_MOST_MIRRORED', 2)
    same_words(cloud, by_aggregates(cloud), is_narrow=False)


def test_cpus_that_may_be_pinned_are_left_to_the_whole_look(cloud):
    scale_request = rare(cloud)
    scale_request.question.profile['properties'].pop('image')
    scale_request.question.profile['properties']['block_device_mapping_v2'] = []
    same_words(cloud, scale_request, is_narrow=False)


# -- a group whose servers are on one host


def bound(cloud, count=3, members=('cmp-1', 'cmp-1'), who=OWNER, **more):
    project = f'{who}-project'
    group = cloud.nova.add_group('web', 'affinity', project_id=project)
    return growth_of(cloud, count, group=group, members=members, project=project, user=who, **more)


@pytest.mark.parametrize('left', [0, 600], ids=['none', 'one'])
def test_affinity_asks_for_the_host_of_the_members(cloud, left):
    cloud.nova.add_flavor('small', ram=512)
    scale_request = bound(cloud, flavor='small')
    full(cloud, 1, left=left)
    reason, asked = same_words(cloud, scale_request)
    assert f'at most {left // 512} of 3; the servers of server group web must share' in reason
    assert f'&in_tree={cloud.nova.hypervisor_id(1)}&limit=' in asked[0]


@pytest.mark.parametrize('who', ['admin', OWNER])
def test_affinity_that_fits_is_seen_on_that_host(cloud, who):
    scale_request = bound(cloud, who=who)
    both = two_eyes(cloud) if who == OWNER else clients.of(cloud.connection(who))
    view = narrow.see(both, hook.scope_of(scale_request)).view
    assert [host.host for host in view.snapshot.hosts] == ['cmp-1']
    assert hook.decide(scale_request, view).answer == hook.scheduler_chooses(scale_request)


def test_an_administrator_of_affinity_is_told_of_all_hosts(cloud):
    scale_request = bound(cloud, who='admin')
    full(cloud, 1)
    assert narrow.see(clients.of(cloud.connection()), hook.scope_of(scale_request)).view is None


def another_kind(cloud):
    cloud.nova.hosts = tuple(replace(each, kind='ironic') for each in HOSTS)


def another_name(cloud):
    cloud.nova.hosts = tuple(replace(each, hypervisor_hostname='other') for each in HOSTS)


def two_names(cloud):
    more = FakeHost('cmp-1', 'cmp-1.more')
    cloud.nova.hosts = (*cloud.nova.hosts[:-1], more)


@pytest.mark.parametrize('odd', [another_kind, another_name, two_names])
def test_affinity_on_a_host_that_is_not_seen_is_left_to_the_whole_look(cloud, odd):
    odd(cloud)
    assert narrow.see(two_eyes(cloud), hook.scope_of(bound(cloud))).view is None


@pytest.mark.parametrize('members', [('cmp-1', 'cmp-2'), (None,), ('cmp-1', None)])
def test_affinity_on_no_one_host_is_left_to_the_whole_look(cloud, members):
    assert narrow.see(two_eyes(cloud), hook.scope_of(bound(cloud, members=members))).view is None


class Fenced(Constraint):
    """A rule of another package, which an owner may read of and could do without."""

    name, order, summary, needs, filters = 'fenced', 5, 'fenced', ('hosts',), ()
    is_host_specific, enforced_by_placement = True, True
    reasons: ClassVar = {'fenced.no': tenant_reason('they are fenced'), 'fenced.ok': Reason('')}

    def check_host(self, resolved, host):
        is_fenced = host.host == 'cmp-0'
        return Verdict.rejected('fenced.no') if is_fenced else Verdict.passed('fenced.ok')


def test_a_rule_that_an_owner_could_do_without_is_left_to_the_whole_look(cloud):
    scale_request = rare(cloud)
    same_words(cloud, replace(scale_request, constraints=(*RULES, Fenced())), is_narrow=False)
