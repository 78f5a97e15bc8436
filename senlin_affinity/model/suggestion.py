"""Suggest the known word that a user probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from itertools import islice

_NEAR = 0.6
_MOST = 50


def meant(word: str, known: Collection[str]) -> str:
    """Return 'did you mean X?' for the nearest known word, or a list of at most 50 known words."""
    near = nearest(word, known)
    if near is not None:
        return f'did you mean {near}?'
    shown = [*islice(known, _MOST)]
    if len(shown) < len(known):
        shown.append('...')
    return f'choose from {", ".join(shown)}' if shown else 'there are none'


def nearest(word: str, known: Collection[str], cutoff: float = _NEAR) -> str | None:
    """Return the nearest known word, preferably with the same letters; None if none is near.

    ``cutoff`` is difflib's similarity ratio, 0 to 1.
    """
    close = difflib.get_close_matches(word, known, cutoff=cutoff)
    return max(close, key=lambda each: sorted(each) == sorted(word), default=None)


def typo_of(word: str, known: Collection[str]) -> str | None:
    """Return the nearest word that differs by case, by one letter, or by a few extra letters."""
    same = next((each for each in known if each.lower() == word.lower()), None)
    return same or nearest(word, known, cutoff=max(_NEAR, 1 - 2 / (len(word) + 1)))
