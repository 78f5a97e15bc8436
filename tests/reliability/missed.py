"""Cases of which it is known that a promise does not hold, each with its reason.

A case is named by a pattern; one that holds by now is to be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.reliability.promises import LEAK
from tests.reliability.report import Broken

_UNNOTED = (
    'the group has the name that is made of the cluster, and no note: the next attach to the '
    'cluster takes it up, but nothing does once the cluster is deleted'
)
_UNBOUND = (
    'a group that was made and not bound, or kept, is known to the cluster only: nothing takes it '
    'up once the cluster is deleted'
)
_INHERITED = 'the last cluster that inherited the group of another one leaves it'
#: Which cases, which promise, and why.
MISSED = (
    (r'attach: (own group|with max_size); POST /compute.*; drip; ', LEAK, _UNNOTED),
    (r'; before \d+\. .*; (again|cluster deleted)$', LEAK, _UNBOUND),
    (r'^(sandbox )?round \d+$', LEAK, _INHERITED),
)


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
