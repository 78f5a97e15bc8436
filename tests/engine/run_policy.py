"""Print the modules of the package that the policy imports after it was loaded.

This process loads the policy like Senlin does, attaches it to clusters, and runs the hook:
accepted, rejected, with pinned hosts, with a spread and with DRS hosts. Imports of the tests'
support count as well, so that it cannot hide an import.
"""

import sys

import senlin.engine.service  # noqa: F401 - the engine imports it before any policy

import senlin_affinity.plugins.senlin.policy  # noqa: F401


def _loaded():
    return {name for name in sys.modules if name.partition('.')[0] == 'senlin_affinity'}


BY_POLICY = _loaded()

from senlin.common import consts  # noqa: E402

from tests.engine import support  # noqa: E402
from tests.support.edge import Edge  # noqa: E402
from tests.support.fake_glance import FakeGlance, FakeImage  # noqa: E402
from tests.support.fake_nova import FakeHost  # noqa: E402

HOSTS = (
    FakeHost('cmp-1'),
    FakeHost('cmp-2'),
    FakeHost('drs-1'),
)
SPREAD = [{'by': 'availability_zone', 'max_skew': 1, 'mode': 'hard'}]
LIFE = (
    (support.spec('1.0', servergroup={'policies': 'affinity'}), 1, 'NONE'),
    (support.spec(servergroup={'policies': 'anti-affinity'}), 1, 'NONE'),
    (support.spec(servergroup={'policies': 'anti-affinity'}), 9, 'ERROR'),
    (support.spec(pin_hosts=True, extra_specs='strict'), 1, 'NONE'),
    (support.spec(spread=SPREAD), 1, 'NONE'),
    (support.spec('1.0', enable_drs_extension=True), 1, 'NONE'),
)


def _live(desk, spec, count):
    """Attach, scale out and detach; return the data of the action."""
    cluster, policy = desk.cluster(), desk.policy(spec)
    binding = support.done(policy.attach(cluster))
    desk.bind(cluster, policy, binding)
    action = desk.action(cluster, consts.CLUSTER_SCALE_OUT, {'count': count})
    policy.pre_op(cluster.id, action)
    support.done(policy.detach(cluster))
    return action.data


if __name__ == '__main__':
    support.make_database()
    images = FakeGlance(FakeImage('cirros'))
    with Edge(hosts=HOSTS, services=('compute', 'placement'), glance=images) as edge:
        edge.nova.limits['maxServerGroupMembers'] = 10
        for spec, count, status in LIFE:
            data = _live(support.Desk(edge), spec, count)
            assert data['status'] == status, data

    sys.stdout.write(' '.join(sorted(_loaded() - BY_POLICY)))
