"""A real Nova rejects exactly the moves for which there is an obstacle.

The rows with "decided" in tests/cases/moves.yaml name what decides instead.
"""

import pytest

from senlin_affinity import api
from senlin_affinity.model.request import DEFAULT_FILTERS, Settings
from senlin_affinity.nova import moves
from tests.accuracy.moving import move, rewrite, set_service
from tests.accuracy.servers import Nova
from tests.support.sandbox import SandboxCloud
from tests.support.tables import read, rows

ROWS = [row for row in rows('moves') if 'do' in row.values[0]]
TARGET, ELSEWHERE, UP = 'cmp-2', 'cmp-3', 'cmp-1'
#: A host each: after an evacuation, Nova does not let it be up again.
DOWN = {row['name']: f'down-{at}' for at, row in enumerate(read('moves')) if row.get('is_down')}
BODIES = {'error': ('os-resetState', {'state': 'error'}), 'migrate': ('migrate', None)}
ENDS = {'migrate': 'VERIFY_RESIZE', 'lock': 'ACTIVE'}
pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def cloud():
    hosts = {name: {} for name in (UP, TARGET, ELSEWHERE, *DOWN.values())}
    with SandboxCloud(hosts) as running:
        yield running


@pytest.fixture(scope='module')
def nova(cloud):
    return Nova(cloud.connection(), cloud.image_id)


def make(cloud, nova, row):
    """Create the server of a row; return its id and its host."""
    host = DOWN.get(row['name'], UP)
    flavor = nova.call('GET', '/flavors')['flavors'][0]['id']
    is_moved = 'migrate' in row['do']
    made, status = nova.boot(flavor, host=ELSEWHERE if is_moved else host)
    assert status == 'ACTIVE', nova.refusal
    wanted = row['server']['status']
    for step in row['do']:
        action, body = BODIES.get(step, (step, None))
        nova.act(made, action, {'host': host} if is_moved else body, '2.56')
        nova.ended(made, wanted)
    names = ('task', 'specs', 'image')
    rewrite(cloud.log_dir, made, **{name: row[name] for name in names if name in row})
    return made, host


@pytest.mark.long(every=3)
@pytest.mark.parametrize('row', ROWS)
def test_nova_rejects_exactly_the_moves_with_an_obstacle(cloud, nova, row):
    made, host = make(cloud, nova, row)
    if row.get('is_down'):
        set_service(nova, host, forced_down=True)
    try:
        view = api.fetch(cloud.connection(), servers_on=[host])
        found = [each for each in view.servers_by_host[host] if each.id == made]
        if row['code'] == 'move.no_host':
            assert found == []
        else:
            obstacle = moves.obstacle(found[0], row['kind'], view, Settings())
            assert (None if obstacle is None else obstacle.code) == row['code'], found[0]
        refusal = move(nova, made, row['kind'], TARGET)
        assert bool(refusal) == (row['code'] is not None), refusal
    finally:
        nova.delete([made])


def test_nova_scheduler_notices_an_evacuation():
    """The target of an evacuation reports the server: no periodic report is needed."""
    options = {'DEFAULT': {'scheduler_instance_sync_interval': -1}}
    filters = (*DEFAULT_FILTERS, 'SameHostFilter')
    hosts = {name: {} for name in (UP, TARGET, ELSEWHERE)}
    with SandboxCloud(hosts, filters=filters, nova_options=options) as cloud:
        nova = Nova(cloud.connection(), cloud.image_id)
        flavor = nova.call('GET', '/flavors')['flavors'][0]['id']
        first, _status = nova.boot(flavor, host=UP)
        second, status = nova.boot(flavor, host=UP, hints={'same_host': [first]})
        assert status == 'ACTIVE'
        set_service(nova, UP, forced_down=True)
        assert move(nova, first, moves.EVACUATE, TARGET) == ''
        assert move(nova, second, moves.EVACUATE, ELSEWHERE)
        assert move(nova, second, moves.EVACUATE, TARGET) == ''
