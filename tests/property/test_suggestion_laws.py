"""What is near is what difflib finds: leaving words out before changes no answer."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.suggestion import nearest

# Letters that are 64 apart, 'a' and '!', count as one before difflib is asked.
WORDS = st.text('ab!_', max_size=12)


@given(WORDS, st.lists(WORDS, max_size=6), st.sampled_from((0.6, 0.8, 0.9)))
def test_nearest_is_difflibs(word, known, cutoff):
    close = difflib.get_close_matches(word, known, cutoff=cutoff)
    wanted = max(close, key=lambda each: sorted(each) == sorted(word), default=None)
    assert nearest(word, known, cutoff) == wanted
