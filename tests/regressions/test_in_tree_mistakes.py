"""What Senlin's own affinity policy 1.0 gets wrong, each as a story that this project's passes.

The stories are told to the real Senlin on the real Nova; ``tests/e2e/test_in_tree_comparison.py``
tells them to Senlin's own policy. What they are about is tested in ``tests/engine``, too.
"""

import pytest

from tests.regressions.stage import OURS
from tests.regressions.stories import STORIES


@pytest.mark.long
@pytest.mark.parametrize(
    'story', STORIES, ids=lambda story: f'{story.mistake or 0:02}-{story.name}'
)
def test_story(theatre, story):
    outcome = theatre.play(story, OURS)
    assert outcome.is_passed, outcome.line
