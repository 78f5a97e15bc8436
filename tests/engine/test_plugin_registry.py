"""The class that a Senlin environment registers under the name of Senlin's own affinity policy."""

import inspect

import pytest
from oslo_config import cfg
from senlin.common import exception as senlin_exception
from senlin.engine import environment
from senlin.policies import base
from senlin.policies.affinity_policy import AffinityPolicy as InTree

from senlin_affinity.plugins.senlin import legacy_type
from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from tests.engine.support import spec

NAME = 'senlin.policy.affinity-1.0'


class Another(InTree):
    """The policy of a third party."""


@pytest.fixture(autouse=True)
def senlins_own(monkeypatch):
    """Return Senlin's own environment before the policy is loaded."""
    own = inspect.unwrap(environment.Environment.register_policy)
    monkeypatch.setattr(environment.Environment, 'register_policy', own)
    return own


@pytest.fixture
def start(senlins_own):
    """Load the policy with or without the option: ``start(True)``."""

    def load(is_served):
        environment.Environment.register_policy = senlins_own
        cfg.CONF.set_override('serve_version_1_0', is_served, group='affinity')
        legacy_type.install(AffinityPolicy)

    yield load
    cfg.CONF.clear_override('serve_version_1_0', group='affinity')


@pytest.fixture
def served(start):
    """Return an engine that was started with the option."""
    start(True)


@pytest.fixture
def reloaded(monkeypatch):
    """Create Senlin's environment again from the entry points."""
    monkeypatch.setattr(environment, '_environment', None)


def test_without_the_option_senlin_is_not_patched(start, reloaded, senlins_own):
    start(False)
    assert environment.Environment.register_policy is senlins_own
    assert environment.global_env().get_policy(NAME) is InTree


def test_q3_12_with_the_option_the_class_is_ours(served, reloaded, caplog):
    with caplog.at_level('INFO', logger='senlin_affinity'):
        assert environment.global_env().get_policy(NAME) is AffinityPolicy
    assert f'{NAME} is served by senlin-affinity ([affinity] serve_version_1_0)' in caplog.messages
    assert environment.global_env().get_policy('senlin.policy.affinity-1.1') is AffinityPolicy
    made = base.Policy('old', spec('1.0'))
    assert isinstance(made, AffinityPolicy)
    assert made.type == NAME


def test_the_api_lists_the_same_types(start, reloaded):
    lists = []
    for is_served in (True, False):
        start(is_served)
        environment._environment = None
        types = environment.global_env().get_policy_types()
        lists.append(sorted((item['name'], item['version']) for item in types))
    assert lists[0] == lists[1]


def test_a_third_partys_class_keeps_the_name(served, caplog):
    """Even if it registers later; other names are not changed."""
    made = environment.Environment(is_global=True)
    made.register_policy('senlin.policy.scaling-1.0', InTree)
    assert made.get_policy('senlin.policy.scaling-1.0') is InTree
    made.register_policy(NAME, InTree)
    assert made.get_policy(NAME) is AffinityPolicy
    made.register_policy(NAME, Another)
    assert made.get_policy(NAME) is Another
    (words,) = [each.getMessage() for each in caplog.records if each.levelname == 'ERROR']
    assert 'serve_version_1_0 has no effect' in words
    assert f'{Another.__module__}.Another' in words


@pytest.mark.parametrize(
    'properties',
    [
        {'servergroup': {'name': ''}, 'availability_zone': ''},
        {'servergroup': {'name': 7, 'policies': 'affinity'}, 'enable_drs_extension': 'no'},
        {},
    ],
)
def test_specs_that_senlins_own_class_accepts_are_accepted(served, reloaded, desk, properties):
    """Otherwise a working cluster could not grow after the option is set."""
    InTree('old', spec('1.0', **properties)).validate(desk.context)
    policy = base.Policy('old', spec('1.0', **properties))
    assert isinstance(policy, AffinityPolicy)
    policy.validate(desk.context)
    cluster, stored = desk.bound(spec('1.0'))
    policy.id = stored.id
    action = desk.action(cluster, 'CLUSTER_SCALE_OUT')
    policy.pre_op(cluster.id, action)
    assert action.data['placement']['placements'] == [{'servergroup': 'XYZ-ABCD'}]
    assert policy.detach(cluster)[0]


@pytest.mark.parametrize('properties', [{'servergroup': 'web'}, {'x': 1}])
def test_specs_that_senlins_own_class_rejects_are_rejected(served, reloaded, desk, properties):
    for policy in (InTree, base.Policy):
        with pytest.raises(senlin_exception.SenlinException):
            policy('old', spec('1.0', **properties)).validate(desk.context)
