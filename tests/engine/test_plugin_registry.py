"""Which class a Senlin environment has under the name of the policy that Senlin brings."""

import inspect

import pytest
from oslo_config import cfg
from senlin.common import exception as senlin_exception
from senlin.engine import environment
from senlin.policies import base
from senlin.policies.affinity_policy import AffinityPolicy as InTree

from senlin_affinity.plugins import senlin_registry
from senlin_affinity.plugins.senlin_policy import AffinityPolicy
from tests.engine.support import binding, spec

NAME = 'senlin.policy.affinity-1.0'


class Another(InTree):
    """The policy of a third party."""


@pytest.fixture(autouse=True)
def offered(monkeypatch):
    """Our policy, offered to Senlin's own environment once more."""
    own = inspect.unwrap(environment.Environment.register_policy)
    monkeypatch.setattr(environment.Environment, 'register_policy', own)
    senlin_registry.offer(AffinityPolicy)


@pytest.fixture
def served():
    """The option, switched on for one test."""
    cfg.CONF.set_override('serve_version_1_0', True, group='affinity')
    yield
    cfg.CONF.clear_override('serve_version_1_0', group='affinity')


@pytest.fixture
def reloaded(monkeypatch):
    """Senlin's environment is made from the entry points when it is next wanted."""
    monkeypatch.setattr(environment, '_environment', None)


def test_without_the_option_the_name_is_senlins_own(reloaded):
    assert environment.global_env().get_policy(NAME) is InTree


def test_q3_12_with_the_option_it_is_ours(served, reloaded, caplog):
    with caplog.at_level('INFO', logger='senlin_affinity'):
        assert environment.global_env().get_policy(NAME) is AffinityPolicy
    assert f'{NAME} is served by senlin-affinity ([affinity] serve_version_1_0)' in caplog.messages
    assert environment.global_env().get_policy('senlin.policy.affinity-1.1') is AffinityPolicy
    made = base.Policy('old', spec('1.0'))
    assert isinstance(made, AffinityPolicy)
    assert made.type == NAME


def test_the_types_that_the_api_lists_are_the_same(served, reloaded):
    environment.initialize()
    ours = environment.global_env().get_policy_types()
    cfg.CONF.clear_override('serve_version_1_0', group='affinity')
    environment._environment = None
    theirs = environment.global_env().get_policy_types()

    def key(item):
        return item['name'], item['version']

    assert sorted(ours, key=key) == sorted(theirs, key=key)


def test_a_third_partys_class_keeps_the_name(served, caplog):
    made = environment.Environment(is_global=True)
    made.register_policy(NAME, Another)
    assert made.get_policy(NAME) is Another
    (line,) = [each for each in caplog.records if each.levelname == 'ERROR']
    words = line.getMessage()
    assert 'serve_version_1_0 has no effect' in words
    assert f'{Another.__module__}.Another' in words


def test_a_third_party_that_registers_later_has_the_name(served, caplog):
    made = environment.Environment(is_global=True)
    made.register_policy(NAME, InTree)
    assert made.get_policy(NAME) is AffinityPolicy
    made.register_policy(NAME, Another)
    assert made.get_policy(NAME) is Another
    assert [each for each in caplog.records if each.levelname == 'ERROR']


def test_other_names_are_left_alone(served):
    made = environment.Environment(is_global=True)
    made.register_policy('senlin.policy.scaling-1.0', InTree)
    assert made.get_policy('senlin.policy.scaling-1.0') is InTree


@pytest.mark.parametrize(
    'properties',
    [
        {'servergroup': {'name': ''}, 'availability_zone': ''},
        {'servergroup': {'name': 7, 'policies': 'affinity'}, 'enable_drs_extension': 'no'},
        {},
    ],
)
def test_what_senlins_own_class_takes_is_taken(served, reloaded, desk, properties):
    """Else a cluster that works would stop to grow when the option is switched on."""
    InTree('old', spec('1.0', **properties)).validate(desk.context)
    policy = base.Policy('old', spec('1.0', **properties))
    assert isinstance(policy, AffinityPolicy)
    policy.validate(desk.context)
    cluster = desk.cluster()
    policy.id = desk.policy(spec('1.0')).id
    desk.bind(cluster, policy, binding('XYZ-ABCD'))
    action = desk.action(cluster, 'CLUSTER_SCALE_OUT')
    policy.pre_op(cluster.id, action)
    assert action.data['placement']['placements'] == [{'servergroup': 'XYZ-ABCD'}]
    assert policy.detach(cluster)[0]


@pytest.mark.parametrize('properties', [{'servergroup': 'web'}, {'x': 1}])
def test_what_senlins_own_class_refuses_is_refused(served, reloaded, desk, properties):
    for policy in (InTree, base.Policy):
        with pytest.raises(senlin_exception.SenlinException):
            policy('old', spec('1.0', **properties)).validate(desk.context)
