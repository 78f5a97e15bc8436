"""Limit what five scale-outs cost, and how many modules run, or are loaded by a plugin for Nova.

A limit rises only for a reason that the message of the commit gives.
"""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import tomllib

from senlin_affinity.engine import evaluation
from senlin_affinity.model.request import Request
from tests.engine import support
from tests.engine.test_plugin_cloud import LOGIN, configured, kept  # noqa: F401
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost

ROOT = Path(__file__).parents[2]
TOOLS = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['tool']
LAYERS = next(each['layers'] for each in TOOLS['importlinter']['contracts'] if 'layers' in each)
#: Greater for a higher package.
HEIGHTS = {
    name.strip(' ()'): -place for place, line in enumerate(LAYERS) for name in line.split('|')
}
HOSTS = tuple(FakeHost(f'cmp-{number:02}') for number in range(20))
#: The implementation of the port through which the decisions fetch.
PORT = 'senlin_affinity.cloud.fetch.'
#: The base class of the constraints, in a lower package, calls their methods.
BASE, CONSTRAINTS = 'senlin_affinity.scenario.', 'senlin_affinity.constraints.'
LOADED = """
import sys, senlin_affinity.plugins.nova.{}
print(*(name for name in sorted(sys.modules) if name.startswith('senlin_affinity')))
"""


def package_of(module):
    """Return the first part of a module's name below ``senlin_affinity``."""
    return [*module.split('.'), '__init__'][1]


class Trace:
    """Count evaluations, and note the modules that run, and the calls to a higher package."""

    def __init__(self):
        self.evaluations, self.upward, self.modules = 0, set(), set()

    def __call__(self, frame, event, _argument):
        if event != 'call':
            return
        self.evaluations += frame.f_code is evaluation.evaluate.__code__
        callee, caller = _place(frame), _place(_caller(frame))
        if callee and frame.f_code.co_name != '<module>':
            self.modules.add(frame.f_globals['__name__'])
        if not callee or not caller or frame.f_code.co_name == '<genexpr>':
            return  # a generator expression runs where its values are used
        if callee.startswith(PORT):
            return
        if caller.startswith(BASE) and callee.startswith(CONSTRAINTS):
            return
        if HEIGHTS[package_of(callee)] > HEIGHTS[package_of(caller)]:
            self.upward.add(f'{caller} -> {callee}')

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_exception):
        sys.setprofile(None)
        threading.setprofile(None)


def _caller(frame):
    """Return the caller; for a function that ``memo`` calls, the caller of ``memo``."""
    back = frame.f_back
    is_memo = back is not None and back.f_code is Request.memo.__code__
    return back.f_back if is_memo else back


def _place(frame):
    """Return the module and the function, or None for code outside the package."""
    if frame is None:
        return None
    module = frame.f_globals.get('__name__', '')
    return f'{module}.{frame.f_code.co_name}' if module.startswith('senlin_affinity.') else None


#: The number of servers, whether an administrator asks, properties of the policy, and the status.
SCALE_OUTS = {
    'accepted': (3, True, {}, 'NONE'),
    'not checked': (3, False, {}, 'NONE'),
    'rejected': (21, True, {}, 'ERROR'),
    'rejected for a non-admin': (21, False, {}, 'ERROR'),
    'pinned': (3, True, {'pin_hosts': True}, 'NONE'),
}
#: At most so many evaluations, requests (without logins and discovery) and upward calls (pairs of
#: functions of which the caller is in a lower package than the callee).
LIMITS = {
    'accepted': (3, 7, 2),
    'not checked': (3, 7, 2),
    'rejected': (9, 13, 3),
    'rejected for a non-admin': (9, 13, 3),
    'pinned': (2, 15, 3),
}
#: At most so many modules of senlin_affinity run in an accepted scale-out; the goal is 60.
MOST_RUN = 89
#: At most so many modules of senlin_affinity are loaded by the import of one plugin for Nova.
MODULES = {'aggregate_filter': 21, 'api_middleware': 29, 'extra_specs': 30, 'request_filter': 16}


@pytest.mark.parametrize('name', SCALE_OUTS)
def test_a_scale_out_costs_no_more(name, _database, configured, monkeypatch):  # noqa: F811
    count, is_admin, properties, status = SCALE_OUTS[name]
    user = 'admin' if is_admin else 'demo'
    if name != 'not checked':  # nobody may read the hosts
        configured(**LOGIN)
    monkeypatch.setattr(support, 'USER', f'{user}-id')
    monkeypatch.setattr(support, 'PROJECT', f'{user}-project')
    services = ('compute', 'placement')
    glance = FakeGlance(FakeImage('cirros'))
    with Edge(user=user, hosts=HOSTS, services=services, glance=glance) as edge:
        edge.nova.limits |= {'maxServerGroupMembers': 30}
        group = edge.nova.add_group('web', 'anti-affinity', project_id=support.PROJECT)
        desk = support.Desk(edge)
        cluster, policy = desk.bound(support.spec(**properties), group)
        modules = set()
        for _ in range(2):  # the first fills the caches
            action = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': count})
            before = requests_of(edge)
            with Trace() as trace:
                policy.pre_op(cluster.id, action)
            modules |= trace.modules
        requests = requests_of(edge) - before
    assert action.data['status'] == status, action.data
    most_evaluations, most_requests, most_upward_calls = LIMITS[name]
    assert trace.evaluations <= most_evaluations
    assert requests.total() <= most_requests, sorted(requests.elements())
    assert len(trace.upward) <= most_upward_calls, sorted(trace.upward)
    assert name != 'accepted' or len(modules) <= MOST_RUN, sorted(modules)


def requests_of(edge):
    """Count the requests, without logins and discovery."""
    return Counter([*edge.nova.requests(), *edge.placement.asked, *edge.glance.asked])


@pytest.mark.parametrize('name', MODULES)
def test_a_plugin_for_nova_loads_no_more_modules(name):
    """Each plugin needs its own process, where no other plugin has loaded a module."""
    command = [sys.executable, '-c', LOADED.format(name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert len(loaded) <= MODULES[name], loaded
