"""The number of the hook's requests does not grow with the cloud (3,000 hypervisors)."""

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
    """Disable objects of openstacksdk, of which a long list would take seconds."""

    def refuse(self, *_arguments, **_more):
        raise AssertionError(f'an object of openstacksdk was made: {type(self).__name__}')

    monkeypatch.setattr(openstack.resource.Resource, '__init__', refuse)


def run_hook(cloud, *, count, **wanted):
    """Run the hook for a group with two members, and return its result and Nova's requests."""
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
    requests = [each.replace(group, 'ID').replace(own, 'OWN') for each in nova.requests()]
    return outcome.answer, requests


@pytest.mark.parametrize('count', [1, 50])
def test_rx_02_the_preflight_sends_a_constant_number_of_requests(count):
    """The size of the responses is constant as well."""
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, requests = run_hook(cloud, count=count)

    assert len(answer.entries()) == count
    assert requests == [
        'GET /os-server-groups/ID',
        'GET /flavors/m1.tiny',  # the profile contains its name
        'GET /flavors/detail',
        LIMITS,
        'GET /os-quota-sets/OWN/detail',
    ]
    (candidates,) = cloud.placement.asked
    assert candidates.endswith(
        f'&limit={min(count, 20) + 10}'
    )  # 20 hosts suffice, and ten are spare
    assert cloud.bytes_sent < 100_000


def test_rx_02_pinning_sends_a_constant_number_of_requests():
    """Here, the first rows of the hypervisors are those of the first candidates."""
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, requests = run_hook(cloud, count=50, pin_hosts=True)

    assert len(answer.entries()) == 50
    assert Counter(requests) == {
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
