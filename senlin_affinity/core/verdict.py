"""What a rule answers: pass, reject or skip, with a stable code and the facts behind it.

Shapes::

    Verdict(Outcome.REJECT, 'server_group.host_full',
            {'group': 'web', 'members': 3, 'max_server_per_host': 3}, room=0)

Units: ``room`` is a number of further servers; None: the rule sets no limit. Nova may find less
where ``is_at_most``, any or none unless ``is_known``. ``least`` is what is certain of the room,
where that is less.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Outcome(str, enum.Enum):
    """PASS: the rule holds; REJECT: it does not; SKIP: it has nothing to say here."""

    PASS = 'PASS'
    REJECT = 'REJECT'
    SKIP = 'SKIP'


@dataclass(frozen=True)
class Verdict:
    """One rule's answer about one host, or about a request as a whole.

    ``bool(verdict)`` is "not rejected".
    """

    outcome: Outcome
    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    room: int | None = None
    is_at_most: bool = False
    is_known: bool = True
    least: int | None = None

    def __bool__(self) -> bool:
        return self.outcome is not Outcome.REJECT

    @classmethod
    def passed(
        cls,
        code: str,
        *,
        room: int | None = None,
        is_at_most: bool = False,
        least: int | None = None,
        **facts: Any,
    ) -> Verdict:
        """The rule holds, and leaves room for so many servers more (None: no limit)."""
        return cls(Outcome.PASS, code, facts, room, is_at_most, least=least)

    @classmethod
    def rejected(cls, code: str, **facts: Any) -> Verdict:
        """The rule does not hold: there is no room here."""
        return cls(Outcome.REJECT, code, facts, 0)

    @classmethod
    def skipped(cls, code: str, **facts: Any) -> Verdict:
        """The rule has nothing to say about this host or request."""
        return cls(Outcome.SKIP, code, facts)

    @classmethod
    def unknown(cls, code: str, *, room: int | None = None, **facts: Any) -> Verdict:
        """The rule can not say: the snapshot lacks what it needs. It is no more than ``room``."""
        return cls(Outcome.SKIP, code, facts, room, is_known=False)
