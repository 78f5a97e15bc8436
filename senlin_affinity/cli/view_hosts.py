"""Describe the hosts of a decision: grouped by reason in sentences, and all of them in a table.

Example::

    2 hosts: full with these servers: cmp-1 (+3 in az-1), cmp-2 (+3 in az-2)
    40 hosts: free capacity: cmp-3 (for 8), cmp-4 (for 8), cmp-5 (for 8), ... and 37 more
    4,957 hosts: the compute service is disabled

Chosen hosts come first, then hosts with free capacity, then those that only one constraint rejects.
Groups of more than a few hosts name only such hosts. The free capacity is what remains after the
new servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from senlin_affinity.answers.headline import shared_sentence, short_sentence
from senlin_affinity.cli import servers_view
from senlin_affinity.cli.view_notes import Answer
from senlin_affinity.cli.wrapping import lines
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.host_reports import HostReport
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.verdict import agreeing, sentence
from senlin_affinity.nova import host_status

#: The number of hosts that a group names, of chosen hosts, and of groups.
MOST, _MOST_CHOSEN, _MOST_GROUPS = 5, 20, 10


class _Place(NamedTuple):
    """One host of a group; hosts that come closest to taking a server sort first.

    ``detail`` is what is special about the host, and ``exact`` the sentence that contains it.
    """

    rank: tuple[bool, bool, int, float]
    host: str
    detail: str
    exact: str

    @property
    def is_near(self) -> bool:
        return self.rank[2] < 2


def groups(answer: Answer, *, is_long: bool = False) -> Iterator[str]:
    """Yield a sentence for each group of hosts with the same reason."""
    zones, found = _zones(answer), dict[str, list[_Place]]()
    for report in answer.decision.hosts:
        reason, detail, exact = _reason(report, answer.decision, zones)
        code = f' [{report.code}]' if is_long and report.code else ''
        place = _Place(_rank(report), report.host, detail, f'{exact}{code}')
        found.setdefault(f'{reason}{code}', []).append(place)
    in_order = sorted(found.items(), key=lambda item: _importance(item[1]))
    shown = in_order if is_long else in_order[:_MOST_GROUPS]
    for reason, places in shown:
        places.sort(key=lambda place: place.rank)
        near = [place for place in places if place.is_near or len(places) <= MOST]
        most = _MOST_CHOSEN if not places[0].rank[0] else MOST
        is_shared = places[0].exact != reason and len({place.exact for place in places}) == 1
        if is_shared:
            reason = places[0].exact
        names = [f'{place.host}{place.detail * (not is_shared)}' for place in near[:most]]
        rest = [f'and {len(places) - len(names):,} more'] if len(places) > len(names) > 0 else []
        named = f': {", ".join([*names, *rest])}' if names else ''
        yield f'{counted(len(places), "host")}: {agreeing(reason, len(places))}{named}'
    hidden = [len(places) for _reason, places in in_order[len(shown) :]]
    if hidden:
        yield f'{counted(sum(hidden), "host")}: {counted(len(hidden), "other reason")} (see --long)'


def uses(answer: Answer) -> Iterator[str]:
    """Yield what uses each full host that was read, unless it is servers alone."""
    reports = {report.host: report for report in answer.decision.hosts}
    for host in answer.view.hosts or ():
        report = reports.get(host.host)
        if report is not None and report.rejected_by == ResourcesConstraint.name:
            facts = report.verdicts[ResourcesConstraint.name].facts
            if words := host_status.consumption(host, str(facts.get('resource'))):
                yield words


def _importance(places: Sequence[_Place]) -> tuple[Any, ...]:
    """Return a sort key for groups: that of the closest host, then the number of near hosts."""
    return *min(places).rank[:3], -sum(place.is_near for place in places), -len(places)


def _rank(report: HostReport) -> tuple[bool, bool, int, float]:
    """Return a sort key: chosen, with free capacity, with few rejections, with much of it free."""
    rejections = [verdict for verdict in report.verdicts.values() if not verdict]
    free = dict(rejections[0].facts).get('free', 0) if rejections else report.room or 0
    least = -free if isinstance(free, int | float) else 0
    return not report.placed, report.code is not None, len(rejections), least


def _reason(
    report: HostReport, decision: Decision, zones: Mapping[str, str]
) -> tuple[str, str, str]:
    """Return why a host takes so many servers, what is special about this host, and both."""
    rejection = None if report.rejected_by is None else report.verdicts[report.rejected_by]
    if report.placed:
        zone = f' in {zones[report.host]}' if report.host in zones else ''
        reason = 'chosen, with free capacity left'
        if rejection is not None:
            why = short_sentence(rejection, decision)
            is_full = report.rejected_by in decision.about_capacity
            reason = 'full with these servers' if is_full else f'chosen, then {why}'
        return reason, f' (+{report.placed:,}{zone})', reason
    if rejection is not None:
        of_host = decision.reasons[rejection.code].of_host
        detail = f' ({of_host.format_map(dict(rejection.facts))})' if of_host else ''
        exact = shared_sentence([rejection], decision)
        return short_sentence(rejection, decision), detail, exact
    for verdict in report.verdicts.values():
        if not verdict.bounds.is_known:
            words = f'may fit: {sentence(verdict, decision.reasons)}'
            return words, '', words
    words = 'free capacity'
    return words, '' if report.room is None else f' (for {report.room:,})', words


def _zones(answer: Answer) -> dict[str, str]:
    """Return the zone of each host, or nothing if all hosts are in one zone."""
    zones = {each.host: each.availability_zone or '?' for each in answer.view.hosts or ()}
    return zones if len(set(zones.values())) > 1 else {}


def table(answer: Answer, width: int) -> Iterator[str]:
    """Yield a line for each host: its domains, its servers, and the codes of all rejections."""
    decision, zones = answer.decision, _zones(answer)
    columns = ({'Zone': zones} if zones else {}) | servers_view.columns(
        answer.request, answer.cloud
    )
    rows = [('Host', *columns, 'Members', 'New', 'Free', 'Rejected by')]
    for report in decision.hosts:
        domains = (by_host.get(report.host, '?') for by_host in columns.values())
        free = '?' if report.room is None else f'{report.room:,}'
        numbers = f'{report.members:,}', f'{report.placed:,}', free
        rows.append((report.host, *domains, *numbers, ', '.join(_codes(report, decision))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(each) for cell, each in zip(row, widths, strict=True)]
        cells[-4:-1] = [cell.strip().rjust(len(cell)) for cell in cells[-4:-1]]
        yield from lines('  '.join(cells), width, others='    ')


def _codes(report: HostReport, decision: Decision) -> Iterator[str]:
    """Yield the codes of the rejections; for a host without one, those of unknown verdicts."""
    for verdict in report.verdicts.values():
        if not verdict:
            detail = decision.reasons[verdict.code].detail
            yield f'{verdict.code}{f" ({verdict.facts[detail]})" if detail else ""}'
        elif report.code is None and not verdict.bounds.is_known:
            yield f'{verdict.code}?'
