"""What a number rests on though nobody told it: no mistake, but to be said beside the number.

The way of the data: a constraint that reads something which was neither told nor readable, and
which could change the number, says so (``assumptions`` of a constraint); the decision has all of
them. What is *known* to be unsure makes the number "at most" instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Assumption(NamedTuple):
    """A stable code, such as ``nova.filters``, and words that go on "assuming ...".

    Where it is wrong, fewer servers fit than are said to: what does not fit with it never does.
    Each is a constant of the module that declares it; its words may have facts in braces.
    """

    code: str
    text: str

    def of(self, **facts: Any) -> Assumption:
        """With the facts of one question."""
        return self._replace(text=self.text.format(**facts))


class OpenAssumption(Assumption):
    """One that may be wrong in both ways: without it, more servers may fit, too."""


def assuming(found: Iterable[Assumption]) -> str:
    """What ends a line that rests on them; empty for none."""
    texts = ', '.join(item.text for item in found)
    return texts and f', assuming {texts}'
