"""Run the policy in a process like senlin-engine: patched by eventlet, with Senlin's own driver.

Each input line is JSON, ``["http://...", 1.0, "attach"]`` (the URL of Keystone, the timeout, the
step), and each output line is the result of the step. Every step runs in a fork of this process,
which is killed if it hangs: ``null``.
"""

# isort: off
import senlin.cmd  # noqa: F401 - patches the process, so it comes before everything else

# isort: on
import json
import os
import signal
import sys
import threading

import eventlet.patcher
from oslo_config import cfg
from senlin import objects
from senlin.common import exception as senlin_exception

from tests.engine.support import PROJECT, USER, Desk, binding, make_database, spec, use_service_user
from tests.support.edge import Edge

DRS = spec(enable_drs_extension=True, preflight='off')
#: Seconds after which a step hangs.
PATIENCE = 120


def serve() -> None:
    """Run one step after the other."""
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            signal.alarm(PATIENCE)
            carry_out(*json.loads(line))
            os._exit(0)
        if os.waitpid(pid, 0)[1]:
            say(None)


def say(answer: object) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(answer) + '\n')
    sys.stdout.flush()


def carry_out(auth_url: str, timeout: float, step: str) -> None:
    """Run the step, and print its result."""
    assert eventlet.patcher.is_monkey_patched('thread')
    assert threading.current_thread.__module__.startswith('eventlet')
    make_database()
    use_service_user(auth_url)
    cfg.CONF.set_override('request_timeout', timeout, group='affinity')
    desk = Desk(Edge())  # without a mocker, it does not respond
    trust = {'openstack': {'trust': 'of-the-owner'}}
    values = {'user': USER, 'project': PROJECT, 'cred': trust}
    objects.Credential.create(desk.context, values)
    say(STEPS[step](desk))


def policy_of(desk: Desk, wanted=None):
    """Return a policy that creates its own connection."""
    policy = desk.policy(wanted)
    policy._novaclient = None
    return policy


def connect(desk: Desk):
    """Connect with Senlin's driver, as before the policy has a connection."""
    return str(policy_of(desk).nova(USER, PROJECT).conn.session.timeout)


def attach(desk: Desk):
    """Attach twice with the same connection."""
    policy, cluster = policy_of(desk, spec()), desk.cluster()
    return [policy.attach(cluster), policy.attach(cluster)]


def detach(desk: Desk):
    """Detach a cluster whose group the policy created."""
    policy, cluster = policy_of(desk), desk.cluster()
    desk.bind(cluster, policy, binding('a-group', inherited=False))
    is_detached, why = policy.detach(cluster)
    assert not is_detached
    return why


def hook(desk: Desk):
    """Run the hook, which rejects the action, and return the reason."""
    policy, cluster = policy_of(desk, DRS), desk.cluster()
    desk.bind(cluster, policy, binding('a-group'))
    action = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': 1})
    policy.pre_op(cluster.id, action)
    assert desk.row(action).data == action.data
    assert (action.data['status'], 'placement' in action.data) == ('ERROR', False)
    return action.data['reason']


def validate(desk: Desk):
    """Return the error that a user gets for the spec."""
    try:
        policy_of(desk, spec(availability_zone='nova')).validate(desk.context, validate_props=True)
    except senlin_exception.InternalError as error:
        return str(error)


STEPS = {each.__name__: each for each in (connect, attach, detach, hook, validate)}

if __name__ == '__main__':
    serve()
