"""The library, the command and the hook give the same answer to a question."""

import io
import json
import pickle
from types import SimpleNamespace

import pytest
from msgspec import structs

from senlin_affinity import api
from senlin_affinity.answers import hook
from senlin_affinity.cli.plan import Plan
from senlin_affinity.cloud import whole_cloud
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.constraints.host_state import HostStateConstraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import NONE, Image
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.spread import Spread
from senlin_affinity.plugins.senlin import preflight
from senlin_affinity.policy import properties
from senlin_affinity.policy.senlin_data import Binding, Placement
from tests.support.edge import FORBIDDEN, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost
from tests.support.values import replace

POLICY = {'type': properties.TYPE, 'version': '1.1'}
PROFILE = {'type': 'os.nova.server', 'version': '1.0'}
BOTH = ('compute', 'placement')


def specs(image='cirros', **policy):
    """Return the spec of a policy, and that of a profile."""
    return (
        {**POLICY, 'properties': policy},
        {**PROFILE, 'properties': {'flavor': 'small', 'image': image}},
    )


@pytest.fixture
def edge():
    images = FakeGlance(FakeImage('cirros'), FakeImage('gpu', {'trait:CUSTOM_GPU': 'required'}))
    hosts = tuple(FakeHost(f'cmp-{number}') for number in range(3))
    with Edge(hosts=hosts, flavors=(), services=BOTH, glance=images) as made:
        made.nova.add_flavor('small')
        yield made


@pytest.fixture
def group(edge):
    return edge.nova.add_group('web', 'anti-affinity', project_id='admin-project')


def of_command(edge, folder, policy, profile, *options):
    """Return the output of ``plan -f json``."""
    for name, spec in (('policy', policy), ('profile', profile)):
        (folder / f'{name}.json').write_text(json.dumps(spec))
    app = SimpleNamespace(
        client_manager=SimpleNamespace(affinity=edge.connection()), stdout=io.StringIO()
    )
    command = Plan(app, SimpleNamespace(os_cloud='edge'))
    files = ('--policy', str(folder / 'policy.json'), '--profile', str(folder / 'profile.json'))
    arguments = command.get_parser('plan').parse_args([*files, *options, '-f', 'json'])
    command.run(arguments)
    return json.loads(app.stdout.getvalue())


def of_hook(edge, policy, profile, count, group):
    """Return the result of the policy's hook."""
    spec = SimpleNamespace(spec=profile)
    entity = SimpleNamespace(rt={'profile': spec}, project='admin-project')
    bound = Binding(group, is_inherited=True)
    constraints = load_constraints()
    asked = preflight.question_of(entity, count, properties.load(policy), bound, constraints)
    found = preflight.fetch(asked, constraints, lambda: api.clients_of(edge.connection()))
    return hook.place_nodes(asked, constraints, found).answer


@pytest.mark.parametrize('count', [3, 4])
@pytest.mark.parametrize('image', ['cirros', 'gpu'])
def test_the_three_callers_give_equal_answers(edge, group, tmp_path, count, image):
    policy, profile = specs(image, pin_hosts=True)
    question = api.Question(count, server_group=group, policy=policy, profile=profile)

    decision = api.answer(question, api.fetch(edge.connection(), question))

    named = ('--count', str(count), '--server-group', group)
    printed = of_command(edge, tmp_path, policy, profile, *named)
    assert printed == json.loads(json.dumps(decision.as_dict()))
    answer = of_hook(edge, policy, profile, count, group)
    if decision.fits:
        assert answer.hosts == tuple(f'{one.zone}:{one.host}' for one in decision.placements)
    else:
        # The policy chooses the hosts, so the whole cloud is read, and the owner may list it.
        assert answer.reason.startswith(f'does not fit: {decision.capacity} of {count} placed; ')
    assert decision.fits == (isinstance(answer, Placement)) == (count == 3 and image == 'cirros')
    assert len(edge.glance.asked) == 3, 'each reads the image'


def test_a_view_has_the_reasons_of_unknown_parts(edge):
    edge.fail('GET', '/os-hypervisors/detail', FORBIDDEN)
    edge.fail('GET', '/images', FORBIDDEN)
    policy, profile = specs(pin_hosts=True)
    question = api.Question(2, policy=policy, profile=profile)

    view = api.fetch(edge.connection(), question)

    assert sorted(view.unavailable) == ['hosts', 'image']
    assert all("Policy doesn't allow this" in why for why in view.unavailable.values())
    assert api.answer(question, view).fits is None
    assert edge.nova.requests().count('GET /os-server-groups') == 0


@pytest.mark.parametrize(
    ('asked', 'read'),
    [
        ({}, ['cirros']),
        ({'image': 'gpu'}, ['gpu']),
        ({'image': 'gpu', 'image_properties': {'a': 'b'}}, ['gpu']),
        ({'image_properties': {'a': 'b'}}, []),
        ({'image': NONE}, []),
        ({'profile': None, 'flavor': 'small'}, []),
    ],
    ids=str,
)
def test_which_image_is_read(edge, asked, read):
    """Once, and only if its properties are not given."""
    _policy, profile = specs()
    view = api.fetch(edge.connection(), api.Question(1, **{'profile': profile, **asked}))
    assert list(view.images) == read
    assert len(edge.glance.asked) == len(read)


@pytest.mark.parametrize(
    ('asked', 'status', 'words'),
    [
        ({'image': 'nowhere'}, None, "image: there is no image 'nowhere'"),
        ({'image': 'gpu'}, FORBIDDEN, "Policy doesn't allow this"),
        ({}, FORBIDDEN, "Policy doesn't allow this"),
        ({'profile': {'properties': {'flavor': 'small', 'image': 'nowhere'}}}, None, 'no image'),
    ],
    ids=str,
)
def test_an_image_that_is_not_read(edge, asked, status, words):
    """A named image must exist; otherwise it is assumed to have no properties."""
    if status is not None:
        edge.fail('GET', '/images', status)
    question = api.Question(1, **{'profile': specs()[1], **asked})
    if asked.get('image') == 'nowhere':
        with pytest.raises(InvalidSpec, match=words):
            api.fetch(edge.connection(), question)
        return
    view = api.fetch(edge.connection(), question)
    assert words in view.unavailable['image']
    decision = api.answer(question, view)
    assert [item.code for item in decision.assumptions] == ['nova.filters', 'image.unknown']


@pytest.mark.parametrize(
    ('image', 'properties', 'capacity', 'codes'),
    [
        (None, None, 3, ['image.unknown']),
        (None, {'trait:CUSTOM_GPU': 'required'}, 0, []),
        (None, {'trait:CUSTOM_GPU': 'forbidden'}, 3, ['image.minimum']),
        (NONE, None, 3, []),
        (NONE, {'trait:CUSTOM_GPU': 'required'}, 0, []),
        (Image(min_ram=999_999), None, 0, []),
        (Image(properties={'trait:CUSTOM_GPU': 'required'}), None, 0, []),
        (Image(properties={'trait:CUSTOM_GPU': 'required'}), {'trait:CUSTOM_GPU': ''}, 3, []),
    ],
)
def test_the_properties_of_an_image(edge, group, image, properties, capacity, codes):
    """Given properties are added to those of a named image, or are all properties without one."""
    question = api.Question(
        1,
        'small',
        server_group=group,
        enabled_filters=DEFAULT_FILTERS,
        image=image,
        image_properties=properties,
    )
    decision = api.answer(question, api.fetch(edge.connection(), question))
    assert (decision.capacity, decision.certain) == (capacity, not codes)
    assert [item.code for item in decision.assumptions] == codes


def test_the_hosts_of_a_drs_search(edge):
    seen = whole_cloud.fetch_drs_hosts(api.clients_of(edge.connection()), 'MP-1')
    assert [host.host for host in seen.hosts] == ['cmp-1']


def test_a_view_for_any_question(edge, group, tmp_path):
    view = api.fetch(edge.connection())
    assert [item.id for item in view.server_groups] == [group]
    assert (view.unavailable, view.images) == ({}, {})
    api.save(view, tmp_path / 'cloud.json')
    saved = structs.replace(view, closed_zones=frozenset(), roots=(), longest=0)
    assert api.load(tmp_path / 'cloud.json') == saved


@pytest.mark.parametrize('text', ['', '{"format": 7}'])
def test_an_error_names_the_invalid_file(tmp_path, text):
    (tmp_path / 'cloud.json').write_text(text)
    with pytest.raises(InvalidSpec, match=r'cloud\.json: '):
        api.load(tmp_path / 'cloud.json')


def test_an_error_names_the_unreadable_file_once():
    with pytest.raises(InvalidSpec, match=r'^gone\.json cannot be read: No such file'):
        api.load('gone.json')


def test_a_question_is_a_plain_value():
    policy, profile = specs(member_of=['!licensed'])
    said = {'policy': policy, 'profile': profile, 'options': {'drs_pattern': 'esx'}}
    question = api.Question(3, spread=({'by': 'rack'},), **said)
    assert question == api.Question(3, spread=({'by': 'rack'},), **said)
    assert pickle.loads(pickle.dumps(question)) == question
    assert replace(question, count=4) != question
    assert question.policy == properties.load(policy)
    assert question.spread == (Spread('rack'),)
    with pytest.raises(AttributeError):
        question.count = 4


@pytest.mark.parametrize(
    ('said', 'path'),
    [
        ({'policy': {**POLICY, 'properties': {'pin': True}}}, 'properties.pin'),
        ({'spread': ({'by': 'rack', 'most': 1},)}, 'spread[0].most'),
        ({'spread': (Spread('rack'), {'by': 'room'})}, 'spread[0]'),
    ],
)
def test_errors_have_the_path_in_the_question(said, path):
    with pytest.raises(InvalidSpec) as caught:
        api.Question(1, 'small', **said)
    assert caught.value.path == path


DRS = Cloud(hosts=(Host('cmp-1', 'esx-1'), Host('cmp-2', 'cmp-2')))


@pytest.mark.parametrize('name', ['drs_pattern', 'placement_req_required_member_prefix'])
def test_options_are_those_of_the_constraints(name):
    policy, profile = specs(enable_drs_extension=True)
    question = api.Question(1, policy=policy, profile=profile, options={name: 'esx'})
    codes = {host.host: host.code for host in api.answer(question, DRS).hosts}
    assert (codes['cmp-1'] is None) == (name == 'drs_pattern')


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'drs_patern': 'x'}, r'^options\.drs_patern: .*did you mean drs_pattern'),
        ({'drs_pattern': ''}, r'^options\.drs_pattern: '),
        ({'limit_tenants_to_placement_aggregate': 'perhaps'}, r'perhaps'),
    ],
)
def test_an_invalid_option(options, words):
    with pytest.raises(InvalidSpec, match=words):
        api.answer(api.Question(1, 'small', options=options), Cloud())


def test_the_evaluated_constraints():
    question = api.Question(1, 'small')
    said = api.answer(question, DRS, [HostStateConstraint()])
    assert list(said.hosts[0].verdicts) == ['host_state']
    assert api.answer(question, DRS) == api.answer(question, DRS, load_constraints())


def test_remedies_are_searched_on_request():
    policy, profile = specs()
    question = api.Question(3, policy=policy, profile=profile)
    assert api.answer(question, DRS).remedies
    assert api.answer(question, DRS, remedies=False).remedies == ()
