"""Suggest the known word that a user probably meant.

Units: ``cutoff`` is difflib's similarity ratio, 0 to 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

_NEAR = 0.6
#: The number of words that a message lists.
_MOST = 50


def meant(word: str, known: Collection[str], otherwise: str = 'known are') -> str:
    """Return 'did you mean X?' for the nearest known word, or a list of at most 50 known words."""
    near = nearest(word, known)
    if near is not None:
        return f'did you mean {near}?'
    shown = [*islice(known, _MOST)]
    if len(shown) < len(known):
        shown.append('...')
    return f'{otherwise} {", ".join(shown)}' if shown else 'there are none'


def nearest(word: str, known: Collection[str], cutoff: float = _NEAR) -> str | None:
    """Return the nearest known word, preferably with the same letters; None if none is near."""
    size, most, letters = len(word), 1.001 - cutoff, _letters(word)
    # Skip words that difflib would reject, at lower cost: the letters not in common are at least
    # the difference of the lengths, and two for each letter of the shorter word that the longer one
    # lacks.
    near = [
        each
        for length, words in _by_length(tuple(known)).items()
        for spare in [(most * (size + length) - abs(size - length)) / 2]
        if spare >= 0
        for each, its in words
        if (its & ~letters if length < size else letters & ~its).bit_count() <= spare
    ]
    if not near:
        return None
    if len(near) == 1 and _is_half_alike(word, near[0], cutoff):
        return near[0]
    close = difflib.get_close_matches(word, near, cutoff=cutoff)
    return max(close, key=lambda each: sorted(each) == sorted(word), default=None)


def _is_half_alike(one: str, other: str, cutoff: float) -> bool:
    """Check whether the words share a prefix or suffix that is long enough for difflib."""
    half = int(cutoff * (len(one) + len(other)) / 2) + 1
    return one[:half] == other[:half] or one[-half:] == other[-half:]


@lru_cache(maxsize=16)
def _by_length(known: tuple[str, ...]) -> Mapping[int, Sequence[tuple[str, int]]]:
    """Return the words and their letters, by length."""
    found: dict[int, list[tuple[str, int]]] = {}
    for word in known:
        found.setdefault(len(word), []).append((word, _letters(word)))
    return found


def _letters(word: str) -> int:
    """Return a bit set of the letters of a word; two letters may share a bit."""
    return sum({1 << ord(letter) % 64 for letter in word})


def typo_of(word: str, known: Collection[str]) -> str | None:
    """Return the nearest word that differs by one letter or by at most three extra letters."""
    return nearest(word, known, cutoff=max(_NEAR, 1 - 2 / (len(word) + 1)))
