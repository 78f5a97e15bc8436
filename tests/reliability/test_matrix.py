"""A part of the fault matrix, and the detection of violations; ``make soak`` runs all of it."""

import contextlib
import multiprocessing
import threading
from types import SimpleNamespace

import pytest

from senlin_affinity.groups import attachment
from tests.reliability import cell, matrix, operations, promises
from tests.reliability.cell import TRIES
from tests.reliability.faults import FAULTS
from tests.reliability.operations import FOREIGN, OPERATIONS
from tests.support.fake_nova import FakeNova


@pytest.mark.nightly
def test_no_guarantee_is_violated():
    """Because 317 is a prime, requests and faults take turns."""
    part, results = matrix.run(2, every=317)
    assert part.broken == ()
    assert len({each.cell.fault for each in results}) > len(FAULTS) / 2
    assert set(part.outcomes) >= {'done', 'retried', 'refused', 'warned'}
    asking = {each.cell.operation for each in results}
    assert asking <= {operation.name for operation in OPERATIONS}


@pytest.mark.long
def test_a_group_is_found_after_its_response_is_lost():
    part, results = matrix.run(2, only='own group; POST /compute/v2.1/os-server-groups #1; lost')
    assert part.broken == ()
    assert [each.cell.tries for each in results] == 3 * [*TRIES]
    assert {each.outcome for each in results} == {'done'}


@pytest.fixture
def stage():
    nova = FakeNova()
    foreign = {nova.add_group(name) for name in FOREIGN}
    return SimpleNamespace(
        cloud=SimpleNamespace(nova=nova, gone=set(), taken=set()),
        foreign=foreign,
        notes=lambda: "{'name': 'a'}",
        reports=[],
    )


def test_a_leaked_group_is_detected(stage):
    assert [*promises.groups(stage)] == []
    stage.cloud.nova.add_group('a')
    assert [*promises.groups(stage)] == []
    assert [kind for kind, _ in promises.groups(stage, may_be_noted=False)] == [promises.LEAK]
    stage.cloud.nova.add_group('b')
    assert [kind for kind, _ in promises.groups(stage)] == [promises.LEAK]


def test_a_reported_group_may_remain(stage):
    group = stage.cloud.nova.add_group('b')
    stage.reports.append(f'server group b ({group}) was inherited: it stays')
    assert [kind for kind, _ in promises.groups(stage)] == [promises.LEAK]
    stage.reports.append(f'server group b ({group}): {attachment.IN_DOUBT}; and more')
    assert [*promises.groups(stage)] == []


def test_a_deleted_foreign_group_is_detected(stage):
    gone = stage.cloud.nova.groups.pop(0)['id']
    assert [*promises.groups(stage)] == [(promises.FOREIGN, gone)]
    stage.cloud.gone.add(gone)
    assert [*promises.groups(stage)] == []
    stage.cloud.taken.add('x')
    assert [*promises.groups(stage)] == [(promises.FOREIGN, 'x')]


@pytest.mark.long
def test_a_group_of_a_user_remains_after_a_failed_creation():
    part, results = matrix.run(2, only='a user creates the group')
    assert part.broken == ()
    inherits = {each.cell.operation for each in results if each.outcome == 'done'}
    assert inherits == {'attach: named group', 'attach: version 1.0'}


@pytest.mark.parametrize(
    ('data', 'refused', 'is_whole'),
    [
        ({'placement': {'count': 1, 'placements': [{'servergroup': 'x'}]}}, None, True),
        ({'placement': {'count': 2, 'placements': [{'servergroup': 'x'}]}}, None, False),
        ({'placement': {'count': 1, 'placements': [{}]}}, None, False),
        ({}, None, False),
        ({'status_reason': 'why', 'reason': 'why'}, 'why', True),
        ({'status_reason': 'why', 'reason': 'why', 'placement': {}}, 'why', False),
        ({'reason': ''}, '', False),
    ],
)
def test_an_incomplete_placement_is_detected(data, refused, is_whole):
    stage = SimpleNamespace(data=data, operation=SimpleNamespace(wanted=1), node=None)
    assert ([*promises.placement(stage, refused)] == []) is is_whole


def lose_the_database():
    """Empty the database, which hangs once; return the number of policies afterwards."""
    cell.prepare()
    dialect = operations.database.get_engine().dialect
    execute = dialect.do_execute

    def hang(*_arguments):
        dialect.do_execute = execute
        raise promises.Hung

    dialect.do_execute = hang
    with contextlib.suppress(promises.Hung):
        operations._empty_database()
    operations._empty_database()
    with operations.database.session_for_read() as session:
        return session.query(operations.models.Policy).count()


@pytest.mark.long
def test_a_hang_does_not_affect_other_cases():
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        assert pool.apply(lose_the_database) == 0


def test_a_hang_is_aborted():
    with pytest.raises(promises.Hung), promises.ends_within(0.05):
        threading.Event().wait(60)
