"""Clusters grow and shrink while a service restarts, or an engine dies."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from senlin_affinity.sandbox.demo.stage import ENDED
from tests.cluster.conftest import at_once, release
from tests.support.waiting import until

GROUP = {'servergroup': {'rules': {'max_server_per_host': 2}}}
LIFE = (('scale_out', 2), ('scale_in', 1), ('scale_out', 1))


def live(each):
    """Send the remaining requests to a cluster up to one that fails, and return why it failed."""
    user, cluster, remaining = each
    try:
        while remaining:
            what, count = remaining[0]
            action = user.act(cluster, what, count=count)
            until(lambda action=action: action.read()['status'] in ENDED, 120, action.id)
            action.succeeded()
            del remaining[0]
    except Exception as error:  # noqa: BLE001 - a service that restarts fails in many ways
        return f'{what} of {cluster}: {error!r}'[:400]
    return None


@pytest.mark.parametrize(
    ('number', 'daemon', 'port'),
    [
        (6, 'rabbitmq', 'amqp'),
        (6, 'mysql', 'mysql'),
        (6, 'keystone', 'keystone'),
        (20, 'engine-2', ''),
    ],
)
def test_clusters_grow_and_shrink(number, daemon, port, demo, admin, stack):
    owners = [demo, admin] * (number // 2)
    lives = at_once(lambda user: (user, user.bound(user.policy(**GROUP))[0], [*LIFE]), owners)
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(live, each) for each in lives]
        until(lambda: sum(len(each[-1]) for each in lives) <= 2 * number, 300, 'a third')
        if port:
            stack.restart(daemon)
            until(lambda: stack.answers(port), 90, daemon)
        else:
            stack.kill(daemon)
            stack.start(daemon)
    failed = [why for each in running if (why := each.result())]
    print('\nfailed:', *failed, sep='\n  ')
    release(stack)
    assert [why for why in at_once(live, lives) if why] == []
