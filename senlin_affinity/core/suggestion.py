"""Which known word a person may have meant by a word that is not known.

Units: a ``cutoff`` is difflib's share of letters in common, 0 to 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

_NEAR = 0.6


def meant(word: str, known: Collection[str], otherwise: str = 'known are') -> str:
    """The known word that is nearest, as a question; where none is near, all of them."""
    near = nearest(word, known)
    return f'{otherwise} {", ".join(known)}' if near is None else f'did you mean {near}?'


def nearest(word: str, known: Collection[str], cutoff: float = _NEAR) -> str | None:
    """The known word that is nearest, first of all one with swapped letters; None: none is near."""
    letters, size, most = set(word), len(word), 1.001 - cutoff
    # Other lengths, or letters, are never near: difflib would find that out more slowly.
    near = [
        each
        for each in known
        if abs(len(each) - size) <= (spare := most * (len(each) + size))
        and 2 * len(letters.difference(each)) <= spare + size - len(each)
    ]
    close = difflib.get_close_matches(word, near, cutoff=cutoff)
    return max(close, key=lambda each: sorted(each) == sorted(word), default=None)


def typo_of(word: str, known: Collection[str]) -> str | None:
    """The nearest for words that are much alike: a letter is another, or three are too many."""
    return nearest(word, known, cutoff=max(_NEAR, 1 - 2 / (len(word) + 1)))
