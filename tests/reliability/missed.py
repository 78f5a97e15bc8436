"""Cases of which it is known that a promise does not hold, each with its reason.

A case is named by a pattern; one that holds by now is to be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.reliability.report import Broken

#: Which cases (a pattern), which promise, and why.
MISSED: tuple[tuple[str, str, str], ...] = ()


def sorted_out(broken: Iterable[Broken]) -> tuple[tuple[Broken, ...], tuple[Broken, ...]]:
    """What nobody expects, and what is known, with the reason in place of the words."""
    news, known = [], []
    for case, kind, words in broken:
        for pattern, what, why in MISSED:
            if kind == what and re.search(pattern, case):
                known.append((case, kind, why))
                break
        else:
            news.append((case, kind, words))
    return tuple(news), tuple(known)
