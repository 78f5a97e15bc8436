"""What the owner of a cluster reads, and what operators do, where the cloud's eyes are not his."""

import logging

import pytest

from senlin_affinity.cloud import hosts
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.policy import trial
from tests.engine import support
from tests.engine.support import Desk, refused, spec
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
    """A plain user's desk, beside hosts that the cloud's eyes see."""
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
    """An administrator's desk, beside the cloud's eyes."""
    configured(**LOGIN)
    aggregates = (FakeAggregate('hidden-agg', ('cmp-00',)),)
    glance = FakeGlance(FakeImage('cirros'))
    with Edge(hosts=MOST, aggregates=aggregates, glance=glance, **SERVICES) as edge:
        yield Desk(edge)


def grown(desk, count, project=None, **wanted):
    """What a growth of a new cluster is told."""
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


def test_a_mistake_of_the_look_is_for_operators(plain, monkeypatch, caplog):
    def broken(*_given, **_named):
        raise KeyError('cmp-01 of another project')

    monkeypatch.setattr(hosts, 'hypervisors', broken)
    data = grown(plain, 2, spread=[{'by': 'availability_zone', 'max_per_domain': 1}])
    assert (data['status'], data['status_reason']) == ('ERROR', trial.NOT_KNOWN)
    by_name = [(each.name, 'cmp-01' in (each.exc_text or '')) for each in caplog.records]
    assert ('senlin_affinity.operators', True) in by_name
    assert all(name == 'senlin_affinity.operators' for name, is_told in by_name if is_told)
    assert 'cmp-01' not in str(data)


@pytest.mark.parametrize('quota', [0, 3])
def test_an_administrator_without_quota_reads_what_would_help(administrator, quota):
    administrator.edge.nova.limits['maxTotalInstances'] = quota
    reason = grown(administrator, 5)['reason']
    assert f'{quota} of 5 placed; {25 - quota}/30 hosts left' in reason
    assert reason.endswith('would help: quota instances: 5, instances of the user: 5 (capacity 5)')


def test_operators_read_of_how_many_hosts_a_no_is(plain, caplog):
    with caplog.at_level(logging.INFO):
        owners = grown(plain, 60)['reason']
    assert owners.startswith('does not fit: at most 3 of 60; ')
    assert operators_read(caplog).endswith(
        f'{owners}; of the 3 host(s) that Placement has for it: does not fit: 3 of 60 placed; '
        '0/3 hosts left: server_group.host_full on 3'
    )


def test_operators_read_that_no_host_was_looked_at(plain, caplog):
    plain.edge.nova.limits['maxTotalInstances'] = 0
    with caplog.at_level(logging.INFO):
        owners = grown(plain, 5)['reason']
    assert operators_read(caplog).endswith(f'{owners}; the hosts were not looked at')


@pytest.mark.parametrize('plain', [MOST], indirect=True, ids=['most'])
def test_operators_read_on_how_many_hosts_the_rest_of_a_quota_fits(plain, caplog):
    plain.edge.nova.limits |= {'maxTotalInstances': 3, 'totalInstancesUsed': 1}
    with caplog.at_level(logging.INFO):
        owners = grown(plain, 5)['reason']
    said = 'what the quota leaves fits, on 12 of the hosts that would do'
    assert operators_read(caplog).endswith(f'{owners}; {said}')


def test_attach_does_without_the_log_in_of_the_cloud(administrator):
    administrator.edge.fail('POST', '/auth/tokens', at_edge.UNAUTHORIZED, skip=1)
    attach = administrator.policy(spec(member_of=['hidden-agg'])).attach
    is_attached, why = attach(administrator.cluster())
    assert is_attached, why


def test_attach_names_no_aggregate_that_the_owner_may_not_see(plain, monkeypatch):
    monkeypatch.setattr(NovaInventory, 'lets_choose_hosts', lambda _self: True)
    is_attached, why = plain.policy(spec(member_of=['hidden-ag'])).attach(plain.cluster())
    assert is_attached, why


def test_attach_names_the_nearest_to_who_may_see_them(administrator):
    attach = administrator.policy(spec(member_of=['hidden-ag'])).attach
    assert "the nearest are 'hidden-agg'" in refused(attach(administrator.cluster()))


def test_attach_tells_what_a_zone_means(plain, caplog):
    with caplog.at_level(logging.INFO):
        policy = plain.policy(spec(spread=[{'by': 'availability_zone'}]))
        is_attached, why = policy.attach(plain.cluster())
    assert is_attached, why
    assert any('attach: ' in line and 'for life' in line for line in caplog.messages)
