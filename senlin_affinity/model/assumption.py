"""An assumption that a decision makes about something that it could not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Assumption(NamedTuple):
    """A stable code, such as ``nova.filters``, and a text that completes "assuming ...".

    If the assumption is wrong, fewer servers fit, never more. The text is a format string for
    facts.
    """

    code: str
    text: str

    def of(self, **facts: Any) -> Assumption:
        """Return the assumption with the facts in its text."""
        return self._replace(text=self.text.format(**facts))


class OpenAssumption(Assumption):
    """An assumption that may also hide capacity: if it is wrong, more or fewer servers fit."""


def assuming(found: Iterable[Assumption]) -> str:
    """Return ', assuming TEXT, TEXT' to append to a line; '' for no assumptions."""
    texts = ', '.join(item.text for item in found)
    return texts and f', assuming {texts}'
