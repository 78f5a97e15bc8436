"""Which known word a person may have meant by a word that is not known.

Units: a ``cutoff`` is difflib's share of letters in common, 0 to 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import lru_cache

_NEAR = 0.6


def meant(word: str, known: Collection[str], otherwise: str = 'known are') -> str:
    """The known word that is nearest, as a question; where none is near, all of them."""
    near = nearest(word, known)
    return f'{otherwise} {", ".join(known)}' if near is None else f'did you mean {near}?'


def nearest(word: str, known: Collection[str], cutoff: float = _NEAR) -> str | None:
    """The known word that is nearest, first of all one with swapped letters; None: none is near."""
    size, most, letters = len(word), 1.001 - cutoff, _letters(word)
    low, high = size * (1 - most) / (1 + most), size * (1 + most) / (1 - most)
    # Other lengths, or letters, are never near: difflib would find that out more slowly.
    near = [
        each
        for each in known
        if low <= len(each) <= high
        and (letters ^ _letters(each)).bit_count() <= most * (size + len(each))
    ]
    if not near:
        return None
    close = difflib.get_close_matches(word, near, cutoff=cutoff)
    return max(close, key=lambda each: sorted(each) == sorted(word), default=None)


@lru_cache(maxsize=4_096)
def _letters(word: str) -> int:
    """A bit for each letter that is in it; letters may share one."""
    return sum({1 << ord(letter) % 64 for letter in word})


def typo_of(word: str, known: Collection[str]) -> str | None:
    """The nearest for words that are much alike: a letter is another, or three are too many."""
    return nearest(word, known, cutoff=max(_NEAR, 1 - 2 / (len(word) + 1)))
