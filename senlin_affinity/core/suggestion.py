"""Which known word a person may have meant by a word that is not known.

Units: a ``cutoff`` is difflib's share of letters in common, 0 to 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

_NEAR = 0.6
#: So many words are listed.
_MOST = 50


def meant(word: str, known: Collection[str], otherwise: str = 'known are') -> str:
    """The known word that is nearest, as a question; where none is near, all of them, or many."""
    near = nearest(word, known)
    if near is not None:
        return f'did you mean {near}?'
    shown = [*islice(known, _MOST)]
    if len(shown) < len(known):
        shown.append('...')
    return f'{otherwise} {", ".join(shown)}' if shown else 'there are none'


def nearest(word: str, known: Collection[str], cutoff: float = _NEAR) -> str | None:
    """The known word that is nearest, first of all one with swapped letters; None: none is near."""
    size, most, letters = len(word), 1.001 - cutoff, _letters(word)
    # Not in common are the difference of their lengths, and two for each letter of the shorter word
    # that the longer one lacks, at least: difflib would find that out more slowly.
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
    """Do they begin or end with as many letters alike as are enough for difflib?"""
    half = int(cutoff * (len(one) + len(other)) / 2) + 1
    return one[:half] == other[:half] or one[-half:] == other[-half:]


@lru_cache(maxsize=16)
def _by_length(known: tuple[str, ...]) -> Mapping[int, Sequence[tuple[str, int]]]:
    """The words with their letters, by how many they are."""
    found: dict[int, list[tuple[str, int]]] = {}
    for word in known:
        found.setdefault(len(word), []).append((word, _letters(word)))
    return found


def _letters(word: str) -> int:
    """A bit for each letter that is in it; letters may share one."""
    return sum({1 << ord(letter) % 64 for letter in word})


def typo_of(word: str, known: Collection[str]) -> str | None:
    """The nearest for words that are much alike: a letter is another, or three are too many."""
    return nearest(word, known, cutoff=max(_NEAR, 1 - 2 / (len(word) + 1)))
