"""Terraform plans are judged, and their servers then created, in a real Nova.

A plan that fits is created in its order, each server with the filters of the scheduler on its
planned host, and without a host if it fits whichever hosts Nova picks. Of a plan that does not fit,
a server fails.
"""

import itertools

import pytest

from senlin_affinity import api
from senlin_affinity.preflight import stack_file
from tests.support.sandbox import SandboxCloud
from tests.support.terraform import FLAVORS, HOSTS, PLANS
from tests.support.waiting import until

#: One for each kind of answer; the others are long.
FEW = ('a group for each key', 'modules', 'exactly full', 'a new flavor', 'together, too many')
VERSION = '2.79'
#: A busy machine builds a server in this number of seconds.
LONG = 120


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS, flavors=FLAVORS) as running:
        yield running


class Creation:
    """The servers, groups and flavors of a workload, in the sandbox."""

    def __init__(self, cloud):
        self.compute, self.image = cloud.connection().compute, cloud.image_id
        self.servers, self.groups, self.flavors = [], {}, {}

    def server(self, question, host=None):
        """Create a server of a request, and return its status."""
        hints = {**question.scheduler_hints}
        if question.server_group is not None:
            hints['group'] = self.group(question.server_group)
        body = {
            'name': question.name,
            'flavorRef': self.flavor(question.flavor),
            'imageRef': self.image,
            'networks': 'none',
        }
        body |= {} if host is None else {'host': host}
        if question.availability_zone is not None:
            body['availability_zone'] = question.availability_zone
        given = {'server': body, 'os:scheduler_hints': hints}
        answer = self.compute.post('/servers', json=given, microversion=VERSION)
        assert answer.status_code == 202, answer.text
        server = answer.json()['server']['id']
        self.servers.append(server)
        until(lambda: self.status(server) != 'BUILD', what='the server is built', seconds=LONG)
        return self.status(server)

    def status(self, server):
        return self.compute.get_server(server).status

    def group(self, group):
        if group.id not in self.groups:
            made = self.compute.create_server_group(
                name=group.name, policy=group.policy, rules={**group.rules}
            )
            self.groups[group.id] = made.id
        return self.groups[group.id]

    def flavor(self, flavor):
        if isinstance(flavor, str):
            return self.compute.find_flavor(flavor).id
        if flavor.id not in self.flavors:
            made = self.compute.create_flavor(
                name=flavor.name, ram=flavor.ram, vcpus=flavor.vcpus, disk=flavor.disk
            )
            self.flavors[flavor.id] = made.id
        return self.flavors[flavor.id]

    def delete(self):
        """Delete everything, and wait until nothing is left."""
        for server in self.servers:
            self.compute.delete_server(server)
        until(lambda: not [*self.compute.servers()], what='they are deleted', seconds=LONG)
        for group in self.groups.values():
            self.compute.delete_server_group(group)
        for flavor in self.flavors.values():
            self.compute.delete_flavor(flavor)


@pytest.mark.parametrize(
    'name',
    [each if each in FEW else pytest.param(each, marks=pytest.mark.nightly) for each in PLANS],
)
def test_a_plan_is_judged_and_created(cloud, name):
    document, fits = PLANS[name]
    workload = stack_file.read(document, {})
    assert workload.not_read == ()
    view = api.fetch(cloud.connection(), workload)
    plan = api.plan_workload(workload, view)
    assert plan.fits is fits, plan.line()
    questions = {each.name: each for each in workload.questions}
    planned = {each.name: each.decision.placements for each in plan.requests}
    one_by_one = [(questions[each], placed.host) for each in plan.order for placed in planned[each]]
    if not fits:
        wanted = itertools.chain.from_iterable([each] * each.count for each in questions.values())
        one_by_one = [(each, None) for each in wanted]
    attempts = [one_by_one]
    if plan.is_any_host:
        attempts.append([(question, None) for question, _host in one_by_one])
    for attempt in attempts:
        creation = Creation(cloud)
        try:
            found = [creation.server(question, host) for question, host in attempt]
        finally:
            creation.delete()
        assert (set(found) == {'ACTIVE'}) is fits, (plan.line(), found)
