"""How long the sandbox's Senlin waits between two looks at what it waits for."""

from types import SimpleNamespace

import eventlet
import pytest
from openstack import exceptions, utils
from senlin.engine import dispatcher, senlin_lock
from senlin.engine.actions.cluster_action import ClusterAction

from senlin_affinity.sandbox import workarounds


@pytest.fixture
def slept(monkeypatch):
    """The seconds of every sleep, none of which is slept; Senlin is as it was after the test."""
    seconds = []
    for place, name in (
        (ClusterAction, '_wait_for_dependents'),
        (utils, 'iterate_timeout'),
        (senlin_lock, 'random'),
    ):
        monkeypatch.setattr(place, name, getattr(place, name))
    monkeypatch.setattr(eventlet, 'sleep', seconds.append)
    monkeypatch.setattr(utils.time, 'sleep', seconds.append)
    monkeypatch.setattr(dispatcher, 'start_action', lambda: None)
    workarounds.look_often()
    return seconds


def test_the_end_of_the_children(monkeypatch, slept):
    """And a pause that a policy asks for is as long as ever."""
    states = iter(['WAITING', 'WAITING', 'READY'])
    monkeypatch.setattr(ClusterAction, 'get_status', lambda _self: next(states))
    for name in ('is_cancelled', 'is_timeout'):
        monkeypatch.setattr(ClusterAction, name, lambda *_: False)
    action = object.__new__(ClusterAction)
    action.id = 'an-action'
    result, _reason = action._wait_for_dependents()
    assert result == ClusterAction.RES_OK
    assert len(slept) == 2
    assert max(slept) < 1
    action._sleep(3)
    assert slept[2:] == [3]


@pytest.mark.parametrize('wait', [None, 2, 5])
def test_the_end_of_a_server(slept, wait):
    looks = utils.iterate_timeout(60, 'a server', wait)
    assert [next(looks) for _ in range(3)] == [1, 2, 3]
    assert len(slept) == 2
    assert max(slept) < 1


def test_the_end_of_the_patience_is_kept(slept):
    with pytest.raises(exceptions.ResourceTimeout, match='a server'):
        next(utils.iterate_timeout(0, 'a server', 2))
    assert slept == []


def test_a_lock(monkeypatch, slept):
    held = SimpleNamespace(acquire=lambda *_: ['another'])
    monkeypatch.setattr(senlin_lock.cl_obj, 'ClusterLock', held)
    monkeypatch.setattr(senlin_lock.ao.Action, 'get', lambda *_: None)
    assert senlin_lock.cluster_lock_acquire(None, 'a-cluster', 'an-action') is False
    assert len(slept) == 3
    assert 0 < min(slept) <= max(slept) < 1
