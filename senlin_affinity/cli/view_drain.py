"""Print the plan of a drain: the sum, the moves by wave, and the servers that do not move.

Example::

    1 of 2 servers moves in 1 wave; 1 is stuck

    Moves
      Wave  Server  Step  From   To
         1  web-1   live  cmp-1  cmp-3

    Stuck
      db-1 on cmp-1 (cold): server db-1 is in ERROR
          would help: repair it, and set its state to active
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from senlin_affinity.cli import view, view_notes
from senlin_affinity.cli.wrapping import lines
from senlin_affinity.engine.drain import DrainPlan, Move, Stuck
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.server import Server
from senlin_affinity.model.terminal_text import signed
from senlin_affinity.nova.demand import demand

#: What keys in ``Server.unknown`` are called; the caveats of a move name the others that count.
_WORDS: Mapping[str, str] = {
    'flavor': 'the embedded flavor (compute API 2.47)',
    'server_group': 'the server group',
    'task_state': 'the task state',
}
#: The title of the servers that are left; by whether no order moves them, too.
_LEFT: Mapping[bool, str] = {
    True: 'Not all servers fit together (each of these would fit alone)',
    False: 'No target was found, which does not prove that there is none',
}


@dataclass(frozen=True)
class Difference:
    """A server for which Placement has allocated other amounts than its flavor requests."""

    server: Server
    requested: Mapping[str, int]

    def __str__(self) -> str:
        allocated = self.server.allocated
        names = sorted({*allocated, *self.requested})
        of_classes = (
            f'{allocated.get(name, 0)} {name}, not {self.requested.get(name, 0)}'
            for name in names
            if allocated.get(name, 0) != self.requested.get(name, 0)
        )
        return f'{self.server.name}: Placement has allocated {"; ".join(of_classes)}'

    def as_dict(self) -> dict[str, Any]:
        """Return the difference for JSON."""
        return {
            'server': self.server.id,
            'name': self.server.name,
            'allocated': dict(self.server.allocated),
            'requested': dict(self.requested),
        }


def differences(found: Cloud, hosts: Iterable[str]) -> Iterator[Difference]:
    """Yield the servers of the hosts whose allocation differs from what a move requests."""
    by_host = found.servers_by_host
    for each in (server for host in hosts for server in by_host.get(host, ())):
        if each.allocated and each.flavor is not None:
            is_volume = each.is_volume_booted
            asked = demand(each.flavor, each.image_properties, is_volume_booted=is_volume)
            if dict(asked.amounts) != dict(each.allocated):
                yield Difference(each, asked.amounts)


def show(
    plan: DrainPlan | RollingPlan,
    found: Cloud,
    stream: TextIO,
    *,
    is_long: bool = False,
) -> None:
    """Print a plan, or those of batches, to a stream; use colours only on a terminal."""
    width = shutil.get_terminal_size().columns
    view.show_head([plan.line()], plan.fits, stream, width)
    if isinstance(plan, RollingPlan):
        every = _batches(plan, found, width, is_long=is_long)
    else:
        every = _rest(plan, found, width, is_long=is_long)
    for line in every:
        stream.write(f'{signed(line).rstrip()}\n')


def _batches(plan: RollingPlan, found: Cloud, width: int, *, is_long: bool) -> Iterator[str]:
    """Yield each batch as a plan, and the hosts that are not emptied."""
    for number, each in enumerate(plan.batches, 1):
        title = f'Batch {number} of {len(plan.batches)}'
        yield from ('', f'{title}: {", ".join(each.hosts)}: {each.line()}')
        yield from _rest(each, found, width, is_long=is_long)
    for each in plan.left:  # nothing moves, as the script stops before
        yield from ('', f'Not emptied: {", ".join(each.hosts)}: {"; ".join(each.stays())}')
        yield from _rest(replace(each, moves=()), found, width, is_long=is_long)


def _rest(plan: DrainPlan, found: Cloud, width: int, *, is_long: bool) -> Iterator[str]:
    if plan.moves:
        yield from ('', 'Moves', *_table(plan.moves, width, is_long=is_long))
    if plan.stuck:
        yield from ('', 'Stuck')
    for each in plan.stuck:
        yield from _stuck(each, width, is_long=is_long)
    left = (_left(each, plan.blocked_by(each), is_long=is_long) for each in plan.not_found)
    yield from view.section(_LEFT[plan.is_proven], left, width)
    assumed = ', '.join(each.text for each in plan.assumptions)
    based = [f'assuming {assumed}'] if assumed else []
    yield from view.section('Based on', based, width)
    unknown = (
        *_unsure(plan),
        *_hidden(found, plan),
        *view_notes.unavailable(found, is_long=is_long),
    )
    yield from view.section('What is not known', unknown, width)
    named = map(str, differences(found, plan.hosts))
    title = 'Where Placement differs (Nova requests what the flavor says)'
    yield from view.section(title, named, width)


def _table(moves: Sequence[Move], width: int, *, is_long: bool) -> Iterator[str]:
    """Yield a line for each move."""
    rows = [('Wave', 'Server', 'Step', 'From', 'To', *(('Id',) if is_long else ()))]
    for each in moves:
        server = each.server
        target = f'{each.target}{"" if each.is_certain else " (perhaps)"}'
        places = server.name, each.kind, server.host or '', target
        rows.append((str(each.wave), *places, *((server.id,) if is_long else ())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for wave, *others in rows:
        cells = (cell.ljust(each) for cell, each in zip(others, widths[1:], strict=True))
        row = '  '.join((wave.rjust(widths[0]), *cells))
        yield from lines(row, width, '  ', '        ')


def _stuck(each: Stuck, width: int, *, is_long: bool) -> Iterator[str]:
    """Yield why a server is stuck, and what would help; if long, the codes of the hosts."""
    names, why = _why(each, is_long=is_long)
    where = f'to {_names(names)}: ' if names else ''
    words = f'{_on(each.server, is_long=is_long)} ({each.kind}): {where}{why}'
    yield from lines(words, width, '  ', '    ')
    for text in [remedy.text for remedy in each.remedies] or filter(None, [each.advice]):
        yield from lines(f'would help: {text}', width, '      ', '        ')
    if is_long:
        for code, number in Counter(each.hosts.values()).most_common():
            yield from lines(f'{code}: {counted(number, "host")}', width, '      ', '        ')


def _left(server: Server, blocked: Stuck | None, *, is_long: bool) -> str:
    """Return a server for which no target was found, and why no host takes it, if known."""
    words = _on(server, is_long=is_long)
    if blocked is None:
        return words
    names, why = _why(blocked, is_long=is_long)
    if names:
        why = f'{_names(names)} {"rejects" if len(names) == 1 else "reject"} it: {why}'
    return f'{words}: once the others have moved, {why}'


def _why(each: Stuck, *, is_long: bool) -> tuple[list[str], str]:
    """Return the hosts that the reason is about, and the reason; if long, with its code."""
    targets = [name for name, of_host in each.hosts.items() if of_host == each.code]
    return targets, f'{each.reason}{f" [{each.code}]" if is_long else ""}'


def _names(hosts: Sequence[str]) -> str:
    """Return "cmp-1", "cmp-1 and cmp-2" or "cmp-1 and 4 other hosts"."""
    first, *others = hosts
    if len(others) < 2:
        return ' and '.join(hosts)
    return f'{first} and {len(others):,} other hosts'


def _on(server: Server, *, is_long: bool) -> str:
    return f'{server.name} on {server.host}{f" ({server.id})" if is_long else ""}'


def _unsure(plan: DrainPlan) -> Iterator[str]:
    """Yield what only the target decides, and the caveats, each with the number of moves."""
    caveats = Counter(text for each in plan.moves for text in each.caveats)
    for text, number in caveats.most_common():
        yield f'{text} ({counted(number, "move")})'
    unchecked = Counter(text for each in plan.moves for text in each.not_checked)
    for text, number in unchecked.most_common():
        yield f'not checked: {text} ({counted(number, "move")})'


def _hidden(found: Cloud, plan: DrainPlan) -> Iterator[str]:
    """Yield what Nova does not show of the servers, with their number."""
    by_host = found.servers_by_host
    every = (each for host in plan.hosts for each in by_host.get(host, ()))
    numbers = Counter(name for each in every for name in each.unknown if name in _WORDS)
    for name, number in sorted(numbers.items()):
        yield f'{_WORDS[name]} ({counted(number, "server")})'
