"""The hook with the preflight, on the engine's own objects: requests, refusals and pinned hosts."""

import logging

import pytest
import requests
from oslo_config import cfg
from senlin.common import consts

from senlin_affinity import engine
from senlin_affinity.model.errors import CloudError, ConstraintError, PluginError
from senlin_affinity.plugins.senlin import preflight
from senlin_affinity.policy import properties
from tests.engine.support import PROJECT, USER, Desk, done, profile, spec
from tests.support.edge import FORBIDDEN, SERVER_ERROR, TIMEOUT, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost

OUT, RESIZE, CREATE = consts.CLUSTER_SCALE_OUT, consts.CLUSTER_RESIZE, consts.NODE_CREATE
BOTH = ('compute', 'placement')
HOSTS = (FakeHost('cmp-1'), FakeHost('cmp-2'), FakeHost('win-1'))
WINDOWS = FakeAggregate('windows', ('win-1',), {'licence:windows': 'true'})
PINNED, DRS = spec(pin_hosts=True), spec(enable_drs_extension=True)


def edge(**more):
    images = FakeGlance(FakeImage('cirros'), FakeImage('windows', {'licence:windows': 'true'}))
    given = {'hosts': HOSTS, 'aggregates': (WINDOWS,), 'services': BOTH, 'glance': images}
    made = Edge(**(given | more))
    made.nova.limits['maxServerGroupMembers'] = 10
    return made


@pytest.fixture
def desk(_database):
    with edge() as cloud:
        yield Desk(cloud)


@pytest.fixture
def reserved():
    """Set the options that reserve aggregates by the prefix of a licence."""
    given = {
        'placement_req_required_member_prefix': 'licence:',
        'placement_req_default_forbidden_member_prefix': ['licence:'],
    }
    for name, value in given.items():
        cfg.CONF.set_override(name, value, group='scheduler')
    yield
    for name in given:
        cfg.CONF.clear_override(name, group='scheduler')


def run(desk, wanted, count=2, *, policy='anti-affinity', on=(), user=USER, action=OUT, **cluster):
    """Run the hook; return the action and the id of its group."""
    nova = desk.edge.nova
    group = nova.add_group('web', policy, project_id=PROJECT)
    for host in on:
        nova.boot(group, host, project=PROJECT, user=user)
    made, policy = desk.bound(wanted, group, **cluster)
    target = desk.node(made) if action == CREATE else made
    running = desk.action(target, action, {'count': count})
    policy.pre_op(made.id, running)
    assert desk.row(running).data == running.data
    return running, group


def zones(action):
    assert action.data['status'] == 'NONE', action.data
    return [entry.get('zone') for entry in action.data['placement']['placements']]


def refusal(action):
    assert action.data['status'] == 'ERROR', action.data
    assert 'placement' not in action.data
    assert action.data['status_reason'] in action.data['reason']
    return action.data['reason']


def warnings(caplog):
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name.startswith('senlin_affinity')
    ]


# -- enforce, warn, off


def test_rx_02_a_refusal_has_the_line_and_remedies(desk):
    """Existing nodes count, and no host is named."""
    action, _group = run(desk, spec(), 3, on=['cmp-1'], size=1)
    reason = refusal(action)
    assert reason == action.data['status_reason']
    assert reason.startswith(
        'does not fit: at most 2 of 3; a host may hold 1 of server group web; would help: '
    )
    new_group = 'a new server group (with Senlin: another cluster, or policy) (3 of 3)'
    assert new_group in reason
    assert not any(host.host in reason for host in HOSTS)


@pytest.mark.parametrize('count', [1, 3])
def test_the_requests_of_an_accepted_action(_database, count, caplog):
    """The requests do not grow with the cloud; Placement's answer has a limit."""
    with edge(hosts=tuple(FakeHost(f'cmp-{n}') for n in range(20))) as cloud:
        caplog.set_level(logging.DEBUG, logger='senlin_affinity')
        check_yes(Desk(cloud), count)
    assert ': preflight: fits on ' in caplog.text


def check_yes(desk, count):
    _action, group = run(desk, spec(), count)
    assert desk.edge.nova.requests() == asked_of_the_owner(group)
    (candidates,) = desk.edge.placement.asked
    assert candidates.startswith('GET /allocation_candidates?')
    assert candidates.endswith(f'&limit={count + 10}')
    assert desk.edge.glance.asked == ['GET /v2/images']


def test_the_requests_of_a_rejected_action(desk):
    """The flavors, the hosts that Placement offers, and Nova's servers."""
    action, group = run(desk, spec(), 4)
    refusal(action)
    nova = desk.edge.nova
    assert nova.requests() == [
        *asked_of_the_owner(group),
        *(f'GET /os-hypervisors/{nova.hypervisor_id(number)}' for number in range(len(HOSTS))),
        'GET /servers/detail',
        'GET /flavors/detail',
    ]
    assert len(desk.edge.placement.asked) == 3  # all hosts are candidates: the longest answer
    assert desk.edge.glance.asked == ['GET /v2/images']


def asked_of_the_owner(group):
    return [
        f'GET /os-server-groups/{group}',
        'GET /flavors/m1.tiny',  # it is called by its name
        'GET /flavors/detail',
        'GET /limits',
        f'GET /os-quota-sets/{PROJECT}/detail',
    ]


@pytest.mark.parametrize('is_novas', [True, False])
def test_the_options_of_the_engine_apply(desk, option, monkeypatch, tmp_path, caplog, is_novas):
    seen, request = set(), requests.Session.request

    def spy(self, method, url, **more):
        seen.add(more['timeout'])
        return request(self, method, url, **more)

    monkeypatch.setattr(requests.Session, 'request', spy)
    option('request_timeout', 7)
    (tmp_path / 'nova.conf').write_text('[filter_scheduler]\nenabled_filters = AcmeFilter')
    option('enabled_filters', ['OtherFilter' if is_novas else 'AcmeFilter'])
    option('nova_conf', [str(tmp_path)] if is_novas else [])
    option('drs_pattern', 'win')
    with caplog.at_level(logging.INFO):
        refusal(run(desk, spec(), 4)[0])
    assert 'at most 3, because of filter AcmeFilter' in caplog.text
    for wanted in (DRS, spec('1.0', enable_drs_extension=True)):
        action, _group = run(desk, wanted, 1)
        assert zones(action) == ['nova:win-1']
    assert seen
    assert max(seen) <= 7


@pytest.mark.parametrize('wanted', [spec('1.0'), spec(preflight='off')])
def test_q3_7_off_and_spec_1_0_only_read_the_group(desk, reserved, wanted, caplog):
    """Reservations are not enforced, either."""
    action, group = run(desk, wanted, 9)
    assert zones(action) == [None] * 9
    assert desk.edge.nova.requests() == [f'GET /os-server-groups/{group}']
    assert warnings(caplog) == []


def test_r3_08_a_single_node(desk):
    action, group = run(desk, PINNED, action=CREATE)
    entry = {'zone': 'nova:cmp-1', 'servergroup': group}
    assert desk.node_data(action.entity.id)['placement'] == entry
    action, _group = run(desk, spec(), on=['cmp-1', 'cmp-2', 'win-1'], action=CREATE)
    assert 'does not fit: none of 1' in refusal(action)
    assert desk.node_data(action.entity.id) == {}


# -- unknown results


@pytest.mark.parametrize('failure', [FORBIDDEN, SERVER_ERROR, TIMEOUT], ids=str)
@pytest.mark.parametrize('url', ['/os-hypervisors/.*', '/limits', '/allocation_candidates'])
def test_an_unknown_result_rejects_nothing(desk, url, failure, caplog):
    desk.edge.fail('GET', url, failure)
    action, _group = run(desk, spec(), 2)
    assert zones(action) == [None] * 2
    if failure is not FORBIDDEN:
        (said,) = warnings(caplog)
        assert 'could not determine whether 2 node(s) fit: could not ' in said
        assert failure.words in said


@pytest.mark.parametrize('failure', [FORBIDDEN, SERVER_ERROR, TIMEOUT], ids=str)
@pytest.mark.parametrize('url', ['/os-hypervisors/.*', '/allocation_candidates', '/v2/images'])
def test_an_unknown_result_rejects_pinned_nodes_with_the_clouds_message(desk, url, failure):
    desk.edge.fail('GET', url, failure)
    action, _group = run(desk, spec(preflight='warn', pin_hosts=True), 2)
    assert failure.words in refusal(action)


def test_without_placement_in_the_catalog(_database, caplog):
    with edge(services=('compute',)) as cloud:
        action, _group = run(Desk(cloud), spec())
        assert zones(action) == [None] * 2
        assert len(warnings(caplog)) == 1
        action, _group = run(Desk(cloud), PINNED)
        assert 'Placement' in refusal(action)


def test_a_constraint_that_does_not_load_fails_closed(desk, monkeypatch):
    def broken():
        raise PluginError('constraint odd does not load')

    monkeypatch.setattr(preflight, 'load_constraints', broken)
    action, _group = run(desk, spec())
    assert refusal(action) == 'constraint odd does not load'
    for mode in ('warn', 'off'):
        action, _group = run(desk, spec(preflight=mode))
        assert zones(action) == [None] * 2


@pytest.mark.parametrize(
    'error', [KeyError('oops'), ConstraintError('odd', 'check', "KeyError: 'oops'", 'host x')]
)
def test_a_defect_rejects_only_nodes_whose_host_or_zone_the_policy_chooses(
    desk, monkeypatch, caplog, error
):
    """The details are in the log only, because the owner must not read them."""

    def mistaken(*_arguments):
        raise error

    monkeypatch.setattr(engine, 'plan', mistaken)
    action, _group = run(desk, spec())
    assert zones(action) == [None] * 2
    assert f'{type(error).__name__}: {error}' in caplog.text
    hard = spec(spread=[{'by': 'availability_zone', 'max_skew': 1}])
    for chosen in (PINNED, hard):
        caplog.clear()
        action, _group = run(desk, chosen)
        assert 'KeyError' in refusal(action)
        assert 'host x' not in refusal(action)
        assert 'Traceback' in caplog.text


# -- pinned


@pytest.mark.parametrize(
    ('image', 'hosts'), [('cirros', ['nova:cmp-1', 'nova:cmp-2']), ('windows', ['nova:win-1'])]
)
def test_r1_30_reservations_pin(desk, reserved, image, hosts):
    given = profile(image=image)
    action, _group = run(desk, spec(), len(hosts), profile=given)
    assert zones(action) == hosts
    action, _group = run(desk, spec(), 3, profile=given)
    assert 'reservations.' in refusal(action)


def test_the_image_of_a_volume_is_read(desk, reserved):
    image = FakeImage('windows').id
    device = {'boot_index': 0, 'source_type': 'image', 'destination_type': 'volume', 'uuid': image}
    given = profile(block_device_mapping_v2=[device])
    del given['properties']['image']
    action, _group = run(desk, spec(), 1, profile=given)
    assert zones(action) == ['nova:win-1']
    assert desk.edge.glance.asked == [f'GET /v2/images/{image}']


def test_a_host_in_the_profile_is_the_administrators_choice(desk):
    """Nova runs no filter for it, but nova-compute checks the server group."""
    given = profile(availability_zone='nova:cmp-1')
    action, _group = run(desk, spec(), 4, policy='soft-anti-affinity', profile=given)
    assert zones(action) == [None] * 4
    action, _group = run(desk, spec(), 4, profile=given)
    assert '1 of 4 placed; 0/1 hosts left: server_group.host_full on 1' in refusal(action)
    action, _group = run(desk, spec(), 11, profile=given)
    assert 'quota.' in refusal(action)
    action, _group = run(desk, PINNED, 3, profile=given)
    assert zones(action) == ['nova:cmp-1', 'nova:cmp-2', 'nova:win-1']


# -- at attach: the largest size


def attach(desk, caplog, wanted=None, **cluster):
    done(desk.policy(wanted or spec()).attach(desk.cluster(**cluster)))
    return [line for line in warnings(caplog) if 'max_size' in line]


def test_the_ceiling_never_fails_the_attach(desk, caplog, monkeypatch):
    caplog.set_level('INFO', logger='senlin_affinity')
    monkeypatch.setattr(engine, 'plan', lambda *_arguments: {}['oops'])
    assert attach(desk, caplog, max_size=4) == []
    assert 'could not be determined: KeyError' in caplog.text
    assert 'Traceback' in caplog.text
    caplog.clear()
    desk.edge.fail('GET', '/os-hypervisors/detail', TIMEOUT)
    assert attach(desk, caplog, max_size=4) == []
    assert 'could not be determined: could not list the hypervisors: ' in caplog.text
    assert 'Traceback' not in caplog.text


def test_if_the_cloud_cannot_be_read_no_note_says_that_nodes_are_not_checked():
    def fail():
        raise CloudError('no answer')

    assert preflight.is_unchecked(properties.load(spec()), fail) is False


@pytest.mark.parametrize(
    ('aggregate', 'size', 'max_size', 'is_warned'),
    [
        ('all', 2, 5, False),
        ('all', 2, 6, True),
        ('one', 0, 1, False),
        ('none', 0, 1, True),
        ('none', 1, 1, False),
    ],
)
def test_the_ceiling_is_computed_for_the_missing_nodes(
    _database, caplog, aggregate, size, max_size, is_warned
):
    every = FakeAggregate('all', tuple(each.host for each in HOSTS))
    one = FakeAggregate('one', ('cmp-1',))
    with edge(aggregates=(every, one, FakeAggregate('none'))) as cloud:
        wanted = spec(member_of=[aggregate])
        found = attach(Desk(cloud), caplog, wanted, size=size, max_size=max_size)
    assert [f'growth to its max_size of {max_size}: ' in line for line in found] == (
        [True] * is_warned
    )


@pytest.mark.parametrize(
    ('wanted', 'size'),
    [(spec(), -1), (spec('1.0'), 9), (spec(preflight='off'), 9)],
    ids=['no limit', '1.0', 'off'],
)
def test_without_max_size_the_ceiling_is_not_computed(desk, caplog, wanted, size):
    assert attach(desk, caplog, wanted, max_size=size) == []
    assert desk.edge.placement.asked == []
    assert 'GET /os-aggregates' not in desk.edge.nova.requests()


@pytest.mark.parametrize(
    ('wanted', 'is_warned'),
    [
        (spec(spread=[{'by': 'availability_zone'}]), True),
        (spec(spread=[{'by': 'availability_zone', 'mode': 'soft'}]), False),
        (spec(spread=[{'by': 'availability_zone'}], pin_hosts=True), False),
        (spec(), False),
    ],
    ids=['hard', 'soft', 'pinned', 'no spread'],
)
def test_an_attach_warns_if_the_spread_does_not_use_the_default_zone(
    _database, caplog, wanted, is_warned
):
    zoned = FakeAggregate('one', ('cmp-2',), {'availability_zone': 'az-1'})
    hosts = (FakeHost('cmp-1'), FakeHost('cmp-2', zone='az-1'))
    with edge(hosts=hosts, aggregates=(zoned,)) as cloud:
        done(Desk(cloud).policy(wanted).attach(Desk(cloud).cluster()))
    found = [line for line in warnings(caplog) if 'sends no node to zone nova' in line]
    assert len(found) == is_warned


def test_an_attach_warns_of_a_policy_that_is_not_enforced(desk, caplog, option):
    option('enabled_filters', ['ComputeFilter'])
    attach(desk, caplog)
    assert 'not enforced here' not in caplog.text
    option('disable_group_policy_check_upcall', True)
    attach(desk, caplog)
    (said,) = [line for line in warnings(caplog) if 'not enforced here' in line]
    assert 'anti-affinity is not enforced here: the scheduler does not run ServerGroupAnti' in said
