"""An assumption that a decision makes about something that it could not read.

A constraint declares its assumptions (``assumptions`` of a constraint), and a decision lists those
that could change its number. A number is an upper bound instead if it depends on something that is
known to be uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Assumption(NamedTuple):
    """A stable code, such as ``nova.filters``, and a text that completes "assuming ...".

    If the assumption is wrong, fewer servers fit, never more. The module that declares an
    assumption defines it as a constant. Its text is a format string for facts.
    """

    code: str
    text: str

    def of(self, **facts: Any) -> Assumption:
        """Return the assumption with the facts inserted into its text."""
        return self._replace(text=self.text.format(**facts))


class OpenAssumption(Assumption):
    """An assumption that may also hide capacity: if it is wrong, more or fewer servers fit."""


def assuming(found: Iterable[Assumption]) -> str:
    """Return ', assuming TEXT, TEXT' to append to a line; '' for no assumptions."""
    texts = ', '.join(item.text for item in found)
    return texts and f', assuming {texts}'
