"""Heat templates are judged with ``plan FILE``, and their stacks then created in the real Heat.

Heat creates servers at the same time: what fits must fit whichever hosts Nova picks.
"""

import pytest
import yaml

from tests.cluster.conftest import answer
from tests.cluster.settings import COMPUTES
from tests.support.waiting import until

ALL = len(COMPUTES)
#: The second one is of a server that lost a race for the last place of a group.
FULL = ('No valid host', 'Exhausted all hosts')
GROUP, AUTOSCALING = ('ResourceGroup', 'resource_def'), ('AutoScalingGroup', 'resource')


def server(**properties):
    """Return a server without networks, whose user data do not need Heat's tools."""
    fixed = {
        'image': 'cirros',
        'networks': [{'allocate_network': 'none'}],
        'user_data_format': 'RAW',
    }
    return {
        'type': 'OS::Nova::Server',
        'properties': {'flavor': 'm1.tiny', **fixed, **properties},
    }


def together(group):
    """Return the property of a server in a group of the template."""
    return {'scheduler_hints': {'group': {'get_resource': group}}}


def servers(kind, member, **properties):
    """Return a group of equal servers."""
    name, inner = kind
    return {'type': f'OS::Heat::{name}', 'properties': {**properties, inner: member}}


def server_group(policy, **properties):
    """Return a server group."""
    return {'type': 'OS::Nova::ServerGroup', 'properties': {'policies': [policy], **properties}}


def one_on_each_host(number):
    """Return a resource group whose servers are kept apart."""
    web = servers(GROUP, server(**together('apart')), count=number)
    return {'apart': server_group('anti-affinity'), 'web': web}


def two_on_each_host(number):
    """Return an autoscaling group of this size, with at most two servers on a host."""
    size = {'min_size': 1, 'desired_capacity': number, 'max_size': 2 * number}
    return {
        'apart': server_group('anti-affinity', rules={'max_server_per_host': 2}),
        'web': servers(AUTOSCALING, server(**together('apart')), **size),
    }


def with_own_flavor(number):
    """Return servers of a new flavor, which is as large as a host of Nova's fake driver."""
    flavor = {'type': 'OS::Nova::Flavor', 'properties': {'vcpus': 1, 'ram': 800_000, 'disk': 1}}
    web = servers(GROUP, server(flavor={'get_resource': 'large'}), count=number)
    return {'large': flavor, 'web': web}


def in_two_resources(number):
    """Return a server, and afterwards an autoscaling group of this size, in one group."""
    size = {'min_size': number, 'max_size': ALL}
    web = servers(AUTOSCALING, server(**together('apart')), **size)
    return {
        'apart': server_group('anti-affinity'),
        'db': server(**together('apart')),
        'web': {**web, 'depends_on': 'db'},
    }


def in_zones(number, at):
    """Return servers that are kept apart, in a zone of the parameter."""
    member = server(availability_zone={'get_param': ['zones', at]}, **together('apart'))
    web = servers(GROUP, member, count=number)
    return {'apart': server_group('anti-affinity'), 'web': web}


@pytest.mark.parametrize(
    ('resources', 'fits'),
    [
        pytest.param(one_on_each_host(ALL), True, id='a server on each host'),
        pytest.param(one_on_each_host(ALL + 1), False, id='more servers than hosts'),
        pytest.param(two_on_each_host(2 * ALL), True, id='two servers on each host'),
        pytest.param(two_on_each_host(2 * ALL + 1), False, id='more than two on each host'),
        pytest.param(with_own_flavor(ALL), True, id='as many large servers as hosts'),
        pytest.param(with_own_flavor(ALL + 1), False, id='one large server too many'),
        pytest.param(in_two_resources(ALL - 1), True, id='two resources in a group'),
        pytest.param(in_two_resources(ALL), False, id='two resources, too large'),
        pytest.param(in_zones(1, 1), True, id='a server in a zone'),
        pytest.param(in_zones(2, 1), False, id='two servers in a zone with one host'),
        pytest.param(in_zones(3, '%index%'), True, id='the index in a function is no index'),
    ],
)
def test_a_template_is_judged_and_created(resources, fits, stack, tmp_path):
    document = {
        'heat_template_version': '2018-08-31',
        'parameters': {'zones': {'type': 'comma_delimited_list', 'default': 'az1,az2'}},
        'resources': resources,
    }
    file = tmp_path / 'template.yaml'
    file.write_text(yaml.safe_dump(document))
    plan = answer(stack, 'plan', file)
    assert (plan['not_read'], plan['fits']) == ([], fits), plan['line']
    assert plan['fits_on_any_host'] is fits, plan['line']
    status, reason = created(stack, document)
    assert status == ('CREATE_COMPLETE' if fits else 'CREATE_FAILED'), reason
    assert fits or any(each in reason for each in FULL), reason


def created(stack, document):
    """Create a stack, delete it, and return its status and the reason."""
    heat = stack.connection('admin').orchestration
    made = heat.create_stack(name='judged', template=document)
    try:
        until(lambda: not heat.get_stack(made.id).status.endswith('IN_PROGRESS'), 300, 'the stack')
        ended = heat.get_stack(made.id)
        return ended.status, ended.status_reason
    finally:
        heat.delete_stack(made.id)
        until(lambda: not [*heat.stacks()], 120, 'the end of the stack')
