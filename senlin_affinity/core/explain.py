"""A Decision in words: the line, plain values, and rows for a table.

Shapes::

    does not fit: 4 of 6 placed; 0/5 hosts left: server_group.host_full on 3, member_of.forbidden
    on 1, resources.exhausted on 1 (DISK_GB)

A host counts in the line under its first REJECT, in the order of the constraints, so the counts and
the hosts that are left add up to all hosts. What the request as a whole runs into (a quota) comes
after them and is not counted. A line holds no name of a host: every user may read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from senlin_affinity.core.reasons import sentence
from senlin_affinity.core.verdict import Verdict

if TYPE_CHECKING:
    from senlin_affinity.core.assessment import Row
    from senlin_affinity.core.decision import Decision

_HEADS = {True: 'fits', False: 'does not fit', None: 'not known whether it fits'}


def line(decision: Decision) -> str:
    """The decision in one line."""
    parts = [f'{len(decision.placements)} of {decision.wanted} placed']
    if decision.is_hosts_known:
        parts.append(_hosts(decision))
    else:
        parts.append('the hosts are not known')
    parts += [
        f'{verdict.code} ({sentence(verdict, decision.reasons)})'
        for verdict in decision.request.values()
        if not verdict
    ]
    if decision.capacity_is_upper_bound:
        most = 'perhaps fewer' if decision.capacity is None else f'at most {decision.capacity}'
        parts.append(f'{most}, because of {", ".join(decision.at_most)}')
    return f'{_HEADS[decision.fits]}: {"; ".join(parts)}'


def _hosts(decision: Decision) -> str:
    known = sum(number for _row, number in decision.tally)
    left = sum(number for row, number in decision.tally if row.code is None)
    counts = ', '.join(
        f'{code} on {number}{_details(code, decision)}' for code, number in _count(decision.tally)
    )
    return f'{left}/{known} hosts left{f": {counts}" if counts else ""}'


def _count(tally: Iterable[tuple[Row, int]]) -> list[tuple[str, int]]:
    """How many hosts each first REJECT holds, the most frequent first."""
    counts: dict[str, int] = {}
    order: dict[str, int] = {}
    for row, number in tally:
        if row.by is not None:
            code = row.verdicts[row.by].code
            counts[code] = counts.get(code, 0) + number
            if code not in order:
                order[code] = list(row.verdicts).index(row.by)
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


def as_dict(decision: Decision) -> dict[str, Any]:
    """The decision as plain values."""
    return {
        'fits': decision.fits,
        'wanted': decision.wanted,
        'capacity': decision.capacity,
        'capacity_is_upper_bound': decision.capacity_is_upper_bound,
        'at_most': list(decision.at_most),
        'line': line(decision),
        'placements': [
            {'host': placed.host, 'zone': placed.zone, 'servergroup': placed.servergroup}
            for placed in decision.placements
        ],
        'hosts': [
            {
                'host': report.host,
                'room': report.room,
                'code': report.code,
                'verdicts': _verdicts(report.verdicts),
            }
            for report in decision.hosts
        ],
        'request': _verdicts(decision.request),
        'remedies': [
            {
                'code': remedy.code,
                'change': remedy.change,
                'capacity': remedy.capacity,
                'capacity_is_upper_bound': remedy.capacity_is_upper_bound,
            }
            for remedy in decision.remedies
        ],
    }


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


def advice(decision: Decision) -> Sequence[str]:
    """What the constraints advise about the hosts that the fewest rules refuse, and the request.

    Following the advice of one rule helps where it alone refuses a host. Where every host is
    refused by several, what all of them advise is needed together.
    """
    rows = [row for row, _number in decision.tally if row.code is not None]
    refused = [[item.code for item in row.verdicts.values() if not item] for row in rows]
    refused.sort(key=len)
    near = [code for codes in refused if len(codes) == len(refused[0]) for code in codes]
    codes = [code for code, _number in _count(decision.tally) if code in near] + near
    codes += [verdict.code for verdict in decision.request.values() if not verdict]
    given = (decision.reasons[code].advice for code in codes if code in decision.reasons)
    return tuple(dict.fromkeys(words for words in given if words))
