"""The package loads in the oldest supported engine, and with the oldest openstacksdk."""

from importlib import metadata

import pytest
from senlin.policies import base as senlin_policy

GROUPS = (
    'senlin.policies',
    'senlin_affinity.constraints',
    'senlin_affinity.cli',
    'oslo.config.opts',
)


def ours():
    for group in GROUPS:
        for entry_point in metadata.entry_points(group=group):
            if entry_point.value.startswith('senlin_affinity.'):
                yield pytest.param(entry_point, id=f'{group}:{entry_point.name}')


def test_the_oldest_versions_are_installed():
    assert metadata.version('openstacksdk').startswith('0.101.')
    assert metadata.version('senlin').startswith('14.')


@pytest.mark.parametrize('entry_point', ours())
def test_entry_point_loads(entry_point):
    assert entry_point.load()


def test_the_class_is_a_policy_of_this_senlin():
    (entry_point,) = metadata.entry_points(
        group='senlin.policies', name='senlin.policy.affinity-1.1'
    )
    assert issubclass(entry_point.load(), senlin_policy.Policy)
