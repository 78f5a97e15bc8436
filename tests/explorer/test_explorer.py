"""No interleaving of two operations with one event violates an invariant; each check is needed."""

import pytest

from senlin_affinity.groups import audit, detachment, steps
from senlin_affinity.groups.attachment import ADOPTED, Attach
from tests.explorer.explore import EVENTS, Explorer
from tests.explorer.explore_all import explored, traces
from tests.explorer.scenarios import STARTS, pairs
from tests.explorer.world import Checks


@pytest.mark.long
def test_no_interleaving_violates_an_invariant():
    states = 0
    for start, pair, found in explored():
        states += found.states
        assert found.traces == {}, traces(start, pair, found)
    print(f'{states} states')  # noqa: T201 - the number is part of the result
    assert states > 100_000


def without_identity(kind):
    """Return the steps without the check of the answers to one kind of effect."""
    checked = steps.checked
    return lambda effect, answer: answer if isinstance(effect, kind) else checked(effect, answer)


def adopt_any(_attach, _group, use):
    return not use.has_owner


def trust(_group_id):
    return
    yield


def bound_by_list(attach, name):
    """Create the group, and bind the first one of the name."""
    wanted = attach.wanted
    created = yield steps.CreateGroup(name, wanted.policy)
    found = yield steps.SearchGroups(name)
    return attach._attached((*found, created)[0], ADOPTED)


#: The check that is removed, with the place of its replacement, or with the options of the model.
REMOVED = {
    'the id of an answer': (steps, 'checked', without_identity(steps.GetGroup)),
    'identity in a list': (steps, 'checked', without_identity(steps.SearchGroups)),
    'the name as evidence': (Attach, '_may_adopt', adopt_any),
    'verification after a deletion': (detachment, 'verify_deleted', trust),
    'the answer to POST before the binding': (Attach, '_created', bound_by_list),
    'users in all projects': Checks(reads_all_projects=False),
    'the lock of the name': Checks(locks_names=False),
    'the lock of the group': Checks(locks_groups=False),
}


@pytest.mark.parametrize('name', REMOVED)
def test_without_a_check_an_invariant_is_violated(monkeypatch, name):
    removed = REMOVED[name]
    checks = removed if isinstance(removed, Checks) else Checks()
    if not isinstance(removed, Checks):
        monkeypatch.setattr(*removed)
    violated = (found.traces for _, _, found in explored(checks) if found.traces)
    assert next(violated, None), f'no invariant is violated without {name}'


@pytest.mark.long
def test_without_the_second_read_the_command_deletes_an_orphan_in_use(monkeypatch):
    """If the command does not read again, it may delete a group that a new cluster uses."""

    def step(self):
        group = yield from self.still_orphan()
        if group is not None:
            yield steps.DeleteGroup(self.group_id)
        return group

    monkeypatch.setattr(audit.DeleteOrphan, 'step', step)
    monkeypatch.setattr('tests.explorer.explore.Command.step', step_once)
    found = [
        trace
        for start in ('its own group', 'an orphan in use')
        for pair in pairs(STARTS[start])
        for trace in Explorer(STARTS[start], pair).run().traces
    ]
    assert 'a group that another cluster uses is deleted' in found


def step_once(command):
    return (yield from audit.DeleteOrphan(command.group_id).step())


def test_each_event_happens():
    """Without the events, the search would find no violations."""
    start = STARTS['two clusters']
    happened = set()
    for pair in pairs(start):
        without = Explorer(start, pair, ()).run().states
        for event in EVENTS:
            if Explorer(start, pair, (event,)).run().states > without:
                happened.add(event)
        if len(happened) == len(EVENTS):
            break
    assert happened == {*EVENTS}
