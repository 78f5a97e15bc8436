"""Draw the hosts of a decision: their servers, their room, and the verdict of each constraint.

Example::

    host    zone   servers   room   server_group   resources
    cmp-1   az-1   ■□□          0   ✗ host_full    ✓
    cmp-2   az-2   □18 ·46     46   ✓              ✓

If the columns of the constraints do not fit beside each other, each host has a line of rejections
below it. A stream that cannot encode the signs gets ASCII.

Units: a block is one server; a host with too many servers shows numbers. ``room`` is the room that
remains after the new servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from senlin_affinity.cli.servers_view import counted
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.verdict import Outcome, Verdict
from senlin_affinity.planner.decision import Decision
from senlin_affinity.planner.host_reports import HostReport

_MOST_BLOCKS = 16
_MOST_HOSTS = 40
_INDENT, _GAP, _LEAST = 2, 3, 10
_GAPS = Text(' ' * _GAP)


class _Signs(NamedTuple):
    member: str
    new: str
    free: str
    refused: str
    passed: str


_SIGNS = _Signs('■', '□', '·', '✗', '✓')
_ASCII_SIGNS = _Signs('#', '+', '.', 'x', 'v')


def indented(what: RenderableType) -> Padding:
    """Return the part, indented below a title."""
    return Padding(what, (0, 0, 0, _INDENT))


class HostMap:
    """The hosts and their servers; ``columns`` maps a title to a text for each host."""

    def __init__(
        self, decision: Decision, columns: Mapping[str, Mapping[str, str]], console: Console
    ) -> None:
        self._reasons, self._columns, self._console = decision.reasons, columns, console
        self._is_limited = _is_limited(decision)
        self._signs = _ASCII_SIGNS if console.options.ascii_only else _SIGNS
        ranked = sorted(decision.hosts, key=_interest)
        self._shown, self._hidden = ranked[:_MOST_HOSTS], ranked[_MOST_HOSTS:]
        self._against = [
            name
            for name in ranked[0].verdicts
            if any(_is_notable(report.verdicts[name]) for report in self._shown)
        ]

    def rows(self) -> RenderableType:
        """Return a column for each constraint, or rejections below each host if it is narrow."""
        titles = (*self._titles, *self._against)
        rows = [[Text(title, style='bold') for title in titles]]
        for report in self._shown:
            marks = (self._mark(name, report.verdicts[name]) for name in self._against)
            rows.append([*self._cells(report), *marks])
        widths, room = _widths(rows), self._console.width - _INDENT
        if sum(widths) + _GAP * (len(widths) - 1) <= room:
            return Group(*(self._line(row, widths) for row in rows))
        count = len(self._titles)
        return self._blocks([row[:count] for row in rows], widths[:count], room)

    def _blocks(self, rows: list[list[Text]], widths: list[int], room: int) -> Group:
        """Return one line for each host (two for a long name), and its rejections below it."""
        widths[0] = min(widths[0], max(_LEAST, room - sum(widths[1:]) - _GAP * len(widths[1:])))
        lines: list[RenderableType] = []
        for row, report in zip(rows, (None, *self._shown), strict=True):
            if row[0].cell_len > widths[0]:
                lines.append(row[0])
                row[0] = Text()
            lines += (self._line(row, widths), *self._rejections(report))
        return Group(*lines)

    def _line(self, row: Sequence[Text], widths: Sequence[int]) -> Text:
        """Return the cells as one line; the room is aligned to the right."""
        room = len(self._titles) - 1
        for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cell.align('right' if number == room else 'left', width)
        return _GAPS.join(row)

    def _rejections(self, report: HostReport | None) -> Iterator[RenderableType]:
        """Yield the rejections of a host, or its unknown verdicts if no constraint rejects it."""
        if report is None:
            return
        is_open = report.code is None
        codes = [
            f'{verdict.code}{self._detail(verdict)}'
            for verdict in report.verdicts.values()
            if (not verdict.bounds.is_known if is_open else not verdict)
        ]
        if codes:
            sign = '?' if is_open else self._signs.refused
            yield indented(Text(f'{sign} {", ".join(codes)}', style='dim'))

    @property
    def _titles(self) -> Sequence[str]:
        return ('host', *self._columns, 'servers', 'room')

    def _cells(self, report: HostReport) -> list[Text]:
        columns = [Text(by_host[report.host]) for by_host in self._columns.values()]
        room = '?' if report.room is None else f'{report.room:,}'
        return [Text(report.host), *columns, self._servers(report), Text(room)]

    def notes(self) -> Iterator[RenderableType]:
        """Yield the number of hidden hosts, and the legend."""
        if self._hidden:
            free = sum(report.code is None for report in self._hidden)
            with_room = f'{free:,}' if free else 'none'
            more = f'... and {counted(len(self._hidden), "host")} more, {with_room} with room'
            more += ' (-f json has all)'
            yield indented(Text(more, style='dim'))
        signs, shown = self._signs, self._shown
        legend = (
            (signs.member, 'in the group already', any(report.members for report in shown)),
            (signs.new, 'new', any(report.placed for report in shown)),
            (signs.free, 'free', any(report.room for report in shown)),
            ('?', 'not known', any(_is_vague(report) for report in shown)),
        )
        meant = [f'{sign} {words}' for sign, words, is_used in legend if is_used]
        if self._is_limited:
            meant.append('room: by host, without quotas')
        if meant:
            yield from ('', indented(Text('   '.join(meant), style='dim')))

    def _servers(self, report: HostReport) -> Text:
        signs = self._signs
        counts = (
            (signs.member, report.members, ''),
            (signs.new, report.placed, 'green'),
            (signs.free, report.room or 0, 'dim'),
        )
        if sum(number for _sign, number, _style in counts) <= _MOST_BLOCKS:
            return Text.assemble(*((sign * number, style) for sign, number, style in counts))
        return Text(' ').join(
            Text(f'{sign}{number:,}', style=style) for sign, number, style in counts if number
        )

    def _mark(self, name: str, verdict: Verdict) -> Text:
        if not verdict:
            code = verdict.code.removeprefix(f'{name}.')
            return Text(f'{self._signs.refused} {code}{self._detail(verdict)}', style='red')
        if verdict.outcome is Outcome.PASS:
            return Text(self._signs.passed, style='green')
        return Text('-' if verdict.bounds.is_known else '?', style='dim')

    def _detail(self, verdict: Verdict) -> str:
        reason: Reason | None = self._reasons.get(verdict.code)
        return f' ({verdict.facts.get(reason.detail)})' if reason and reason.detail else ''


def _widths(rows: Sequence[Sequence[Text]]) -> list[int]:
    return [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]


def _is_limited(decision: Decision) -> bool:
    """Check whether a constraint on the request leaves less room than the hosts have together."""
    rooms = [item.room for item in decision.request.values() if item.room is not None]
    on_hosts = sum(report.room or 0 for report in decision.hosts)
    return bool(rooms) and on_hosts > max(0, min(rooms) - len(decision.placements))


def _is_notable(verdict: Verdict) -> bool:
    return not verdict or not verdict.bounds.is_known


def _is_vague(report: HostReport) -> bool:
    return report.room is None or not all(item.bounds.is_known for item in report.verdicts.values())


def _interest(report: HostReport) -> tuple[bool, bool, str]:
    """Return a sort key: hosts with servers first, then hosts with room, each by name."""
    return not (report.placed or report.members), report.code is not None, report.host
