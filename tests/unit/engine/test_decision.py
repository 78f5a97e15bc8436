"""A decision is a plain value: comparable, picklable, and independent of the snapshot."""

import gc
import pickle
from dataclasses import replace

import pytest

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from tests.support.asked import plan
from tests.support.small_cloud import CONSTRAINTS, request_of, snapshot_of

ROW = {
    'hosts': {'cmp-1': {'free': 2}, 'cmp-2': {'free': 3}, 'cmp-3': {'disabled': True}},
    'group': {'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2}, 'members': ['cmp-1']},
    'request': {'count': 4},
}
OTHERS = (
    {'request': {'count': 5}},
    {'hosts': {**ROW['hosts'], 'cmp-2': {'free': 2}}},
    {'hosts': {**ROW['hosts'], 'cmp-2': {'free': 3, 'zone': 'other'}}},
    {'hosts': {name.replace('cmp', 'node'): each for name, each in ROW['hosts'].items()}},
    {'quotas': {'instances': [3, 0]}},
)


def answer(row):
    return plan(request_of(row), snapshot_of(row), CONSTRAINTS)


@pytest.mark.parametrize('count', [1, 4])
def test_equal_decisions_and_pickling(count):
    row = {**ROW, 'request': {'count': count}}
    decision = answer(row)
    assert decision.hosts  # worked out, and kept
    assert decision == answer(row)
    again = pickle.loads(pickle.dumps(decision))
    assert (again, again.as_dict()) == (decision, decision.as_dict())


@pytest.mark.parametrize('changed', OTHERS, ids=str)
def test_different_decisions(changed):
    assert answer({**ROW, **changed}) != answer(ROW)


def test_decisions_with_different_placements_differ():
    """Both are full, and the hosts have equal names."""
    one = {'hosts': {'a': {'free': 1}, 'b': {'free': 1, 'disabled': True}}}
    two = {'hosts': {'a': {'free': 1, 'zone': 'x'}, 'b': {'free': 1, 'disabled': True}}}
    assert answer(one).hosts == answer(two).hosts
    assert answer(one) != answer(two)


def test_what_is_not_known_is_a_phrase_of_its_own():
    texts = ('whether a filter is enabled (x)', 'what Nova checks', 'racks that are not known', 'x')
    phrases = [*replace(answer(ROW), at_most=texts).not_known]
    assert phrases == [*texts[:2], 'racks', 'the effect of x']


@pytest.mark.parametrize('count', [1, 4])
def test_a_decision_has_no_reference_to_the_snapshot(count):
    decision = answer({**ROW, 'request': {'count': count}})
    seen, todo = set(), [decision]
    while todo:
        thing = todo.pop()
        if id(thing) not in seen and not isinstance(thing, type):
            seen.add(id(thing))
            assert not isinstance(thing, Cloud | Host | Request)
            assert not callable(thing)
            todo += gc.get_referents(thing)


def test_unrequested_remedies_are_not_searched():
    decision = plan(request_of(ROW), snapshot_of(ROW), CONSTRAINTS, remedies=False)
    assert (decision.fits, decision.remedies, bool(answer(ROW).remedies)) == (False, (), True)
