"""The planner's answer: how many servers fit, where they go, and why no more of them fit.

Example of a line::

    does not fit: 4 of 6 placed; 0/5 hosts left: server_group.host_full on 3, member_of.forbidden
    on 1, resources.exhausted on 1 (DISK_GB)

Units: numbers of servers. ``capacity`` is not capped by ``wanted`` (None: unknown).
``capacity_certain`` is guaranteed as long as the assumptions hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from senlin_affinity.engine.host_reports import HostReport, HostsAfter
from senlin_affinity.engine.table import HostVerdicts, is_state, nearest
from senlin_affinity.model.bounds import UNLIMITED, Bounds
from senlin_affinity.model.proposal import Kind
from senlin_affinity.model.server_group import Place
from senlin_affinity.model.verdict import (
    Assumption,
    OpenAssumption,
    Outcome,
    Reason,
    Verdict,
    assuming,
    sentence,
)

_SHOWN = ('code', 'change', 'capacity', 'capacity_is_upper_bound')
#: The code of a remedy of two changes.
TWO = 'two_changes'
_HEADS: Mapping[bool | None, str] = {
    True: 'fits',
    False: 'does not fit',
    None: 'not known whether it fits',
}
#: What is not known, in the text of a constraint and in another text.
_OF_CONSTRAINT = re.compile(
    r'constraint [^ ]+ \((?:it is not known (.*)|(.*?),? (?:is|are) not known)\)', re.DOTALL
)
_OF_OTHERS = re.compile(r'(.*?),? (?:that|which) are not known|((?:what|whether) .*)', re.DOTALL)
_BY_BOUND = 'fits by an upper bound only'


class PlacedServer(NamedTuple):
    """The planned host of one new server; ``servergroup`` is the id of its group."""

    host: str
    zone: str | None = None
    servergroup: str | None = None


@dataclass(frozen=True)
class Remedy:
    """A change that would help, and the capacity with it.

    ``size`` is the number of servers, hosts or values that change. ``data`` describes the change
    (:mod:`~senlin_affinity.engine.changes`); ``commands`` carry it out (empty: no command exists).
    ``for_tenant``: the user could make it within the current quotas, and it names only the user's
    objects. ``has_operator_note``: an operator has recorded a reason against it, so it ranks last.
    """

    code: str
    change: str
    capacity: int
    size: int
    capacity_is_upper_bound: bool = False
    kind: Kind = Kind.OPERATORS
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    commands: tuple[str, ...] = ()
    for_tenant: bool = False
    has_operator_note: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the remedy for JSON: not size, ``for_tenant`` and ``has_operator_note``."""
        shown = {name: getattr(self, name) for name in _SHOWN}
        more = {'kind': self.kind.value, 'data': self.data, 'commands': list(self.commands)}
        return shown | more

    def __str__(self) -> str:
        most = 'at most ' if self.capacity_is_upper_bound else ''
        return f'{self.change} (capacity {most}{self.capacity})'


@dataclass(frozen=True)
class Decision:
    """The answer to one request. ``fits`` is None if that is unknown.

    ``at_most`` are the reasons why Nova may place fewer servers than ``capacity``. ``placements``
    are the planned hosts of the servers that are expected to fit. ``remedies`` would help, the
    best first; empty if the request fits. ``tried`` are the changes that the user could make,
    helpful or not. ``assumptions`` could change the capacity. ``violated`` are the hosts
    whose members already violate the group's policy. ``about_capacity`` names the constraints that
    reject only full hosts. ``of_hosts`` are the bounds of the hosts alone, without quotas.
    ``is_host_named``: the request names its host.
    """

    fits: bool | None
    wanted: int
    capacity: int | None
    at_most: tuple[str, ...]
    placements: tuple[PlacedServer, ...]
    request: Mapping[str, Verdict] = field(hash=False)
    reasons: Mapping[str, Reason] = field(hash=False, repr=False)
    hosts_after: HostsAfter | None = field(default=None, repr=False)
    remedies: tuple[Remedy, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    capacity_certain: int = 0
    tried: tuple[Remedy, ...] = ()
    violated: tuple[Place, ...] = ()
    about_capacity: frozenset[str] = frozenset()
    of_hosts: Bounds = UNLIMITED
    is_host_named: bool = False

    @property
    def capacity_is_upper_bound(self) -> bool:
        """Whether there is a caveat."""
        return bool(self.at_most)

    @property
    def certain(self) -> bool:
        """Whether the capacity is known, without caveats and without assumptions."""
        return self.capacity is not None and not self.at_most and not self.assumptions

    @property
    def fits_by_upper_bound(self) -> bool:
        """Whether it fits, but with a caveat and above ``capacity_certain``."""
        return bool(self.fits and self.at_most and self.wanted > self.capacity_certain)

    @property
    def is_hosts_known(self) -> bool:
        """Whether the snapshot has hosts; True for an empty list."""
        return self.hosts_after is not None

    @cached_property
    def hosts(self) -> tuple[HostReport, ...]:
        """The report of each host, in the snapshot's order; () if the hosts are unknown."""
        return () if self.hosts_after is None else self.hosts_after.reports()

    @cached_property
    def tally(self) -> Sequence[tuple[HostVerdicts, int]]:
        """The distinct rows, each with the number of its hosts; () if the hosts are unknown."""
        return () if self.hosts_after is None else self.hosts_after.tally()

    @property
    def decisive_assumptions(self) -> Sequence[Assumption]:
        """The assumptions; if ``fits`` is False, only each OpenAssumption."""
        return [
            item
            for item in self.assumptions
            if self.fits is not False or isinstance(item, OpenAssumption)
        ]

    @property
    def not_known(self) -> Iterator[str]:
        """What is not known, for each of ``at_most``: "whether the hypervisors support x"."""
        for text in self.at_most:
            found = _OF_CONSTRAINT.fullmatch(text) or _OF_OTHERS.fullmatch(text)
            yield f'the effect of {text}' if found is None else found[1] or found[2]

    def line(self) -> str:
        """Return the summary, and ", assuming TEXT, TEXT" for the decisive assumptions."""
        return f'{self.summary()}{assuming(self.decisive_assumptions)}'

    def summary(self) -> str:
        """Return "HEAD: PART; PART", without the name of any host.

        HEAD is "fits", "fits by an upper bound only", "does not fit" or "not known whether it
        fits". The parts are "4 of 6 placed", "1/4 hosts left: CODE on 2 (DETAIL), CODE on 1" or
        "the hosts are not known", "CODE (SENTENCE)" for each rejection of the request, and for
        caveats "at most 4, because of A, B" ("perhaps fewer" if the capacity is None).
        """
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

    def as_dict(self, *, skipped: bool = True) -> dict[str, Any]:
        """Return the decision as plain values for JSON.

        The keys are fits, wanted, capacity, capacity_is_upper_bound, capacity_certain, at_most,
        certain, assumptions, line, placements, hosts, request, remedies, violated and
        capacity_of_hosts.

        :param skipped: whether to include the verdicts with the outcome SKIP.
        """
        return {
            'fits': self.fits,
            'wanted': self.wanted,
            'capacity': self.capacity,
            'capacity_is_upper_bound': self.capacity_is_upper_bound,
            'capacity_certain': self.capacity_certain,
            'at_most': list(self.at_most),
            'certain': self.certain,
            'assumptions': [item._asdict() for item in self.assumptions],
            'line': self.line(),
            'placements': [placed._asdict() for placed in self.placements],
            'hosts': [
                {name: getattr(report, name) for name in ('host', 'room', 'code')}
                | {'verdicts': _verdicts(report.verdicts, skipped)}
                for report in self.hosts
            ],
            'request': _verdicts(self.request, skipped),
            'remedies': [remedy.as_dict() for remedy in self.remedies],
            'violated': [place.as_dict() for place in self.violated],
            'capacity_of_hosts': self.of_hosts.upper,
        }

    def is_state(self, name: str, verdict: Verdict) -> bool:
        """Check whether the constraint of this name rejects a host because of its state only."""
        return is_state(name, verdict, self.reasons, self.about_capacity)

    def advice(self) -> Sequence[str]:
        """Return the advice for the rejected hosts with the fewest REJECTs, then for the request.

        If some hosts are rejected because of their state only, the advice is for these. Each once;
        that for the most frequent codes comes first.
        """
        rows = nearest((row for row, _number in self.tally), self.reasons, self.about_capacity)
        near = [each.code for row in rows for each in row.verdicts.values() if not each]
        codes = [code for code, _number in _count(self.tally) if code in near] + near
        codes += [verdict.code for verdict in self.request.values() if not verdict]
        given = (self.reasons[code].advice for code in codes)
        return tuple(dict.fromkeys(words for words in given if words))

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


def _hosts(decision: Decision) -> str:
    """Return "1/4 hosts left: resources.exhausted on 2 (DISK_GB), host_state.down on 1"."""
    total = sum(number for _row, number in decision.tally)
    left = sum(number for row, number in decision.tally if row.code is None)
    counts = ', '.join(
        f'{code} on {number}{_details(code, decision)}' for code, number in _count(decision.tally)
    )
    return f'{left}/{total} hosts left{f": {counts}" if counts else ""}'


def _count(tally: Iterable[tuple[HostVerdicts, int]]) -> list[tuple[str, int]]:
    """Return each code with the number of hosts whose first REJECT it is.

    The largest number comes first, then the first constraint, then the first code.
    """
    counts: Counter[str] = Counter()
    order: dict[str, int] = {}
    for row, number in tally:
        if row.rejected_by is not None and row.code is not None:
            counts[row.code] += number
            order.setdefault(row.code, list(row.verdicts).index(row.rejected_by))
    return sorted(counts.items(), key=lambda item: (-item[1], order[item[0]], item[0]))


def _details(code: str, decision: Decision) -> str:
    """Return the sorted ``detail`` facts of a code, " (DISK_GB, VCPU)"; '' without any."""
    detail = decision.reasons[code].detail
    if not detail:
        return ''
    found = {
        word
        for row, _number in decision.tally
        if row.code == code and row.rejected_by is not None
        for word in str(row.verdicts[row.rejected_by].facts[detail]).split(', ')
    }
    return f' ({", ".join(sorted(found))})'


def _verdicts(verdicts: Mapping[str, Verdict], skipped: bool) -> list[dict[str, Any]]:
    """Return the verdicts for JSON; those with the outcome SKIP only if ``skipped``."""
    return [
        {
            'constraint': name,
            'outcome': verdict.outcome.value,
            'code': verdict.code,
            'facts': dict(verdict.facts),
        }
        for name, verdict in verdicts.items()
        if skipped or verdict.outcome is not Outcome.SKIP
    ]
