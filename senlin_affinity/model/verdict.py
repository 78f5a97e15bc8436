"""The answer of a constraint: an outcome with a stable reason code, facts, and bounds.

Example::

    Verdict.passed('server_group.free_slots', room=2, group='web', members=1)

The bounds are numbers of further servers; None: the constraint sets no limit.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds

#: The code of a caveat about a filter, a hint or a feature of the flavor that nothing models.
UNMODELLED = 'flavor.unmodelled'


class Caveat(NamedTuple):
    """Why Nova may place fewer servers: a stable code, and the text in a plan."""

    code: str
    text: str


class Outcome(str, enum.Enum):
    """The outcome of a constraint: it holds, it does not, or it does not apply (or is unknown)."""

    PASS = 'PASS'
    REJECT = 'REJECT'
    SKIP = 'SKIP'


@dataclass(frozen=True)
class Verdict:
    """The answer of one constraint for one host, for a domain, or for a whole request.

    ``bool(verdict)`` is "not rejected". A rejected request may have bounds above 0: so many servers
    would pass. ``caveats`` of a verdict about a request explain why the upper bound may be too
    high; they count only if it is. By default, the reason explains it.
    """

    outcome: Outcome
    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    bounds: Bounds = UNLIMITED
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome is Outcome.REJECT and self.bounds is UNLIMITED:
            object.__setattr__(self, 'bounds', NONE)

    def __bool__(self) -> bool:
        return self.outcome is not Outcome.REJECT

    @property
    def room(self) -> int | None:
        """Return the upper bound; None: no limit."""
        return self.bounds.upper

    @classmethod
    def passed(
        cls,
        code: str,
        *,
        room: int | None = None,
        is_at_most: bool = False,
        least: int | None = None,
        caveats: tuple[str, ...] = (),
        **facts: Any,
    ) -> Verdict:
        """Return a PASS with room for this many more servers (None: no limit).

        :param is_at_most: whether a caveat applies, so that 0 are guaranteed.
        :param least: the guaranteed number, if a caveat applies.
        """
        if least is not None:
            bounds = Bounds.at_most(room, least)
        elif is_at_most:
            bounds = Bounds(0, room, room)
        else:
            bounds = UNLIMITED if room is None else Bounds(room, room, room)
        return cls(Outcome.PASS, code, facts, bounds, caveats)

    @classmethod
    def rejected(cls, code: str, **facts: Any) -> Verdict:
        """Return a REJECT, with room for no server."""
        return cls(Outcome.REJECT, code, facts, NONE)

    @classmethod
    def skipped(cls, code: str, **facts: Any) -> Verdict:
        """Return a SKIP: the constraint does not apply to this host or request."""
        return cls(Outcome.SKIP, code, facts)

    @classmethod
    def unknown(cls, code: str, *, room: int | None = None, **facts: Any) -> Verdict:
        """Return a SKIP because the snapshot lacks a needed part; ``room`` is an upper bound."""
        return cls(Outcome.SKIP, code, facts, Bounds.unknown(room))

    def with_caveat(self, lower: int = 0) -> Verdict:
        """Return the verdict with only this many servers guaranteed."""
        return replace(self, bounds=self.bounds._replace(lower=lower))
