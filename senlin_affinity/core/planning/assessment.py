"""What every constraint says about every host, asked once about hosts that look alike.

Data flow: the hosts come in, a :class:`Table` goes out. The rules that read no figures are asked
about each *look* of a host, and about the hosts whose names count (``looks``). The rules by figures
are asked about every host, all at once (``columns``). Hosts of which the same is said, but for the
numbers of these, share their row.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from senlin_affinity.core.constraint import Constraint, Domain, HostConstraint
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning import columns
from senlin_affinity.core.planning.looks import Rule, looks_of, named_hosts
from senlin_affinity.core.planning.rows import (
    Kinds,
    Row,
    is_by_resources,
    limit,
    look_of,
    row_of,
)
from senlin_affinity.core.planning.table import Columns, Table, table
from senlin_affinity.core.verdict import Verdict

#: The look of a host that is asked about by its name.
_NAMED = object()


def assess(
    resolved: ResolvedRequest, constraints: Sequence[HostConstraint], hosts: Sequence[Host]
) -> Table:
    """What is said about each of the hosts."""
    judge = _Judge(resolved, constraints)
    told = columns.ask(resolved, [item for item in constraints if is_by_resources(item)], hosts)
    marks: list[Any] = [judge.marks(*item) for item in told.items()]
    marks = marks[0] if len(marks) == 1 else list(zip(*marks, strict=True)) or [()] * len(hosts)
    rows = [
        base.rows.get(mark) or judge.row(base, mark, told, place)
        for place, (base, mark) in enumerate(zip(judge.bases(hosts), marks, strict=True))
    ]
    return table(rows, told, judge.kinds, is_known=all(row.is_known for row in judge.made))


@dataclass
class _Base:
    """What the rules without figures say, and the rows that follow, by the marks of the others."""

    said: list[Verdict]
    rows: dict[Any, Row] = field(default_factory=dict)


class _Judge:
    """Asks the constraints, and remembers what follows from their answers, for one question."""

    def __init__(self, resolved: ResolvedRequest, constraints: Sequence[HostConstraint]) -> None:
        self._names = [constraint.name for constraint in constraints]
        self._reasons = {item.name: getattr(item, 'reasons', {}) for item in constraints}
        self._rules = [Rule(resolved, item) for item in constraints if not is_by_resources(item)]
        by_figures = frozenset(self._names).difference(rule.name for rule in self._rules)
        self.kinds = Kinds.of(constraints)._replace(by_figures=by_figures)
        self._bases: dict[tuple[int, ...], _Base] = {}
        #: A number for all that rows tell of verdicts by figures.
        self._marks: dict[Hashable, int] = {}
        self.made: list[Row] = []

    def bases(self, hosts: Sequence[Host]) -> Sequence[_Base]:
        """For each host, what is said by the rules without figures."""
        looks = looks_of(hosts, frozenset().union(*(rule.reads for rule in self._rules)))
        places = named_hosts(hosts, [rule.named for rule in self._rules])
        of_named = [(place, looks[place]) for place in places]
        for place in places:
            looks[place] = _NAMED
        firsts = dict(zip(reversed(looks), reversed(hosts), strict=True))
        firsts.pop(_NAMED, None)
        said = {
            look: [rule.ask_look(host) for rule in self._rules] for look, host in firsts.items()
        }
        known = {look: self._base(each) for look, each in said.items()}
        if not of_named:
            return [*map(known.__getitem__, looks)]
        bases = [*map(known.get, looks)]
        by_name = [(place, rule) for place, rule in enumerate(self._rules) if rule.is_named]
        for place, look in of_named:
            host = hosts[place]
            if look not in said:
                said[look] = [rule.ask_look(host) for rule in self._rules]
            told = [(index, rule.ask(host)) for index, rule in by_name]
            key = look, *(id(verdict) for _index, verdict in told)
            if key not in known:
                each = said[look].copy()
                for index, verdict in told:
                    each[index] = verdict
                known[key] = self._base(each)
            bases[place] = known[key]
        return cast('list[_Base]', bases)

    def _base(self, said: list[Verdict]) -> _Base:
        """What follows; hosts of which the same was said share it."""
        return self._bases.setdefault((*map(id, said),), _Base(said))

    def marks(self, name: str, column: Sequence[Verdict]) -> list[int]:
        """A number for each of a rule's verdicts: equal where rows tell the same of them."""
        known, reasons = self._marks, self._reasons[name]
        keys = list(map(id, column))
        marks = {
            key: known.setdefault(look_of(verdict, reasons), len(known))
            for key, verdict in dict(zip(keys, column, strict=True)).items()
        }
        return list(map(marks.__getitem__, keys))

    def row(self, base: _Base, mark: Any, told: Columns, place: int) -> Row:
        """The row of a host with other verdicts by figures."""
        plain = iter(base.said)
        verdicts = {
            name: told[name][place] if name in told else next(plain) for name in self._names
        }
        row = base.rows[mark] = row_of(verdicts, self.kinds)
        self.made.append(row)
        return row


def add_said(
    constraints: Sequence[Constraint],
    known: Table,
    of_host: Mapping[int, Sequence[tuple[str, Domain]]],
    said: Mapping[tuple[str, Domain], Verdict],
) -> Table:
    """The table with what rules say about the domains of hosts; equal rows are one object."""
    names, kinds = [item.name for item in constraints], Kinds.of(constraints)
    made: dict[Hashable, Row] = {}
    rows = {}
    for place, domains in of_host.items():
        keys = (*(key for key in domains if key in said),)
        look = id(known.rows[place]), *(id(column[place]) for column in known.columns.values())
        if (look, keys) not in made:
            verdicts = dict(known.verdicts(place))
            for key in keys:
                verdicts[key[0]] = _strictest(verdicts.get(key[0]), said[key])
            ordered = {name: verdicts[name] for name in names if name in verdicts}
            made[look, keys] = row_of(ordered, kinds)
        rows[place] = made[look, keys]
    return known.but(rows) if rows else known


def _strictest(one: Verdict | None, two: Verdict) -> Verdict:
    """Of what one rule says about a host and its domains, that which leaves the least."""
    if one is None:
        return two
    least, other = (one, two) if limit(one) <= limit(two) else (two, one)
    return replace(least, is_at_most=True) if least and other.is_at_most else least
