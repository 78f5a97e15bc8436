"""A question about a policy and a profile becomes the planner's request."""

import pytest
from msgspec import structs

from senlin_affinity.engine.resolution import resolve_member_of
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.model.spread import Spread
from senlin_affinity.nova.effective_zone import DEFAULT_SCHEDULE_ZONE
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.preflight import question
from senlin_affinity.preflight.question import Question
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.tables import as_tuples, check_error, raises, rows
from tests.support.values import replace

WEB = ServerGroup('web-id', 'web', 'anti-affinity', {'max_server_per_host': 3})
FLAVOR = Flavor('f', 'small', vcpus=1, ram=512, disk=1)
SNAPSHOT = Cloud(hosts=(Host('cmp-1', 'cmp-1'),), server_groups=(WEB,))


def question_of(row):
    given = row.get('properties')
    return Question(
        2,
        policy=None if given is None else {'type': TYPE, 'version': '1.1', 'properties': given},
        profile={'properties': {'flavor': 'small', **row.get('profile', {})}},
        options=as_tuples(row.get('rules', {})),
        **as_tuples(row.get('asked', {})),
    )


def expected(named, given, group):
    """Return the request with these values."""
    asked = with_values(named, SNAPSHOT, server_group=group, given=given)
    names = tuple(named.member_of)
    wanted = resolve_member_of(names, SNAPSHOT)
    return replace(asked.request, member_of=wanted, member_of_text=names)


@pytest.mark.parametrize('row', rows('policy_request'))
def test_build_request(row):
    a_question = question_of(row)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            question.resolve_question(a_question, SNAPSHOT)
        check_error(row, caught.value)
        return
    request, cloud = question.resolve_question(a_question, SNAPSHOT)
    wanted = as_tuples(row['request'])
    group, found = row.get('group'), request.server_group
    if group is not None:
        assert (found.name, found.policy, dict(found.rules)) == (
            group['name'],
            group['policy'],
            group.get('rules', {}),
        )
        wanted.setdefault('server_group', found.id)
    defaults = {'count': 2, 'flavor': 'small', 'metadata_items': 3}  # those that Senlin adds
    held = {key: frozenset(x) if key == 'explicit' else x for key, x in row.get('held', {}).items()}
    given = replace(Given(options=a_question.options), **held)
    named = NamedRequest(**{**defaults, **wanted})
    assert request == expected(named, given, found)
    assert (cloud.hosts == SNAPSHOT.hosts) == row.get('hosts', True)


def host(name, zone, node=None):
    return Host(name, node or name, 'QEMU', zone, aggregates=())


FORCED = [host('cmp-1', 'az-1', 'n-1'), host('cmp-1', 'az-1', 'n-2'), host('cmp-2', 'nova')]


@pytest.mark.parametrize(
    ('text', 'zone', 'nodes'),
    [
        ('az-1:cmp-1', 'az-1', ['n-1', 'n-2']),
        ('az-1:cmp-1:n-2', 'az-1', ['n-2']),
        ('az-2:cmp-1:', None, ['n-1', 'n-2']),
        ('az-1::n-1', None, ['n-1']),
        ('nova::n-1', None, ['n-1']),
        ('nova:cmp-2', 'nova', ['cmp-2']),
        (':cmp-2', None, ['cmp-2']),
        (':cmp-1', 'az-1', ['n-1', 'n-2']),  # default_schedule_zone
    ],
)
def test_nova_ignores_another_zone_than_that_of_a_forced_host(text, zone, nodes):
    options = {DEFAULT_SCHEDULE_ZONE.key: 'az-1'}
    asked = Question(1, 'small', availability_zone=text, options=options)
    request, cloud = question.resolve_question(asked, Cloud(hosts=(*FORCED,)))
    assert request.availability_zone == zone
    assert [each.hypervisor_hostname for each in cloud.hosts] == nodes


@pytest.mark.parametrize(
    ('change', 'zone'),
    [
        (
            {
                'hosts': (*FORCED[:2], FORCED[2].but(enabled=False)),
                'availability_zones': frozenset({'az-1', 'nova'}),
            },
            'nova',
        ),
        ({'availability_zones': frozenset({'az-1'})}, InvalidSpec),
        ({'aggregates': (Aggregate('one', 'one', 'nova'),)}, 'nova'),
        ({'availability_zones': frozenset({'az-1', 'nova'})}, None),
    ],
    ids=['disabled', 'without hosts', 'of an aggregate', 'available'],
)
def test_nova_checks_that_the_default_zone_of_a_node_is_available(change, zone):
    asked = Question(1, 'small', availability_zone='nova::n-1')
    snapshot = Cloud(**{'hosts': (*FORCED,), **change})
    view = snapshot
    if zone is InvalidSpec:
        with pytest.raises(InvalidSpec, match="there is no availability zone 'nova'"):
            question.resolve_question(asked, view)
    else:
        assert question.resolve_question(asked, view)[0].availability_zone == zone


def test_a_forced_host_is_hidden_from_an_owner_who_may_not_list_hosts():
    asked = Question(1, 'small', availability_zone='az-1:cmp-9')
    view = Cloud(hosts=(*FORCED,), owner_sees_hosts=False)
    request, cloud = question.resolve_question(asked, view)
    assert (request.forced_host, cloud.hosts) == ('cmp-9', None)
    assert request.settings.enabled_filters == ()


def test_a_named_host_is_the_only_one_and_keeps_the_filters():
    asked = Question(1, 'small', host='cmp-1', enabled_filters=('ComputeFilter',))
    view = Cloud(hosts=(*FORCED,))
    request, cloud = question.resolve_question(asked, view)
    assert [each.hypervisor_hostname for each in cloud.hosts] == ['n-1', 'n-2']
    assert request.is_host_named
    assert (request.is_forced, request.settings.enabled_filters) == (False, ('ComputeFilter',))


def test_a_named_host_that_does_not_exist():
    asked, view = Question(1, 'small', host='cmp-3'), Cloud(hosts=(*FORCED,))
    with pytest.raises(InvalidSpec, match="^host: there is no host 'cmp-3': did you mean cmp-2?"):
        question.resolve_question(asked, view)


def test_a_named_host_is_hidden_from_an_owner_who_may_not_list_hosts():
    view = Cloud(hosts=(*FORCED,), owner_sees_hosts=False)
    _request, cloud = question.resolve_question(Question(1, 'small', host='cmp-3'), view)
    assert cloud.hosts is None


def test_a_forced_node_that_the_host_lacks_does_not_exist():
    asked = Question(1, 'small', availability_zone='az-1:cmp-1:n-9')
    with pytest.raises(InvalidSpec, match="there is no host 'cmp-1' with hypervisor 'n-9'"):
        question.resolve_question(asked, Cloud(hosts=(*FORCED,)))


@pytest.mark.parametrize(
    ('row', 'name'),
    [
        ({}, None),
        ({'properties': {}}, None),
        ({'properties': {'servergroup': {'name': 'web'}}}, 'web'),
        ({'profile': {'scheduler_hints': {'group': 'db'}}}, 'db'),
        ({'profile': {'scheduler_hints': {'group': 'db'}}, 'asked': {'server_group': 'x'}}, 'x'),
    ],
)
def test_the_named_group(row, name):
    assert question_of(row).named_group == name


def test_a_spread_may_be_a_mapping_as_in_a_policy():
    a_question = Question(1, 'small', spread=({'by': 'rack', 'max_skew': 2},))
    assert a_question.spreads == (Spread('rack', 2),)
    with pytest.raises(InvalidSpec) as caught:
        Question(1, 'small', spread=({'by': 'rack', 'max_skew': 0},))
    assert caught.value.path == 'spread[0].max_skew'


SERVERS = tuple(f'10000000-0000-4000-8000-00000000000{n}' for n in (1, 2))


@pytest.mark.parametrize(('pins', 'servers'), [(False, SERVERS[:1]), (True, SERVERS)])
def test_the_named_image_and_the_servers_of_enforced_hints(pins, servers):
    """For pinned servers, all hints are enforced."""
    hints = {'same_host': SERVERS[0], 'different_host': [SERVERS[1]]}
    a_question = Question(
        2,
        'small',
        image='cirros',
        policy={'type': TYPE, 'version': '1.1', 'properties': {'pin_hosts': pins}},
        project_id='ours',
        scheduler_hints=hints,
        enabled_filters=('SameHostFilter',),
    )
    assert (a_question.named_image, a_question.is_image_needed) == ('cirros', True)
    assert a_question.named_servers == servers


IMAGE = Image('i', properties={'hw_a': '1', 'hw_b': '1'})
CHANGED = {'hw_a': '1', 'hw_b': '2', 'hw_c': '2'}


@pytest.mark.parametrize(
    ('image', 'properties', 'expected'),
    [
        ('cirros', None, (IMAGE, IMAGE.properties)),
        (IMAGE, None, (IMAGE, IMAGE.properties)),
        (
            'cirros',
            {'hw_b': '2', 'hw_c': '2'},
            (Image('i', properties=CHANGED), CHANGED),
        ),
        ('unknown', {'hw_c': '2'}, (None, None)),
        (None, {'hw_c': '2'}, (None, {'hw_c': '2'})),
    ],
)
def test_the_image_has_the_added_properties(image, properties, expected):
    a_question = Question(1, 'small', image=image, image_properties=properties)
    view = structs.replace(SNAPSHOT, images={'cirros': IMAGE})
    request, _cloud = question.resolve_question(a_question, view)
    assert (request.image, request.image_properties) == expected


def test_a_named_group_stays_unknown_if_groups_are_not_known():
    """The named group may exist and have members; a group without a name is created."""
    a_question = question_of({'properties': {'servergroup': {'name': 'web'}}})
    request, cloud = question.resolve_question(a_question, Cloud())
    assert (request.server_group, request.unknown_group) == (None, 'web')
    request, cloud = question.resolve_question(question_of({'properties': {}}), Cloud())
    assert request.server_group.id == NOT_YET


OURS = ServerGroup('g1', 'web', 'anti-affinity', project_id='ours')
THEIRS = ServerGroup('g2', 'web', 'affinity', project_id='theirs')


@pytest.mark.parametrize(
    ('name', 'groups', 'wanted'),
    [
        pytest.param('web', (THEIRS,), 'new', id='a group of another project is not used by name'),
        pytest.param('web', (THEIRS, OURS), 'g1', id="the project's own group is preferred"),
        pytest.param('g1', (THEIRS, OURS), 'g1', id='a group is found by its id'),
    ],
)
def test_the_group_is_the_one_that_an_attach_would_use(name, groups, wanted):
    a_question = question_of({'properties': {'servergroup': {'name': name}}})
    cloud = Cloud(flavors=(FLAVOR,), server_groups=groups, project_id='ours')
    group_found = question.resolve_question(a_question, cloud)[0].server_group
    assert group_found.id == wanted or (wanted == 'new' and group_found not in groups)
    assert group_found.policy == 'anti-affinity'


def test_a_group_of_another_project_must_match_the_spec():
    a_question = question_of({'properties': {'servergroup': {'name': 'g2'}}})
    cloud = Cloud(server_groups=(THEIRS,), project_id='ours')
    with pytest.raises(InvalidSpec, match="doesn't match that of the existing"):
        question.resolve_question(a_question, cloud)


def test_a_question_may_name_a_group_of_another_project():
    """An administrator lists the groups of both projects."""
    cloud = Cloud(flavors=(FLAVOR,), server_groups=(THEIRS,), project_id='ours')
    a_question = question_of({'asked': {'server_group': 'web'}})
    assert question.resolve_question(a_question, cloud)[0].server_group == THEIRS
