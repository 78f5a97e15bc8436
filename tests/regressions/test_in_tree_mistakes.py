"""What Senlin's own affinity policy 1.0 gets wrong, each as a test that this project's passes.

The stories are told to the real Senlin on the real Nova; ``tests/e2e/test_in_tree_comparison.py``
tells them to Senlin's own policy. What they are about is tested in ``tests/engine``, too.
"""

import pytest

from senlin_affinity.policy.placement import Placement
from tests.regressions.stage import OURS
from tests.regressions.stories import STORIES

pytestmark = pytest.mark.long


@pytest.fixture
def avoids(theatre):
    """Tell the stories about one mistake."""

    def tell(mistake):
        stories = [story for story in STORIES if story.mistake == mistake]
        assert stories
        for story in stories:
            outcome = theatre.play(story, OURS)
            assert outcome.is_passed, f'{story.title}: {outcome.line}'

    return tell


@pytest.mark.parametrize(
    'story', [pytest.param(story, id=story.name) for story in STORIES if story.mistake is None]
)
def test_scenario(theatre, story):
    outcome = theatre.play(story, OURS)
    assert outcome.is_passed, outcome.line


def test_01_an_existing_group_can_be_attached(avoids):
    """Attaching to an existing group fails on Nova 2.64 or newer."""
    avoids(1)


def test_02_drs_finds_a_host_that_is_one_and_runs(avoids):
    """DRS mode always fails, and would take hosts like kvm-hydra-01, and hosts that are down."""
    avoids(2)


def test_03_a_node_created_by_itself_joins_the_group(avoids):
    """A node that is created straight into the cluster never gets the placement."""
    avoids(3)


def test_04_the_profiles_hint_is_seen(avoids):
    """The group that the profile's hint names is never seen; a missing one is created."""
    avoids(4)


def test_05_servergroup_may_be_left_out(avoids):
    """A spec without servergroup is accepted, and its attach crashes."""
    avoids(5)


def test_06_reasons_reach_the_user(avoids):
    """Reasons are written where nobody reads them, and causes such as a quota are dropped."""
    avoids(6)


def test_07_a_shared_group_stays_while_it_is_used(avoids):
    """Of two clusters with one group name, the first detach deletes the group under the second."""
    avoids(7)


def test_08_no_group_is_leaked_or_made_twice(avoids):
    """A failure leaks the group, a race makes two, and one beyond the first thousand is remade."""
    avoids(8)


def test_09_bindings_of_other_versions_are_read(avoids):
    """With a binding of another version the detach says success, and leaks the group."""
    avoids(9)


def test_10_an_unknown_id_is_refused(avoids):
    """A servergroup.name that is an unknown UUID makes a group that is named that UUID."""
    avoids(10)


def test_11_input_is_checked_and_placements_are_not_shared(avoids):
    """An invalid spec is a 500, a string count a crash, and all placements are one dict."""
    avoids(11)
    first, second = Placement(2, 'XYZ-ABCD', 'nova').data()['placement']['placements']
    assert first == second
    assert first is not second


def test_12_a_cancel_in_the_hook_is_not_undone(avoids):
    """A cancel that arrives while the hook lists hypervisors is undone by the hook's own store."""
    avoids(12)


def test_13_attaching_disabled_creates_the_group_and_says_so(avoids):
    """Attaching with enabled=False creates a group, which nobody is told."""
    avoids(13)
