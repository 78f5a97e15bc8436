"""The texts for owners and for operators if operator credentials read the cloud."""

import logging

import pytest
from senlin import objects
from senlin.engine import senlin_lock

from senlin_affinity.answers import disclosure
from senlin_affinity.cloud import hosts
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.model.numbers import at_most
from senlin_affinity.plugins.senlin import clients, preflight
from tests.engine import support
from tests.engine.support import Desk, record_events, refused, spec
from tests.engine.test_plugin_cloud import LOGIN, configured, kept  # noqa: F401
from tests.support import edge as at_edge
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost

SCALE_OUT = 'CLUSTER_SCALE_OUT'
SERVICES = {'services': ('compute', 'placement', 'image')}
#: Of 30 hosts 3 have room for a server.
FEW = tuple(FakeHost(f'cmp-{number:02}', vcpus=int(number < 3)) for number in range(30))
#: Of 30 hosts 25 have room for many.
MOST = tuple(FakeHost(f'cmp-{number:02}', vcpus=64 * (number < 25)) for number in range(30))


@pytest.fixture
def plain(request, _database, configured, monkeypatch):  # noqa: F811
    """Return a tenant's desk, with operator credentials that can list hosts."""
    configured(**LOGIN)
    monkeypatch.setattr(support, 'USER', 'demo-id')
    monkeypatch.setattr(support, 'PROJECT', 'demo-project')
    aggregates = (FakeAggregate('hidden-agg', ('cmp-00',)),)
    glance = FakeGlance(FakeImage('cirros'))
    more = {'hosts': getattr(request, 'param', FEW), 'aggregates': aggregates, 'glance': glance}
    with Edge(user='demo', **more, **SERVICES) as edge:
        yield Desk(edge)


@pytest.fixture
def administrator(_database, configured):  # noqa: F811
    """Return an administrator's desk, with operator credentials."""
    configured(**LOGIN)
    aggregates = (FakeAggregate('hidden-agg', ('cmp-00',)),)
    glance = FakeGlance(FakeImage('cirros'))
    with Edge(hosts=MOST, aggregates=aggregates, glance=glance, **SERVICES) as edge:
        yield Desk(edge)


def grown(desk, count, project=None, **wanted):
    """Let a new cluster grow, and return the texts."""
    group = desk.edge.nova.add_group('web', 'anti-affinity', project_id=project or support.PROJECT)
    cluster, policy = desk.bound(spec(**wanted), group)
    action = desk.action(cluster, SCALE_OUT, {'count': count})
    policy.pre_op(cluster.id, action)
    return action.data


def operators_read(caplog):
    (line,) = (
        record.getMessage()
        for record in caplog.records
        if record.name == 'senlin_affinity.operators' and 'does not fit' in record.getMessage()
    )
    return line


def test_only_operators_read_errors_of_the_snapshot(plain, monkeypatch, caplog):
    def broken(*_given, **_named):
        raise KeyError('cmp-01 of another project')

    monkeypatch.setattr(hosts, 'hypervisors', broken)
    data = grown(plain, 2, spread=[{'by': 'availability_zone', 'max_per_domain': 1}])
    assert (data['status'], data['status_reason']) == ('ERROR', disclosure.NOT_KNOWN)
    by_name = [(each.name, 'cmp-01' in (each.exc_text or '')) for each in caplog.records]
    assert ('senlin_affinity.operators', True) in by_name
    assert all(name == 'senlin_affinity.operators' for name, is_told in by_name if is_told)
    assert 'cmp-01' not in str(data)


@pytest.mark.parametrize('quota', [0, 3])
def test_an_administrator_without_quota_reads_which_one_is_exceeded(administrator, quota):
    administrator.edge.nova.limits['maxTotalInstances'] = quota
    reason = grown(administrator, 5)['reason']
    number = at_most(quota, 5)
    assert reason.startswith(f'does not fit: {number}; the project has 0 of {quota} instances')


def test_operators_read_the_number_of_rejecting_hosts(plain, caplog):
    with caplog.at_level(logging.INFO):
        owners = grown(plain, 60)['reason']
    assert owners.startswith('does not fit: at most 3 of 60; ')
    assert operators_read(caplog).endswith(
        f'{owners}; of the 3 host(s) that Placement offers: does not fit: 3 of 60 placed; '
        '0/3 hosts left: server_group.host_full on 3; candidates.not_offered on all other hosts '
        '(senlin-affinity plan explains them)'
    )


@pytest.mark.parametrize('mode', ['enforce', 'warn', 'off'])
def test_a_warning_of_the_preflight_is_an_event_for_the_owner(plain, monkeypatch, mode):
    """If nodes fail later, the events have the reason; in enforce mode, Senlin stores it."""
    record_events(monkeypatch)
    cluster, policy = plain.bound(
        spec(preflight=mode), plain.edge.nova.add_group('web', 'anti-affinity')
    )
    policy.pre_op(cluster.id, action := plain.action(cluster, SCALE_OUT, {'count': 60}))
    events = objects.Event.get_all(plain.context, filters={'oid': cluster.id})
    found = [each.status_reason for each in events]
    begins = 'the preflight expects nodes to fail, but the policy only warns: does not fit: '
    assert [each.startswith(f'{begins}at most 3 of 60; ') for each in found] == [True] * (
        mode == 'warn'
    )
    assert not any(word in each for each in found for word in ('cmp-', 'server_group.', '/'))
    assert action.data['status'] == ('ERROR' if mode == 'enforce' else 'NONE')


@pytest.mark.parametrize('plain', [MOST], indirect=True, ids=['most'])
def test_operators_read_that_the_rest_of_a_quota_fits(plain, caplog):
    plain.edge.nova.limits |= {'maxTotalInstances': 3, 'totalInstancesUsed': 1}
    with caplog.at_level(logging.INFO):
        owners = grown(plain, 5)['reason']
    assert operators_read(caplog).endswith(f'{owners}; the hosts accept what the quota allows')


def test_attach_does_not_use_the_operator_credentials(administrator):
    administrator.edge.fail('POST', '/auth/tokens', at_edge.UNAUTHORIZED, skip=1)
    attach = administrator.policy(spec(member_of=['hidden-agg'])).attach
    is_attached, why = attach(administrator.cluster())
    assert is_attached, why


def test_attach_names_no_hidden_aggregate(plain, monkeypatch):
    monkeypatch.setattr(NovaInventory, 'lets_choose_hosts', lambda _self: True)
    is_attached, why = plain.policy(spec(member_of=['hidden-ag'])).attach(plain.cluster())
    assert is_attached, why


def test_attach_suggests_a_visible_aggregate(administrator):
    attach = administrator.policy(spec(member_of=['hidden-ag'])).attach
    assert "the nearest are 'hidden-agg'" in refused(attach(administrator.cluster()))


def test_attach_logs_that_a_server_cannot_leave_its_zone(plain, caplog):
    with caplog.at_level(logging.INFO):
        policy = plain.policy(spec(spread=[{'by': 'availability_zone'}]))
        is_attached, why = policy.attach(plain.cluster())
    assert is_attached, why
    assert any('attach: ' in line and 'cannot leave the zone' in line for line in caplog.messages)


def at_attach(desk, monkeypatch, max_size=-1, **wanted):
    """Attach a policy like the engine does; return the cluster's events and its status reason."""
    cluster = desk.cluster(max_size=max_size)
    action = desk.action(cluster, 'CLUSTER_ATTACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, cluster.id, action.id)
    record_events(monkeypatch)
    is_attached, why = desk.policy(spec(**wanted)).attach(cluster)
    assert is_attached, why
    events = objects.Event.get_all(desk.context, filters={'oid': cluster.id})
    return [each.status_reason for each in events], cluster.status_reason


def test_the_owner_reads_that_the_cluster_cannot_reach_max_size(plain, monkeypatch, caplog):
    """In the text of a scale-out: 30 hosts, of which 3 have room."""
    events, _reason = at_attach(plain, monkeypatch, max_size=31)
    (said,) = events
    assert said.startswith(
        'the cluster cannot grow to its max_size of 31: does not fit: at most 3 of 31; a host '
        'may hold 1 of server group senlin-affinity-'
    )
    assert 'cmp-' not in said
    assert 'does not fit: 30 of 31 placed' in caplog.text
    # The capacity without the servers of other projects would reveal the number of hosts.
    assert at_attach(plain, monkeypatch, max_size=29)[0][0].startswith(said.split('31')[0] + '29')
    assert at_attach(plain, monkeypatch, max_size=3)[0] == []


def test_an_administrator_reads_that_the_cluster_cannot_reach_max_size(administrator, monkeypatch):
    (said,) = at_attach(administrator, monkeypatch, max_size=31)[0]
    assert 'max_size of 31: does not fit: at most 25 of 31; a host may hold 1' in said


def test_a_defect_of_the_owners_sentence_is_logged_and_fails_no_attach(plain, monkeypatch, caplog):
    monkeypatch.setattr(preflight.hook, 'place_nodes', lambda *_arguments: {}['odd'])
    assert at_attach(plain, monkeypatch, max_size=31)[0] == []
    (error,) = [each for each in caplog.records if each.levelname == 'ERROR']
    assert error.getMessage().endswith(': the preflight failed')
    assert 'does not fit: 30 of 31 placed' in caplog.text


@pytest.mark.parametrize(('wanted', 'is_told'), [({}, True), ({'preflight': 'off'}, False)])
def test_without_operator_credentials_the_owner_reads_that_nothing_is_checked(
    plain,
    configured,  # noqa: F811
    monkeypatch,
    wanted,
    is_told,
):
    configured(**dict.fromkeys(LOGIN))
    monkeypatch.setattr(clients, '_KEPT', clients._Kept())
    events, reason = at_attach(plain, monkeypatch, **wanted)
    assert events == [preflight.UNCHECKED] * is_told
    assert (reason == preflight.UNCHECKED) is is_told


def test_with_operator_credentials_there_is_no_event(plain, monkeypatch):
    assert at_attach(plain, monkeypatch) == ([], 'Initializing')
