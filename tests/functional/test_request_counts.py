"""Check that the requests of the hook do not grow with the cloud (3,000 hypervisors)."""

from collections import Counter

import openstack.resource
import pytest

from senlin_affinity.cloud import clients
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.plugins.senlin import preflight
from senlin_affinity.policy import properties
from senlin_affinity.policy.binding import Binding
from senlin_affinity.preflight import hook
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova

HYPERVISORS = 3_000
LIMITS = 'GET /limits'


def many_hosts():
    return tuple(FakeHost(f'cmp-{number}') for number in range(HYPERVISORS))


@pytest.fixture(autouse=True)
def no_sdk_objects(monkeypatch):
    """Long lists are raw JSON: one object for each row would take seconds."""

    def refuse(self, *_arguments, **_more):
        raise AssertionError(f'an object of openstacksdk was made: {type(self).__name__}')

    monkeypatch.setattr(openstack.resource.Resource, '__init__', refuse)


def hooked(cloud, *, count, **wanted):
    """The hook with the preflight, of a group with two members; which requests were the cloud's."""
    nova = cloud.nova
    group = nova.add_group('web', 'soft-anti-affinity', project_id='p')
    for _ in range(2):
        nova.boot(group, nova.hosts[0].host, project='p')
    connection = cloud.connection()
    policy = {'type': properties.TYPE, 'version': '1.1', 'properties': wanted}
    profile = {'properties': {'flavor': 'm1.tiny'}}
    own = connection.session.get_project_id()
    question = Question(count, server_group=group, policy=policy, profile=profile, project_id=own)
    bound = Binding(group, is_inherited=True)
    scale_request = ScaleRequest(question, bound, load_constraints())
    view = preflight.fetch(scale_request, lambda: clients.of(connection))
    outcome = hook.decide(scale_request, view)
    assert outcome.warning is None
    asked = [each.replace(group, 'ID').replace(own, 'OWN') for each in nova.requests()]
    return outcome.answer, asked


@pytest.mark.parametrize('count', [1, 50])
def test_rx_02_the_preflight_asks_a_constant_number(count):
    """A few, and small ones: what is answered does not grow with the cloud."""
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, asked = hooked(cloud, count=count)

    assert len(answer.entries()) == count
    assert asked == [
        'GET /os-server-groups/ID',
        'GET /flavors/m1.tiny',  # it is called by its name
        'GET /flavors/detail',
        LIMITS,
        'GET /os-quota-sets/OWN/detail',
    ]
    (candidates,) = cloud.placement.asked
    assert candidates.endswith(f'&limit={min(count, 20) + 10}')  # 20 hosts do, and ten more
    assert cloud.bytes_sent < 100_000


def test_rx_02_who_chooses_hosts_asks_a_constant_number():
    """The first rows of the hypervisors are those of the first candidates here."""
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, asked = hooked(cloud, count=50, pin_hosts=True)

    assert len(answer.entries()) == 50
    assert Counter(asked) == {
        'GET /os-server-groups/ID': 1,
        'GET /flavors/m1.tiny': 1,
        'GET /flavors/detail': 1,
        'GET /os-hypervisors/detail': 1,
        'GET /os-aggregates': 1,
        'GET /os-services': 1,
        'GET /servers/detail': 1,
        LIMITS: 1,
        'GET /os-quota-sets/OWN/detail': 1,
    }
    (candidates,) = cloud.placement.asked
    assert candidates.endswith('&limit=51')
