"""What the rules by figures say about every host.

A rule that has ``check_hosts`` is asked about all of them at once; any other is asked about each
that differs in its ``shape``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.column import Column
from senlin_affinity.core.planning.numbering import patched
from senlin_affinity.core.planning.shapes import Shapes
from senlin_affinity.core.planning.table import Columns, Table
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


class Known(NamedTuple):
    """What was said of another question, and the places of the hosts that are not the same now.

    The last of these may come after all hosts that it was about.
    """

    resolved: ResolvedRequest
    table: Table
    changed: Sequence[int]


def ask(
    resolved: ResolvedRequest,
    constraints: Iterable[HostConstraint],
    hosts: Sequence[Host],
    known: Known | None = None,
) -> Columns:
    """The verdicts of each rule, by its name, host by host."""
    told: dict[str, Column] = {}
    for item in constraints:
        if known is None or not _asks_alike(item, resolved, known):
            told[item.name] = _column(resolved, item, hosts)
            continue
        column = known.table.columns[item.name]
        if known.changed:
            others = _column(resolved, item, [hosts[place] for place in known.changed])
            column = column.patched(known.changed, others)
        told[item.name] = column
    return told


def after(
    resolved: ResolvedRequest,
    constraints: Iterable[HostConstraint],
    hosts: Sequence[Host],
    said: Columns,
    servers: Sequence[int],
    load: Callable[[Host, int], Host],
) -> Columns:
    """The same once each host has so many servers more, of which ``load`` makes another host."""
    told: dict[str, Column] = {}
    for item in constraints:
        less: Sequence[Verdict | None] = [None] * len(hosts)
        if hasattr(item, 'less'):
            with blame.blaming(item, 'less'):
                less = item.less(resolved, hosts, said[item.name], servers)
        open_ = [place for place, verdict in enumerate(less) if verdict is None]
        loaded = [load(hosts[place], servers[place]) for place in open_]
        answers = patched(less, open_, [*_column(resolved, item, loaded)])
        told[item.name] = Column.of(cast('list[Verdict]', answers), _reasons(item))
    return told


def _asks_alike(constraint: HostConstraint, resolved: ResolvedRequest, known: Known) -> bool:
    """Does a rule say of both questions that all is the same in them that it looks at?"""
    if not hasattr(constraint, 'asks') or constraint.name not in known.table.columns:
        return False
    with blame.blaming(constraint, 'asks'):
        return bool(constraint.asks(resolved) == constraint.asks(known.resolved))


def _column(resolved: ResolvedRequest, constraint: HostConstraint, hosts: Sequence[Host]) -> Column:
    if not hasattr(constraint, 'check_hosts'):
        return Column.of(Shapes(resolved, constraint).ask_each(hosts), _reasons(constraint))
    with blame.blaming(constraint, 'check_hosts'):
        column = Column.of(constraint.check_hosts(resolved, hosts), _reasons(constraint))
        if len(column) != len(hosts):
            raise ValueError(f'the answer has {len(column)} verdicts for {len(hosts)} hosts')
        for verdict in column.verdicts.values():
            blame.answered(verdict)
        return column


def _reasons(constraint: HostConstraint) -> Mapping[str, Reason]:
    return getattr(constraint, 'reasons', {})
