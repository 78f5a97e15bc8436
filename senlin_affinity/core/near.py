"""What a person may have meant by a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(word: str, known: Iterable[str], otherwise: str = 'known are') -> str:
    """The known word that is nearest, as a question; where none is near, all of them."""
    words = list(known)
    near = difflib.get_close_matches(word, words)
    return f'did you mean {near[0]}?' if near else f'{otherwise} {", ".join(words)}'
