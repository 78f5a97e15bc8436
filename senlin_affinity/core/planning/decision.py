"""What the planner answers: how many servers fit, where they go, and why no more.

The report of every host and the words are made when somebody looks; until then what is said stands
once for all hosts that look alike (:class:`Standing`). Nothing of the snapshot is held but names.

Shapes: :meth:`Decision.as_dict` is what ``plan -f json`` prints, and a line is::

    does not fit: 4 of 6 placed; 0/5 hosts left: server_group.host_full on 3, member_of.forbidden
    on 1, resources.exhausted on 1 (DISK_GB)

Units: numbers of servers. ``capacity`` counts from now on, and is not capped by ``wanted``; None:
cannot be known. ``firm`` is what of it fits whatever makes the capacity "at most".
``HostReport.room`` is what is left after the placements; None: not known, or no limit.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from senlin_affinity.core.assumptions import Assumption, OpenAssumption, assuming
from senlin_affinity.core.group_places import Place
from senlin_affinity.core.planning.host_reports import HostReport, Standing
from senlin_affinity.core.planning.rows import Row
from senlin_affinity.core.reasons import Reason, sentence
from senlin_affinity.core.verdict import Verdict

#: What is printed of a remedy as it is.
_SHOWN = ('code', 'change', 'capacity', 'capacity_is_upper_bound')
#: Codes of remedies: what fits now, and two changes where none alone is enough.
FEWER, TWO = 'fewer_servers', 'two_changes'
_HEADS: Mapping[bool | None, str] = {
    True: 'fits',
    False: 'does not fit',
    None: 'not known whether it fits',
}
_BY_BOUND = 'fits by an upper bound only'


class PlacedServer(NamedTuple):
    """Where one new server goes."""

    host: str
    zone: str | None = None
    servergroup: str | None = None


class Kind(enum.Enum):
    """Whose it is to make a change: the asker's, an operator's; or it gives up what was asked for.

    Of changes of one size, they stand in this order.
    """

    ASKERS = 'askers'
    OPERATORS = 'operators'
    GIVEN_UP = 'given_up'


@dataclass(frozen=True)
class Remedy:
    """One change that would help, and the capacity that was planned with it.

    ``size`` is how much is changed: servers, hosts or values. Where ``capacity_is_upper_bound``,
    Nova may place fewer than the capacity with the change, too. ``data`` says all of the change in
    plain values (:mod:`~senlin_affinity.core.planning.actions`), ``commands`` are the lines that
    carry it out, where there are such. ``is_owners``: it names nothing but the asker's own, and the
    asker could try it within the quotas that there are.
    """

    code: str
    change: str
    capacity: int
    size: int
    capacity_is_upper_bound: bool = False
    kind: Kind = Kind.OPERATORS
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    commands: tuple[str, ...] = ()
    is_owners: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The remedy as plain values, ready for JSON."""
        shown = {name: getattr(self, name) for name in _SHOWN}
        more = {'kind': self.kind.value, 'data': self.data, 'commands': list(self.commands)}
        return shown | more

    def __str__(self) -> str:
        most = 'at most ' if self.capacity_is_upper_bound else ''
        return f'{self.change} (capacity {most}{self.capacity})'


@dataclass(frozen=True)
class Decision:
    """The answer to one request, a plain value. ``fits`` is None where it cannot be known.

    ``at_most`` says in words why Nova may place fewer than ``capacity``. ``placements`` are where
    the servers go, one by one: as many as certainly fit, of those wanted. ``remedies`` are what
    would help, the smallest change first; empty where the request fits. ``tried`` are the changes
    that the asker could try, whether they help or not. ``assumptions`` are what nobody told, and
    could change the capacity. ``violated`` is where the rule of the group does not hold already.
    """

    fits: bool | None
    wanted: int
    capacity: int | None
    at_most: tuple[str, ...]
    placements: tuple[PlacedServer, ...]
    request: Mapping[str, Verdict] = field(hash=False)
    reasons: Mapping[str, Reason] = field(hash=False, repr=False)
    standing: Standing | None = field(default=None, repr=False)
    remedies: tuple[Remedy, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    firm: int = 0
    tried: tuple[Remedy, ...] = ()
    violated: tuple[Place, ...] = ()

    @property
    def capacity_is_upper_bound(self) -> bool:
        """Is the capacity "at most"?"""
        return bool(self.at_most)

    @property
    def certain(self) -> bool:
        """Is the capacity what Nova places: known, not "at most", and without an assumption?"""
        return self.capacity is not None and not self.at_most and not self.assumptions

    @property
    def fits_by_upper_bound(self) -> bool:
        """Does it fit only as far as the capacity, which is "at most", is reached?"""
        return bool(self.fits and self.at_most and self.wanted > self.firm)

    @property
    def is_hosts_known(self) -> bool:
        """May the caller see the hosts?"""
        return self.standing is not None

    @cached_property
    def hosts(self) -> tuple[HostReport, ...]:
        """Every host, in the snapshot's order; empty where they are not known."""
        return () if self.standing is None else self.standing.reports()

    @cached_property
    def tally(self) -> Sequence[tuple[Row, int]]:
        """What is said about the hosts, and about how many of them each."""
        return () if self.standing is None else self.standing.tally()

    def line(self) -> str:
        """The decision in one line, without the name of any host.

        A host counts under its first REJECT, so the counts and the hosts that are left add up to
        all hosts. What the request as a whole runs into (a quota) comes after them, uncounted. The
        assumptions end it; of what does not fit, only those without which it may.
        """
        assumed = [
            item
            for item in self.assumptions
            if self.fits is not False or isinstance(item, OpenAssumption)
        ]
        return f'{self.summary()}{assuming(assumed)}'

    def summary(self) -> str:
        """The line without the assumptions."""
        parts = [f'{len(self.placements)} of {self.wanted} placed']
        parts.append(_hosts(self) if self.is_hosts_known else 'the hosts are not known')
        parts += [
            f'{verdict.code} ({sentence(verdict, self.reasons)})'
            for verdict in self.request.values()
            if not verdict
        ]
        if self.capacity_is_upper_bound:
            most = 'perhaps fewer' if self.capacity is None else f'at most {self.capacity}'
            parts.append(f'{most}, because of {", ".join(self.at_most)}')
        head = _BY_BOUND if self.fits_by_upper_bound else _HEADS[self.fits]
        return f'{head}: {"; ".join(parts)}'

    def as_dict(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON."""
        return {
            'fits': self.fits,
            'wanted': self.wanted,
            'capacity': self.capacity,
            'capacity_is_upper_bound': self.capacity_is_upper_bound,
            'at_most': list(self.at_most),
            'certain': self.certain,
            'assumptions': [item._asdict() for item in self.assumptions],
            'line': self.line(),
            'placements': [placed._asdict() for placed in self.placements],
            'hosts': [
                {name: getattr(report, name) for name in ('host', 'room', 'code')}
                | {'verdicts': _verdicts(report.verdicts)}
                for report in self.hosts
            ],
            'request': _verdicts(self.request),
            'remedies': [remedy.as_dict() for remedy in self.remedies],
            'violated': [place.as_dict() for place in self.violated],
        }

    def advice(self) -> Sequence[str]:
        """What the constraints advise about the hosts that the fewest refuse, and the request.

        Following the advice of one rule helps where it alone refuses a host. Where every host is
        refused by several, what all of them advise is needed together.
        """
        rows = [row for row, _number in self.tally if row.code is not None]
        refused = [[item.code for item in row.verdicts.values() if not item] for row in rows]
        refused.sort(key=len)
        near = [code for codes in refused if len(codes) == len(refused[0]) for code in codes]
        codes = [code for code, _number in _count(self.tally) if code in near] + near
        codes += [verdict.code for verdict in self.request.values() if not verdict]
        given = (self.reasons[code].advice for code in codes if code in self.reasons)
        return tuple(dict.fromkeys(words for words in given if words))

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _hosts(decision: Decision) -> str:
    known = sum(number for _row, number in decision.tally)
    left = sum(number for row, number in decision.tally if row.code is None)
    counts = ', '.join(
        f'{code} on {number}{_details(code, decision)}' for code, number in _count(decision.tally)
    )
    return f'{left}/{known} hosts left{f": {counts}" if counts else ""}'


def _count(tally: Iterable[tuple[Row, int]]) -> list[tuple[str, int]]:
    """How many hosts each first REJECT holds, the most frequent first."""
    counts: Counter[str] = Counter()
    order: dict[str, int] = {}
    for row, number in tally:
        if row.by is not None and row.code is not None:
            counts[row.code] += number
            order.setdefault(row.code, list(row.verdicts).index(row.by))
    return sorted(counts.items(), key=lambda item: (-item[1], order[item[0]], item[0]))


def _details(code: str, decision: Decision) -> str:
    """The facts worth a word, such as the resource classes that ran out."""
    reason = decision.reasons.get(code)
    if reason is None or not reason.detail:
        return ''
    found = {
        word
        for row, _number in decision.tally
        if row.code == code and row.by is not None
        for word in str(row.verdicts[row.by].facts.get(reason.detail)).split(', ')
    }
    return f' ({", ".join(sorted(found))})'


def _verdicts(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    return [
        {
            'constraint': name,
            'outcome': verdict.outcome.value,
            'code': verdict.code,
            'facts': dict(verdict.facts),
        }
        for name, verdict in verdicts.items()
    ]
