"""Which known word a mistyped one was meant to be.

A word is near when few letters were left out, added, changed or swapped with their neighbour: one
in a word of less than eight letters, two below twelve, else three. Where several letters in a row
were replaced by others, it is another word. The nearest is told; among equally near ones the first
in the alphabet, so that the answer is always the same.

Shapes: ``nearest('cpu_pollllicy', ['cpu_cores', 'cpu_policy']) == 'cpu_policy'``; None where no
word is near.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

_MOST = 3
_CANDIDATES = 6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest, if one is near enough to be meant."""
    allowed = max(1, min(_MOST, len(word) // 4))
    best: tuple[int, str] | None = None
    for each in known:
        if abs(len(each) - len(word)) <= allowed:
            one, other = differing(word, each)
            found = (distance(one, other), each)
            is_replaced = one and other and found[0] == max(len(one), len(other)) > 1
            if found[0] <= allowed and not is_replaced and (best is None or found < best):
                best = found
    return None if best is None else best[1]


def differing(one: str, other: str) -> tuple[str, str]:
    """What is left of two words without the letters that they begin and end with alike."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one, other = one[start:], other[start:]
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[: len(one) - end], other[: len(other) - end]


def distance(one: str, other: str) -> int:
    """Letters to leave out, add, change or swap with their neighbour, to make one the other."""
    before: Sequence[int] = ()
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, row = row, [i]
        for j, target in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != target))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == target:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]


class Vocabulary:
    """Many known words, of which only those are compared that share most pairs of letters."""

    def __init__(self, words: Collection[str]) -> None:
        self.words = tuple(words)

    @cached_property
    def _by_pair(self) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for word in self.words:
            for pair in _pairs(word):
                found[pair].append(word)
        return dict(found)

    def nearest(self, word: str) -> str | None:
        """The known word that is nearest, if one is near enough to be meant."""
        if len(self.words) <= _CANDIDATES:
            return nearest(word, self.words)
        shared: Counter[str] = Counter()
        for pair in _pairs(word):
            shared.update(self._by_pair.get(pair, ()))
        return nearest(word, (each for each, _ in shared.most_common(_CANDIDATES)))


def _pairs(word: str) -> Collection[str]:
    """Each pair once; in order, as the order decides among words that share equally many."""
    return dict.fromkeys(map(''.join, pairwise(f'^{word}$')))
