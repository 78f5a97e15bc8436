"""Limit what four scale-outs cost, and how many modules each plugin for Nova loads.

The limits are in ``tests/unit/guards.yaml``, and may only fall.
"""

import subprocess
import sys
import threading
from collections import Counter

import pytest
import tomllib

from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.planner import evaluation
from tests.engine import support
from tests.engine.test_plugin_cloud import LOGIN, configured, kept  # noqa: F401
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost
from tests.support.guards import GUARDS, hold
from tests.support.source import ROOT, package_of

TOOLS = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))['tool']
LAYERS = next(each['layers'] for each in TOOLS['importlinter']['contracts'] if 'layers' in each)
#: Greater for a higher package.
HEIGHTS = {
    name.strip(' ()'): -place for place, line in enumerate(LAYERS) for name in line.split('|')
}
HOSTS = tuple(FakeHost(f'cmp-{number:02}') for number in range(20))
#: The implementation of the port through which the decisions fetch.
PORT = 'senlin_affinity.cloud.stages.'
LOADED = """
import sys, senlin_affinity.plugins.nova.{}
print(*(name for name in sorted(sys.modules) if name.startswith('senlin_affinity')))
"""


class Trace:
    """Count evaluations, and note the calls from a lower to a higher package."""

    def __init__(self):
        self.evaluations, self.upward = 0, set()

    def __call__(self, frame, event, _argument):
        if event != 'call':
            return
        self.evaluations += frame.f_code is evaluation.evaluate.__code__
        callee, caller = _place(frame), _place(_caller(frame))
        if not callee or not caller or frame.f_code.co_name == '<genexpr>':
            return  # a generator expression runs where its values are used
        if callee.startswith(PORT):
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
    is_memo = back is not None and back.f_code is ResolvedRequest.memo.__code__
    return back.f_back if is_memo else back


def _place(frame):
    """Return the module and the function, or None for code outside the package."""
    if frame is None:
        return None
    module = frame.f_globals.get('__name__', '')
    return f'{module}.{frame.f_code.co_name}' if module.startswith('senlin_affinity.') else None


SCALE_OUTS = {
    'accepted': (3, True, {}, 'NONE'),
    'rejected': (21, True, {}, 'ERROR'),
    'rejected for a non-admin': (21, False, {}, 'ERROR'),
    'pinned': (3, True, {'pin_hosts': True}, 'NONE'),
}


@pytest.mark.parametrize('name', SCALE_OUTS)
def test_a_scale_out_costs_no_more(name, _database, configured, monkeypatch):  # noqa: F811
    count, is_admin, properties, status = SCALE_OUTS[name]
    user = 'admin' if is_admin else 'demo'
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
        for _ in range(2):  # the first fills the caches
            action = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': count})
            before = requests_of(edge)
            with Trace() as trace:
                policy.pre_op(cluster.id, action)
        requests = requests_of(edge) - before
    assert action.data['status'] == status, action.data
    advice = 'Reuse an evaluation, or call no remedy that the answer leaves out.'
    hold('scale_outs', f'{name}, evaluations', trace.evaluations, advice)
    advice = 'Read a part of the cloud once, and only what the decision needs.'
    hold('scale_outs', f'{name}, requests', sorted(requests.elements()), advice)
    advice = 'Return the value to the caller instead.'
    hold('scale_outs', f'{name}, upward calls', sorted(trace.upward), advice)


def requests_of(edge):
    """Count the requests, without logins and discovery."""
    return Counter([*edge.nova.requests(), *edge.placement.asked, *edge.glance.asked])


@pytest.mark.parametrize('name', GUARDS['nova_plugins'])
def test_a_plugin_for_nova_loads_no_more_modules(name):
    """Each plugin needs its own process, where no other plugin has loaded a module."""
    command = [sys.executable, '-c', LOADED.format(name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    hold('nova_plugins', name, done.stdout.split(), 'Import only what the plugin uses.')
