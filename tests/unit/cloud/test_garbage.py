"""The search for garbage waits while a snapshot is made, or a question is answered, and goes on."""

import gc

import pytest

from senlin_affinity import api
from senlin_affinity.cloud import eyes, garbage, snapshot
from senlin_affinity.core import planner
from senlin_affinity.core.objects import CloudSnapshot
from tests.support.edge import Edge


@pytest.fixture(autouse=True)
def searched():
    """It is as usual, before and after; what a command froze that ran in this process is let go."""
    assert gc.isenabled()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize('is_frozen', [False, True])
def test_the_search_waits(is_frozen):
    if is_frozen:
        gc.freeze()
    frozen = gc.get_freeze_count()
    with garbage.unsearched():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert (gc.get_freeze_count() > 0) == is_frozen == (frozen > 0)


def test_the_search_goes_on_after_an_error():
    with pytest.raises(ValueError, match='wrong'), garbage.unsearched():
        raise ValueError('wrong')
    assert gc.isenabled()


def test_who_had_it_wait_already_lets_it_go_on():
    with garbage.unsearched():
        with garbage.unsearched():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_look_at_a_cloud_is_not_interrupted_by_the_search():
    with Edge(services=('compute', 'placement')) as edge:
        both = eyes.of(edge.connection())
        searches = []
        gc.callbacks.append(lambda phase, _info: searches.append(phase))
        thresholds = gc.get_threshold()
        gc.set_threshold(50, 1, 1)
        try:
            snapshot.take(both)
            during = len(searches)
            [[] for _ in range(1000)]
        finally:
            gc.set_threshold(*thresholds)
            gc.callbacks.pop()
    assert during <= 4  # one before, and one as it goes on, which both begin and end
    assert len(searches) > during


def test_an_answer_is_not_interrupted_by_the_search(monkeypatch):
    monkeypatch.setattr(planner, 'decide', lambda *_given, **_more: gc.isenabled())
    assert api.answer(api.Question(1, flavor='small'), api.Look(CloudSnapshot())) is False
