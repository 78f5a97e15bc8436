"""The texts for an owner of a cluster who may not list the hosts, and those for operators."""

import json
import logging

import pytest
from senlin import objects
from senlin.common import consts

from senlin_affinity import engine
from senlin_affinity.answers import disclosure
from senlin_affinity.cloud import fetch as cloud_fetch
from senlin_affinity.model.errors import ConstraintError, PluginError
from senlin_affinity.plugins.senlin import preflight
from tests.engine.support import PROJECT, USER, Desk, spec
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost
from tests.support.values import replace

OUT, CREATE = consts.CLUSTER_SCALE_OUT, consts.NODE_CREATE
OPERATORS = 'senlin_affinity.operators'
SECRETS = ('cmp-', 'win-1', 'hosts left', 'hidden-agg', 'more host', 'Nova answered')


HOSTS = (FakeHost('cmp-1'), FakeHost('cmp-2'))


@pytest.fixture
def desk(_database, monkeypatch):
    """Return a desk whose owner may not list the hosts."""
    fetch = cloud_fetch.fetch

    def hidden(*arguments, **more):
        return replace(fetch(*arguments, **more), owner_sees_hosts=False)

    monkeypatch.setattr(cloud_fetch, 'fetch', hidden)
    aggregates = (FakeAggregate('hidden-agg', ('cmp-1',)),)
    services = ('compute', 'placement')
    images = FakeGlance(FakeImage('cirros'))
    with Edge(hosts=HOSTS, aggregates=aggregates, services=services, glance=images) as edge:
        edge.nova.limits['maxServerGroupMembers'] = 10
        yield Desk(edge)


class Read:
    """An action after the hook: its data, the texts for its owner, and those for operators."""

    def __init__(self, desk, caplog, wanted, action=OUT, count=5, size=0):
        group = desk.edge.nova.add_group('web', 'anti-affinity', project_id=PROJECT)
        for host in HOSTS if action == CREATE else ():
            desk.edge.nova.boot(group, host.host, project=PROJECT, user=USER)
        made, policy = desk.bound(wanted, group)
        running = desk.action(
            desk.node(made) if action == CREATE else made, action, {'count': count}
        )
        with caplog.at_level(logging.DEBUG):
            policy.pre_op(made.id, running)
        row, cluster = desk.row(running), objects.Cluster.get(desk.context, made.id)
        nodes = objects.Node.get_all_by_cluster(desk.context, made.id)
        shown = [row.data, row.outputs, row.status_reason, cluster.data, cluster.status_reason]
        shown += [(each.data, each.status_reason) for each in nodes]
        self.data = row.data
        self.log = [*_lines(caplog, lambda name: name != OPERATORS)]
        self.all = '\n'.join((json.dumps(shown), *self.log))
        self.operators = '\n'.join(_lines(caplog, lambda name: name == OPERATORS))


def _lines(caplog, is_read):
    for record in caplog.records:
        if record.name.startswith('senlin') and is_read(record.name):
            yield f'{record.levelname} {caplog.handler.format(record)}'


SAID = 'does not fit: none of 1; a host may hold 1 of server group web; would help: '


@pytest.mark.parametrize(
    ('action', 'said'), [(OUT, SAID.replace('none of 1', 'at most 2 of 5')), (CREATE, SAID)]
)
def test_the_owner_reads_the_refusal_and_operators_the_whole_line(desk, caplog, action, said):
    read = Read(desk, caplog, spec(availability_zone='nova'), action)
    assert read.data['reason'].startswith(said)
    assert read.data['reason'] == read.data['status_reason']
    (line,) = (line for line in read.log if line.startswith('INFO') and ' cluster ' in line)
    assert f'{action}: rejects: {said}' in line
    assert [secret for secret in SECRETS if secret in read.all] == []
    assert 'INFO ' in read.operators
    assert '0/2 hosts left: server_group.host_full on 2; would help: ' in read.operators


def test_only_operators_read_warnings(desk, caplog):
    read = Read(desk, caplog, spec(preflight='warn'))
    assert read.data['status'] == 'NONE'
    assert [secret for secret in SECRETS if secret in read.all] == []
    assert 'does not fit: 2 of 5 placed; 0/2 hosts left' in read.operators


def test_only_operators_read_errors_with_host_names(desk, caplog, monkeypatch):
    """Also if a host must be chosen, so that the action is rejected."""

    def mistaken(*_arguments):
        raise ConstraintError('odd', 'check', "KeyError: 'win-1'", 'host cmp-1')

    monkeypatch.setattr(engine, 'plan', mistaken)
    for wanted, status in ((spec(), 'NONE'), (spec(pin_hosts=True), 'ERROR')):
        caplog.clear()
        read = Read(desk, caplog, wanted)
        assert read.data['status'] == status
        assert [secret for secret in SECRETS if secret in read.all] == []
        assert "KeyError: 'win-1'" in read.operators
    assert read.data['reason'] == disclosure.NOT_KNOWN


@pytest.mark.parametrize(('mode', 'status'), [('enforce', 'ERROR'), ('warn', 'NONE')])
def test_a_constraint_that_does_not_load_fails_closed(desk, caplog, monkeypatch, mode, status):
    """Its owner does not read why: the text is about the operator's machine."""

    def broken():
        raise PluginError('constraint cmp-1 does not load')

    monkeypatch.setattr(preflight, 'load_constraints', broken)
    read = Read(desk, caplog, spec(preflight=mode))
    assert read.data['status'] == status
    assert [secret for secret in SECRETS if secret in read.all] == []
    assert 'constraint cmp-1 does not load' in read.operators


# -- the operators' limit of a spec's preflight

CEILINGS = [
    ('enforce', 'enforce', 'ERROR', True),
    ('enforce', 'warn', 'NONE', True),
    ('warn', 'enforce', 'NONE', True),
    ('off', 'enforce', 'NONE', False),
    ('warn', 'off', 'NONE', False),
]


@pytest.mark.parametrize(('ceiling', 'asked', 'status', 'is_asked'), CEILINGS)
def test_a_spec_may_be_stricter_than_the_option_but_not_weaker(
    desk, caplog, option, ceiling, asked, status, is_asked
):
    option('preflight', ceiling)
    read = Read(desk, caplog, spec(preflight=asked))
    assert read.data['status'] == status
    is_seen = any('hypervisors' in asked for asked in desk.edge.nova.requests())
    assert is_seen == is_asked
    assert bool(read.operators) == is_asked


def test_the_cloud_is_read_nevertheless_if_a_host_must_be_chosen(desk, caplog, option):
    option('preflight', 'off')
    read = Read(desk, caplog, spec(pin_hosts=True), count=2)
    zones = [entry['zone'] for entry in read.data['placement']['placements']]
    assert zones == ['nova:cmp-1', 'nova:cmp-2']
