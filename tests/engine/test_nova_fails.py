"""Nova fails at every step, under the real Senlin: its message is the reason, and nothing is
leaked.

Each step is repeated without the fault, and must then succeed.
"""

import pytest

from senlin_affinity.sandbox.demo.stage import wait_for
from tests.support.cloud_fixtures import asked

GROUPS = '/os-server-groups$'
ONE_GROUP = '/os-server-groups/[^/]+$'
WORDS = 'The database took a nap.'
BODY = {'computeFault': {'code': 503, 'message': WORDS}}
PAGE = {'message': 'nothing here', 'code': '404 Not Found', 'title': 'Not Found'}
NOT_NOVAS = 'the 404 does not come from Nova itself (no itemNotFound): nothing here'
FORBIDDEN = {'forbidden': {'code': 403, 'message': 'Quota exceeded, too many server groups.'}}


@pytest.mark.parametrize(
    ('path', 'method', 'status', 'body', 'words'),
    [
        (GROUPS, 'GET', 503, BODY, 'Failed in retrieving servergroup'),
        ('/limits$', 'GET', 500, BODY, 'Failed in creating servergroup.'),
        (GROUPS, 'POST', 403, FORBIDDEN, 'Failed in creating servergroup.'),
        (GROUPS, 'POST', 503, BODY, 'Failed in creating servergroup.'),
    ],
    ids=['list', 'limits', 'create refused', 'create failed'],
)
def test_r3_27_attach_fails_with_novas_message(
    demo, truth, cloud, path, method, status, body, words
):
    cluster, policy = demo.cluster(), demo.policy()
    cloud.faults.add(path, method=method, status=status, body=body, times=None)
    reason = demo.attach(cluster, policy).failed()
    cloud.faults.clear()
    assert words in reason
    (message,) = (item['message'] for item in body.values())
    assert f'Nova answered {status}: {message}' in reason
    assert truth.own_group(cluster) is None
    demo.attach(cluster, policy).succeeded()
    assert truth.own_group(cluster).id == demo.group_id(cluster, policy)


@pytest.mark.parametrize(
    ('status', 'body', 'words'),
    [(503, BODY, f'Nova answered 503: {WORDS}'), (404, PAGE, NOT_NOVAS)],
    ids=['failed', 'a 404 of a proxy'],
)
def test_r3_17_detach_fails_with_novas_message(demo, truth, cloud, status, body, words):
    cluster, policy, group = demo.bound()
    for method in ('GET', 'DELETE'):
        cloud.faults.add(ONE_GROUP, method=method, status=status, body=body, times=None)
        reason = demo.detach(cluster, policy).failed()
        cloud.faults.clear()
        assert 'Failed in deleting servergroup.' in reason
        assert words in reason
        assert truth.group_by_id(group) is not None
        assert demo.group_id(cluster, policy) == group
    demo.detach(cluster, policy).succeeded()
    assert truth.group_by_id(group) is None


@pytest.mark.long
def test_hook_fails_with_novas_message_and_preserves_a_concurrent_cancel(
    admin, truth, cloud, drs_host
):
    """A hook that stored the whole action would undo the cancel, and the node would be created."""
    cluster, _policy, group = admin.bound(
        admin.policy(enable_drs_extension=True, availability_zone='vsphere', preflight='off')
    )
    for path in ('/os-services$', '/os-hypervisors/detail$'):
        cloud.faults.add(path, method='GET', status=503, body=BODY, times=None)
        reason = admin.scale_out(cluster).failed()
        cloud.faults.clear()
        assert 'Policy check failure: Failed policy' in reason
        assert f'Nova answered 503: {WORDS}' in reason
        assert admin.nodes(cluster) == []
    admin.scale_out(cluster).succeeded()
    assert truth.spread(group) == {drs_host: 1}
    cloud.clear_requests()
    cloud.faults.add('/os-services$', method='GET', status=None, times=1, is_held=True)
    running = admin.scale_out(cluster)
    wait_for('the hook', lambda: asked(cloud, 'os-services'))
    cancel = {'action': {'status': 'CANCELLED'}}
    answer = admin.clustering.patch(f'/actions/{running.id}', json=cancel, microversion='1.12')
    assert answer.status_code == 202, answer.text
    cloud.faults.clear()
    assert running.ended().status == 'CANCELLED'
    # The next test must not run at the same time.
    for node in admin.nodes(cluster):
        admin.node_is_done(node.id)
