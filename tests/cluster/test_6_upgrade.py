"""A rolling upgrade from 0.9.1 with live clusters, and the roll-back of the manual."""

import pytest

from tests.cluster import audit
from tests.cluster.conftest import at_once, status
from tests.cluster.settings import CONDUCTORS, ENGINES, HOSTS
from tests.cluster.stack import DIRECTORY, ROOT
from tests.support.waiting import until

OLD = ROOT / 'tests/upgrade/0.9.1/senlin_affinity-0.9.1-py3-none-any.whl'
RULES = {'max_server_per_host': 4}
OWNERS = 'SELECT DISTINCT s.host FROM action a JOIN service s ON s.id = a.owner'
SAVE = f'openstack cluster policy show {{}} -c spec -f value >{DIRECTORY}/lib/spec.yaml'


def install(stack, wheel, *hosts):
    """Install a wheel as the manual says; running daemons keep the one that they have loaded."""
    words = ('pip', 'install', '--break-system-packages', '--no-deps', wheel)
    at_once(lambda host: stack.run(*words, host=host), hosts)


@pytest.fixture
def new(stack):
    """Return the wheel of the checkout, and install it again at the end."""
    (wheel,) = (stack.source / 'dist').glob('*.whl')
    yield wheel
    install(stack, wheel, *HOSTS)
    stack.restart(*CONDUCTORS, *ENGINES)


def test_clusters_survive_an_upgrade_and_a_roll_back(demo, new, stack, truth):
    install(stack, OLD, *HOSTS)
    stack.restart(*CONDUCTORS, *ENGINES)
    policy = demo.policy(servergroup={'rules': RULES})
    bound = at_once(lambda _: demo.bound(policy), range(4))

    def grow():
        """Grow all clusters at once; check that all engines take part."""
        before = [len(truth.members(group)) for *_ids, group in bound]
        actions, hosts = [demo.scale_out(cluster, 1) for cluster, *_ids in bound], set()
        until(lambda: hosts.update(*stack.sql(OWNERS)) or not stack.sql(audit.UNFINISHED), 300)
        at_once(lambda action: action.succeeded(), actions)
        assert hosts == {*ENGINES}
        assert [len(truth.members(group)) - 1 for *_ids, group in bound] == before

    def replace():
        """Attach the policy to a new cluster, and detach it from the oldest one."""
        bound.append(demo.bound(policy))
        cluster, _policy, group = bound.pop(0)
        demo.detach(cluster, policy).succeeded()
        assert truth.group_by_id(group) is None

    grow()
    install(stack, new, *HOSTS)
    for engine in ENGINES:
        stack.restart(engine)
        grow()
        replace()
    stack.restart(*CONDUCTORS)
    assert {row['State'] for row in status(stack) if row['Check'] == 'engines'} == {'ok'}
    spread = demo.policy(servergroup={'rules': RULES}, spread=[{'by': 'availability_zone'}])
    bound.append(demo.bound(spread))
    grow()
    install(stack, OLD, *HOSTS)
    for each in (policy, spread):
        stack.run('sh', '-c', SAVE.format(each), environment=stack.credentials('demo'))
        stack.run('senlin-affinity', 'policy', 'validate', DIRECTORY / 'lib/spec.yaml')
    stack.restart(*CONDUCTORS, *ENGINES)
    grow()
    replace()
    replace()
