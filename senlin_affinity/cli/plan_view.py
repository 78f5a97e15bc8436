"""Print a decision: the line, a map of the hosts, the rejections, and the remedies.

If the caller may not list hosts, the output gives the reason and the distribution of the group's
servers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.text import Text

from senlin_affinity.cli import plan_notes, servers_view
from senlin_affinity.cli.plan_map import HostMap, indented
from senlin_affinity.model import terminal_text
from senlin_affinity.model.reason import sentence
from senlin_affinity.nova import host_status
from senlin_affinity.nova.group_policy import FILTERS, holding, why_not_enforced
from senlin_affinity.planner.decision import TWO, Decision

_COLOURS = {True: 'bold green', False: 'bold red', None: 'bold yellow'}
#: The maximum number of command lines below a remedy.
_MOST_LINES = 4
_AT_BLANKS: Any = {'break_long_words': False, 'break_on_hyphens': False}
_NAMED_HOST = 'the host: the profile names it itself, and Nova asks few of the rules about it'


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise the error, so that the command handles it as in cliff's formats."""
        raise  # the exception that rich caught before it called this method


def show(answer: plan_notes.Answer, stream: TextIO) -> None:
    """Print the decision to a stream; use colours only on a terminal."""
    console = _Console(file=stream, highlight=False, markup=False, emoji=False)
    for part in _parts(answer, console):
        options = console.options
        if isinstance(part, Text) and part.no_wrap:
            options = options.update(width=max(options.max_width, part.cell_len))
        for line in console.render_lines(part, options, pad=False):
            console.print(Segments([*_stripped(line), Segment.line()]), end='', crop=False)


def _parts(answer: plan_notes.Answer, console: Console) -> Iterator[RenderableType]:
    decision, resolved, hosts = answer.decision, answer.resolved, answer.view.snapshot.hosts
    head, colon, rest = decision.summary().partition(':')
    colour = _COLOURS[None if decision.fits_by_upper_bound else decision.fits]
    yield Text.assemble((head, colour), colon, rest)
    yield Text(f'capacity: {_capacity(decision)}')
    if project := plan_notes.project(answer):
        yield Text(f'project: {project}')
    group = resolved.server_group
    if group is not None and decision.violated:
        where = servers_view.violation(group, decision.violated)
        yield Text.assemble(('violated already', _COLOURS[False]), f': {where}')
    if group is not None and group.policy in FILTERS and holding(resolved) is None:
        yield Text(why_not_enforced(group.policy), style=_COLOURS[None])
    if decision.assumptions:
        yield Text(f'assuming {", ".join(item.text for item in decision.assumptions)}')
    if hosts == ():
        yield from ('', indented(Text('the snapshot has no hosts', style='dim')))
    if decision.hosts:
        zones = {host.host: host.availability_zone or '?' for host in hosts or ()}
        columns = {'zone': zones} if len(set(zones.values())) > 1 else {}
        picture = HostMap(decision, columns | servers_view.columns(resolved), console)
        yield from ('', indented(picture.rows()), *picture.notes())
    for spread in resolved.request.spread:
        title = f'Servers by {servers_view.in_words(spread)}:'
        yield from _list(title, servers_view.in_domains(resolved, spread, decision))
    yield from _remedies(answer, console.width)
    if decision.fits is not False:
        yield from _list('What is not known:', _unknown(answer))
    differences = host_status.differences(answer.view.snapshot)
    yield from _list('Where Nova and Placement differ:', differences)
    if group is not None and hosts is None:
        title = f'What is known of server group {group.name}:'
        yield from _list(title, servers_view.together(group))
    for file, options in answer.options.items():
        yield from _list(f'Options read from {file}:', options)


def _remedies(answer: plan_notes.Answer, width: int) -> Iterator[RenderableType]:
    """Yield the remedies with their commands if these are short, or the constraints' advice."""
    decision = answer.decision
    if decision.fits is False and not decision.remedies:
        yield from ('', 'No known change would help.')
        yield from _list('What the rules advise:', decision.advice())
        return
    single = [remedy for remedy in decision.remedies if remedy.code != TWO]
    title = 'What would help, the smallest change first:'
    if not any(remedy.capacity >= decision.wanted for remedy in single):
        title = 'No single change is enough. What would help most:'
    if decision.remedies:
        yield from ('', title)
    for remedy in decision.remedies:
        yield indented(Text(str(remedy)))
        shown = [line for command in remedy.commands for line in command_lines(command, width - 6)]
        if len(shown) <= _MOST_LINES and all(map(str.isprintable, remedy.commands)):
            yield from (Text(f'      {line}', no_wrap=True) for line in shown)
    if note := answer.note_of_remedies():
        yield indented(Text(note, style='dim'))


def command_lines(command: str, width: int) -> list[str]:
    """Wrap a command into lines that can be pasted; a command with quotes stays in one line."""
    if not {'"', "'"}.isdisjoint(command):
        return [f'$ {command}']
    lines = textwrap.wrap(f'$ {command}', width - 2, subsequent_indent='  ', **_AT_BLANKS)
    return [*(f'{line} \\' for line in lines[:-1]), lines[-1]]


def _capacity(decision: Decision) -> str:
    number, certain = decision.capacity, decision.capacity_certain
    if number is None:
        return f'not known, {certain:,} or more'
    most = f'{"at most " * decision.capacity_is_upper_bound}{number:,}'
    if decision.fits is None:
        return f'{most}, {certain:,} for certain'
    return f'{most} ({number - decision.wanted:,} more after these)' if decision.fits else most


def _unknown(answer: plan_notes.Answer) -> Iterator[str]:
    """Yield a phrase for each unknown part, and for each constraint that is undecided."""
    decision, view = answer.decision, answer.view
    for part, why in view.unavailable.items():
        yield f'the {part.replace("_", " ")}: {why}'
    if decision.fits is not None:
        return
    yield from plan_notes.missing(answer.resolved, view)
    if not decision.is_hosts_known and view.snapshot.hosts is not None:
        yield _NAMED_HOST
    on: dict[str, int] = {}
    for row, number in decision.tally:
        for name, verdict in row.verdicts.items():
            if row.code is None and not verdict.bounds.is_known:
                words = f'{name}: {sentence(verdict, decision.reasons)}'
                on[words] = on.get(words, 0) + number
    for words, number in on.items():
        yield f'{words}, on {servers_view.counted(number, "host")}'
    for name, verdict in decision.request.items():
        if not verdict.bounds.is_known:
            yield f'{name}: {sentence(verdict, decision.reasons)}'


def _list(title: str, items: Iterable[str]) -> Iterator[RenderableType]:
    lines = list(items)
    if lines:
        yield from ('', title, *(indented(Text(line)) for line in lines))


def _stripped(line: Sequence[Segment]) -> list[Segment]:
    """Return the line without trailing spaces and terminal control characters."""
    kept = [segment._replace(text=terminal_text.signed(segment.text)) for segment in line]
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept
