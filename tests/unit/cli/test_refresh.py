"""A refresher keeps the metrics of the last snapshot, whatever the cloud does."""

import logging
from collections import Counter
from dataclasses import replace

import pytest

from senlin_affinity.cli import refresh
from senlin_affinity.cli.refresh import Refresher, Wanted
from senlin_affinity.cloud import connection
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.preflight.question import Question
from tests.support.edge import FORBIDDEN, RESET, UNAUTHORIZED, UNAVAILABLE, Edge
from tests.support.fake_nova import FakeHost

CAPACITY = 'senlin_affinity_capacity_servers'
TAKEN = 'senlin_affinity_snapshot_timestamp_seconds'
UP = 'senlin_affinity_up'
HYPERVISORS = '/os-hypervisors/detail'


@pytest.fixture
def edge(monkeypatch):
    hosts = tuple(FakeHost(f'cmp-{n}', vcpus=8) for n in range(2))
    with Edge(hosts=hosts, services=('compute', 'placement'), flavors=(), aggregates=()) as edge:
        edge.nova.add_flavor('small', vcpus=1, ram=1024, disk=1)
        monkeypatch.setattr(connection, 'connect', lambda _cloud, _timeout: edge.connection())
        yield edge


@pytest.fixture
def refresher(edge):
    return Refresher('prod', Wanted(Question(0), refresh.ALL, load_constraints()), 300)


def samples(refresher, name):
    found = {each.name: each.samples for each in refresher.families}
    return {labels[1:]: value for labels, value in found[name].items()}


def warnings_of(caplog):
    """Return our own warnings; the command shows errors only of the libraries."""
    return [each.getMessage() for each in caplog.records if each.name == refresh.LOG.name]


def test_the_first_refresh_has_everything(refresher, edge):
    assert refresher.families == ()
    refresher.refresh()
    assert samples(refresher, CAPACITY) == {('small', 'nova'): 2 * 8 * 4}
    assert samples(refresher, UP) == {
        (service,): 1 for service in ('identity', 'compute', 'placement')
    }
    sent = samples(refresher, 'senlin_affinity_requests')
    assert sent['placement', '200'] >= len(edge.placement.asked) > 0
    assert samples(refresher, 'senlin_affinity_findings') == {('aggregates',): 0}


@pytest.mark.parametrize('failure', [UNAVAILABLE, RESET], ids=str)
def test_a_service_that_fails_leaves_the_last_numbers(refresher, edge, failure, caplog):
    refresher.refresh()
    before = samples(refresher, CAPACITY), samples(refresher, TAKEN)
    edge.fail('GET', HYPERVISORS, failure)
    refresher.refresh()
    assert (samples(refresher, CAPACITY), samples(refresher, TAKEN)) == before
    assert samples(refresher, UP) == {('identity',): 1, ('compute',): 0, ('placement',): 1}
    assert samples(refresher, 'senlin_affinity_refreshes') == {('success',): 1, ('failure',): 1}
    (line,) = warnings_of(caplog)
    assert line.startswith('cloud prod: error: could not list the hypervisors: ')
    edge.mend()
    refresher.refresh()
    assert set(samples(refresher, UP).values()) == {1}


def test_an_expired_token_is_renewed(refresher, edge, caplog):
    refresher.refresh()
    tokens = edge.tokens
    edge.fail('GET', HYPERVISORS, UNAUTHORIZED, times=1)
    refresher.refresh()
    assert edge.tokens == tokens + 1
    assert samples(refresher, 'senlin_affinity_refreshes') == {('success',): 2, ('failure',): 0}
    assert set(samples(refresher, UP).values()) == {1}
    assert warnings_of(caplog) == []


def test_credentials_that_are_rejected_are_one_line(refresher, edge, caplog):
    """Afterwards, the connection is made anew, with the credentials that clouds.yaml then has."""
    edge.fail('POST', '/auth/tokens', UNAUTHORIZED)
    refresher.refresh()
    assert set(samples(refresher, UP).values()) == {0}
    (line,) = warnings_of(caplog)
    assert line.startswith('cloud prod: error: could not log in at ')
    edge.mend()
    refresher.refresh()
    assert set(samples(refresher, UP).values()) == {1}


def test_hidden_hosts_are_a_failure(refresher, edge, caplog):
    edge.fail('GET', HYPERVISORS, FORBIDDEN)
    refresher.refresh()
    assert CAPACITY not in {each.name for each in refresher.families}
    assert 'the hosts are not known: could not list the hypervisors: Nova answered 403' in (
        caplog.text
    )


def test_a_hidden_placement_is_one_line(refresher, edge, caplog):
    edge.fail('GET', '/resource_providers', FORBIDDEN)
    edge.fail('GET', '/allocation_candidates', FORBIDDEN)
    refresher.refresh()
    assert samples(refresher, CAPACITY) == {}
    assert any(line.startswith('cloud prod: resources: ') for line in warnings_of(caplog))


def test_checks_that_fail_keep_their_last_result(refresher, monkeypatch, caplog):
    """The capacity is new nevertheless."""
    refresher.refresh()
    refresher._next_checks = 0
    monkeypatch.setattr(refresh, 'checks', lambda *_: 1 / 0)
    refresher.refresh()
    assert samples(refresher, 'senlin_affinity_findings') == {('aggregates',): 0}
    assert samples(refresher, 'senlin_affinity_refreshes') == {('success',): 2, ('failure',): 0}
    assert 'unexpected error: ZeroDivisionError' in caplog.text


def test_checks_run_once_an_hour(refresher, edge):
    edge.nova.add_aggregate('ssd', ['cmp-0'])
    refresher.refresh()
    before = len(edge.placement.asked)
    refresher.refresh()
    assert not [each for each in edge.placement.asked[before:] if 'member_of' in each]


def test_a_cloud_without_flavors_has_hosts(refresher, edge):
    edge.nova.flavors.clear()
    refresher.refresh()
    assert samples(refresher, 'senlin_affinity_hosts')['nova', 'up'] == 2


def test_a_defect_does_not_end_the_thread(refresher, monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(refresh, 'families', lambda *_: 1 / 0)
    refresher.refresh()
    assert 'unexpected error: ZeroDivisionError' in caplog.text


@pytest.mark.parametrize(
    ('interval', 'seconds', 'least', 'most'),
    [(300, 10, 260, 320), (300, 60, 540, 540), (1, 0, 0.9, 1.1)],
)
def test_refreshes_take_at_most_a_tenth_of_the_time(interval, seconds, least, most):
    found = [refresh.pause(interval, seconds) for _ in range(100)]
    assert least <= min(found) <= max(found) <= most
    assert len(set(found)) > 1 or least == most


RESILIENCE, SERVERS = 'senlin_affinity_resilience', '/servers/detail'


@pytest.fixture
def losing():
    """Also judges the loss of each zone and of each host."""
    return Wanted(Question(0), refresh.ALL, load_constraints(), resilience='zone')


def test_the_loss_of_hosts_is_judged_with_one_more_listing(edge, losing):
    plain, judging = (
        Refresher('prod', each, 300) for each in (replace(losing, resilience=None), losing)
    )
    asked = []
    for each in (plain, judging):
        before = len(edge.nova.asked)
        each.refresh()
        asked.append([request.path for request in edge.nova.asked[before:]])
    assert RESILIENCE not in {each.name for each in plain.families}
    hosts = samples(judging, 'senlin_affinity_resilience_hosts')
    assert {key: number for key, number in hosts.items() if number} == {('nova', 'any_host'): 2}
    assert samples(judging, RESILIENCE) == {('zone', 'nova'): 1}
    more = Counter(asked[1]) - Counter(asked[0])
    assert [*more] == [SERVERS]


def test_servers_that_cannot_be_read_cost_only_the_metrics_of_losses(edge, losing, caplog):
    refresher = Refresher('prod', losing, 300)
    edge.fail('GET', SERVERS, FORBIDDEN, times=None)
    refresher.refresh()
    assert samples(refresher, CAPACITY)
    assert RESILIENCE not in {each.name for each in refresher.families}
    assert any('resilience: ' in each for each in warnings_of(caplog))
