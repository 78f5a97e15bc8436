"""Print the explanation of a failed server in sentences, wrapped to the width of the terminal.

Example, after the sentences of :class:`~senlin_affinity.preflight.explanation.Explanation`::

      3 hosts: 1 of these servers each, full with these servers: cmp-1, cmp-2, cmp-3
      1 host: too little MEMORY_MB left: cmp-5 (512 of 2048)

Units: the hosts that take servers come first, then those with free capacity, then those that are
rejected, by their first rejection. Each group names ``MOST`` hosts unless all are requested.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from rich.console import Console

from senlin_affinity import api
from senlin_affinity.cli.plan_view import command_lines
from senlin_affinity.cli.servers_view import counted, together
from senlin_affinity.model import terminal_text
from senlin_affinity.planner.host_reports import HostReport
from senlin_affinity.preflight.explanation import Explanation, in_short

#: The maximum number of hosts that a group names, and of groups.
MOST = 5
_MOST_GROUPS = 10
#: The beginning of Nova's answer to a request that only an administrator may send.
_DENIED, _ADMINS = 'Nova answered 403', 'Nova shows them to administrators only'
#: The facts that differ from host to host, by code.
_DETAILS: Mapping[str, str] = {
    'availability_zone.other_zone': ' ({zone})',
    'resources.exhausted': ' ({free} of {amount})',
    'resources.too_large': ' ({max_unit} of {amount})',
    'server_count.full': ' ({servers})',
}


def show(explained: Explanation, view: api.CloudView, stream: TextIO, *, is_long: bool) -> None:
    """Print the explanation to a stream."""
    for line in _lines(explained, view, Console(file=stream).width, is_long=is_long):
        stream.write(f'{terminal_text.signed(line).rstrip()}\n')


def _lines(
    explained: Explanation, view: api.CloudView, width: int, *, is_long: bool
) -> Iterator[str]:
    for text in explained.why():
        yield from textwrap.wrap(text, width)
    if not explained.decision.is_hosts_known:
        yield from _section('What the request requires of a host', explained.requirements, width)
    yield from _section('Hosts', host_groups(explained.decision, is_long=is_long), width)
    yield ''
    for text in explained.now():
        yield from textwrap.wrap(text, width)
    yield from _remedies(explained, width)
    yield from _section('What is not known', _unknown(explained, view), width)
    hidden = explained.failed.hidden if explained.decision.fits is not False else {}
    options = (f'{what}: {option}' for option, what in hidden.items())
    yield from _section('What Nova does not return, and an option specifies', options, width)


def _section(title: str, items: Iterable[str], width: int) -> Iterator[str]:
    """Yield a title and its items, indented; nothing without items."""
    found = [*items]
    if found:
        yield from ('', title)
    for text in found:
        yield from textwrap.wrap(
            text, width, initial_indent='  ', subsequent_indent='      ', break_on_hyphens=False
        )


def _remedies(explained: Explanation, width: int) -> Iterator[str]:
    """Yield what would help, each with its commands, or the advice of the constraints."""
    found = [*explained.remedies()]
    if found:
        yield from ('', 'What would help')
    for words, commands in found:
        yield from textwrap.wrap(words, width, initial_indent='  ', subsequent_indent='      ')
        for command in commands:
            yield from (f'      {line}' for line in command_lines(command, width - 6))
    if not found and explained.decision.fits is False:
        yield from ('', 'No known change would help.')
        yield from _section('What the constraints advise', explained.decision.advice(), width)


def host_groups(decision: api.Decision, *, is_long: bool = False) -> Iterator[str]:
    """Yield a sentence for each group of hosts with the same reason."""
    groups: dict[str, list[str]] = {}
    for report in sorted(decision.hosts, key=lambda each: (-each.placed, each.code is not None)):
        reason, detail = _reason(report, decision)
        code = f' [{report.code}]' if is_long and report.code else ''
        groups.setdefault(f'{reason}{code}', []).append(f'{report.host}{detail}')
    in_order = [*groups.items()]
    shown = in_order if is_long else in_order[:_MOST_GROUPS]
    for reason, names in shown:
        named = names if is_long else names[:MOST]
        rest = f', and {len(names) - MOST:,} more' if len(names) > len(named) else ''
        words = reason if len(names) > 1 else reason.replace(' each', '')
        yield f'{counted(len(names), "host")}: {words}: {", ".join(named)}{rest}'
    hidden = [len(names) for _reason, names in in_order[len(shown) :]]
    if hidden:
        yield f'{counted(sum(hidden), "host")}: {len(hidden)} other reasons (--long lists them)'


def _reason(report: HostReport, decision: api.Decision) -> tuple[str, str]:
    """Return why a host takes so many servers, and what is special about this host."""
    if report.placed:
        full = ', full with these servers' if report.code is not None else ''
        return f'{report.placed} of these servers each{full}', ''
    if report.rejected_by is None:
        return 'free capacity', ''
    verdict = report.verdicts[report.rejected_by]
    detail = _DETAILS.get(verdict.code, '').format_map(dict(verdict.facts))
    return in_short(verdict, decision), detail


def _unknown(explained: Explanation, view: api.CloudView) -> Iterator[str]:
    """Yield the reason for each part that could not be read, and what is known of the group."""
    decision, group = explained.decision, explained.resolved.server_group
    if decision.fits is None or not decision.is_hosts_known:
        for part, why in view.unavailable.items():
            yield f'the {part.replace("_", " ")}: {_ADMINS if _DENIED in why else why}'
        if not decision.is_hosts_known and group is not None:
            yield from (f'server group {group.name}: {words}' for words in together(group))
    elif decision.fits and decision.assumptions:
        yield f'assuming {", ".join(item.text for item in decision.assumptions)}'
