"""What the planner answers: how many servers fit, where they go, and why no more.

The way of the data: the planner fills a :class:`Decision` with the numbers; what is only looked at
(the placements, the report of every host, the line, the remedies) is worked out when somebody
looks, from the question as it stands after the placements.

Shapes: :meth:`Decision.as_dict` is what ``plan -f json`` prints.

Units: numbers of servers. ``capacity`` counts from now on, and is not capped by ``wanted``; None:
cannot be known. ``HostReport.room`` is what is left on the host after the placements; None: not
known, or no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from senlin_affinity.core import explain
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

if TYPE_CHECKING:
    from senlin_affinity.core.assessment import Row
    from senlin_affinity.core.standing import Standing


class PlacedServer(NamedTuple):
    """Where one new server goes."""

    host: str
    zone: str | None = None
    servergroup: str | None = None


class HostReport(NamedTuple):
    """One host after the placements: what every constraint says, by the constraint's name.

    ``code`` is that of the first REJECT, None where there is none, and ``by`` the constraint that
    gave it. ``members`` are the servers of the group that it held before, ``placed`` those of this
    request.
    """

    host: str
    room: int | None
    code: str | None
    verdicts: Mapping[str, Verdict]
    members: int = 0
    placed: int = 0
    by: str | None = None


@dataclass(frozen=True)
class Remedy:
    """One change that would help, and the capacity that was planned with it.

    ``size`` is how much is changed: servers, hosts or values. Where ``capacity_is_upper_bound``,
    Nova may place fewer than the capacity with the change, too.
    """

    code: str
    change: str
    capacity: int
    size: int
    capacity_is_upper_bound: bool = False

    def __str__(self) -> str:
        most = 'at most ' if self.capacity_is_upper_bound else ''
        return f'{self.change} (capacity {most}{self.capacity})'


@dataclass(frozen=True)
class Decision:
    """The answer to one request. ``fits`` is None where it cannot be known.

    ``at_most`` says in words why Nova may place fewer than ``capacity``.
    """

    fits: bool | None
    wanted: int
    capacity: int | None
    at_most: tuple[str, ...]
    request: Mapping[str, Verdict] = field(hash=False)
    reasons: Mapping[str, Reason] = field(hash=False, repr=False)
    place: Callable[[], tuple[PlacedServer, ...]] = field(repr=False, compare=False)
    stand: Callable[[], Standing | None] = field(repr=False, compare=False)
    find_remedies: Callable[[Decision], tuple[Remedy, ...]] = field(repr=False, compare=False)

    @property
    def capacity_is_upper_bound(self) -> bool:
        """Is the capacity "at most"?"""
        return bool(self.at_most)

    @cached_property
    def placements(self) -> tuple[PlacedServer, ...]:
        """Where the servers go, one by one: as many as certainly fit, of those wanted."""
        return self.place()

    @cached_property
    def is_hosts_known(self) -> bool:
        """May the caller see the hosts?"""
        return self._standing is not None

    @cached_property
    def hosts(self) -> tuple[HostReport, ...]:
        """Every host, in the snapshot's order; empty where they are not known."""
        return () if self._standing is None else self._standing.reports()

    @cached_property
    def tally(self) -> Sequence[tuple[Row, int]]:
        """What is said about the hosts, and about how many of them each."""
        return () if self._standing is None else self._standing.tally()

    @cached_property
    def _standing(self) -> Standing | None:
        return self.stand()

    @cached_property
    def remedies(self) -> tuple[Remedy, ...]:
        """What would help, the smallest change first; empty where the request fits."""
        return self.find_remedies(self) if self.fits is False else ()

    def line(self) -> str:
        """The decision in one line, without the name of any host."""
        return explain.line(self)

    def as_dict(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON."""
        return explain.as_dict(self)
