"""A decision for the eyes: the line, a map of the hosts, what is against them, what would help.

Who may not see the hosts is told why, and how many of the group's servers are together.
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
from senlin_affinity.core import host_status, terminal_text
from senlin_affinity.core.planning.decision import FEWER, TWO, Decision
from senlin_affinity.core.reasons import sentence

_COLOURS = {True: 'bold green', False: 'bold red', None: 'bold yellow'}
#: So many lines that carry a remedy out are shown with it at most.
_MOST_LINES = 4
_AT_BLANKS: Any = {'break_long_words': False, 'break_on_hyphens': False}
_NAMED_HOST = 'the host: the profile names it itself, and Nova asks few of the rules about it'


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, as where a program's format is written."""
        raise  # the error that rich has caught where it calls this


def show(answer: plan_notes.Answer, stream: TextIO) -> None:
    """Draw it on a stream; colours only where that is a terminal."""
    console = _Console(file=stream, highlight=False, markup=False, emoji=False)
    for part in _parts(answer, console):
        options = console.options
        if isinstance(part, Text) and part.no_wrap:
            options = options.update(width=max(options.max_width, part.cell_len))
        for line in console.render_lines(part, options, pad=False):
            console.print(Segments([*_stripped(line), Segment.line()]), end='', crop=False)


def _parts(answer: plan_notes.Answer, console: Console) -> Iterator[RenderableType]:
    decision, resolved, hosts = answer.decision, answer.resolved, answer.look.snapshot.hosts
    head, colon, rest = decision.summary().partition(':')
    colour = _COLOURS[None if decision.fits_by_upper_bound else decision.fits]
    yield Text.assemble((head, colour), colon, rest)
    yield Text(f'capacity: {_capacity(decision)}')
    group = resolved.server_group
    if group is not None and decision.violated:
        where = servers_view.violation(group, decision.violated)
        yield Text.assemble(('violated already', _COLOURS[False]), f': {where}')
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
    yield from _list('Where Nova and Placement differ:', host_status.differences(hosts or ()))
    if group is not None and hosts is None:
        title = f'What is known of server group {group.name}:'
        yield from _list(title, servers_view.together(group))
    for file, options in answer.options.items():
        yield from _list(f'Options read from {file}:', options)


def _remedies(answer: plan_notes.Answer, width: int) -> Iterator[RenderableType]:
    """What would help, each with its lines if they are few and short; or what the rules advise."""
    decision = answer.decision
    helping = [remedy for remedy in decision.remedies if remedy.code != FEWER]
    single = [remedy for remedy in helping if remedy.code != TWO]
    title = 'What would help, the smallest change first:'
    if not helping:
        title = 'Nothing is known that would help. What fits:'
    elif not any(remedy.capacity >= decision.wanted for remedy in single):
        title = 'No single change is enough. What would help most:'
    if decision.remedies:
        yield from ('', title)
    for remedy in decision.remedies:
        yield indented(Text(str(remedy)))
        shown = [line for command in remedy.commands for line in _wrapped(command, width - 6)]
        if len(shown) <= _MOST_LINES and all(map(str.isprintable, remedy.commands)):
            yield from (Text(f'      {line}', no_wrap=True) for line in shown)
    if note := answer.note_of_remedies():
        yield indented(Text(note, style='dim'))
    if decision.fits is False and not helping:
        yield from _list('What the rules advise:', decision.advice())


def _wrapped(command: str, width: int) -> list[str]:
    """The lines of a command, to be pasted as they are; one with quotes stays in one."""
    if not {'"', "'"}.isdisjoint(command):
        return [f'$ {command}']
    lines = textwrap.wrap(f'$ {command}', width - 2, subsequent_indent='  ', **_AT_BLANKS)
    return [*(f'{line} \\' for line in lines[:-1]), lines[-1]]


def _capacity(decision: Decision) -> str:
    number, certain = decision.capacity, len(decision.placements)
    if number is None:
        return f'not known, {certain} or more'
    most = f'{"at most " * decision.capacity_is_upper_bound}{number:,}'
    if decision.fits is None:
        return f'{most}, {certain:,} for certain'
    return f'{most} ({number - decision.wanted:,} more after these)' if decision.fits else most


def _unknown(answer: plan_notes.Answer) -> Iterator[str]:
    """In words, what is not known of the cloud and why, and the rules that could decide it."""
    decision, look = answer.decision, answer.look
    for part, why in look.unknown.items():
        yield f'the {part.replace("_", " ")}: {why}'
    if decision.fits is not None:
        return
    yield from plan_notes.missing(answer.resolved, look)
    if not decision.is_hosts_known and look.snapshot.hosts is not None:
        yield _NAMED_HOST
    on: dict[str, int] = {}
    for row, number in decision.tally:
        for name, verdict in row.verdicts.items():
            if row.code is None and not verdict.is_known:
                words = f'{name}: {sentence(verdict, decision.reasons)}'
                on[words] = on.get(words, 0) + number
    for words, number in on.items():
        yield f'{words}, on {servers_view.counted(number, "host")}'
    for name, verdict in decision.request.items():
        if not verdict.is_known:
            yield f'{name}: {sentence(verdict, decision.reasons)}'


def _list(title: str, items: Iterable[str]) -> Iterator[RenderableType]:
    lines = list(items)
    if lines:
        yield from ('', title, *(indented(Text(line)) for line in lines))


def _stripped(line: Sequence[Segment]) -> list[Segment]:
    """The line without the spaces at its end, and without what a terminal would act upon."""
    kept = [segment._replace(text=terminal_text.signed(segment.text)) for segment in line]
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept
