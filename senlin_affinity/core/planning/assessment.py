"""What every constraint says about every host, asked once about hosts that look alike.

Data flow: the hosts come in, a :class:`Table` goes out. The rules that read no figures are asked
about each *look* of a host, and about the hosts whose names count (``looks``). The rules by figures
are asked about every host, all at once (``columns``). Hosts of which the same is said, but for the
numbers of these, share their row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from senlin_affinity.core.constraint import Constraint, Domain, HostConstraint
from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning import columns
from senlin_affinity.core.planning.columns import Known
from senlin_affinity.core.planning.looks import Rule, looks_of, named_hosts
from senlin_affinity.core.planning.rows import (
    Kinds,
    Row,
    is_by_resources,
    limit,
    look_of,
    row_of,
)
from senlin_affinity.core.planning.table import Columns, Looks, Table, patched, table
from senlin_affinity.core.verdict import Verdict

#: The look of a host that is asked about by its name.
_NAMED = object()


def assess(
    resolved: ResolvedRequest,
    constraints: Sequence[HostConstraint],
    hosts: Sequence[Host],
    known: Known | None = None,
    fields: frozenset[str] = frozenset(),
) -> Table:
    """What is said about each of the hosts.

    :param known: what was said of another question, of which what is the same is taken over.
    :param fields: of the hosts that their looks have in any case.
    """
    judge = Judge(resolved, constraints)
    by_figures = [item for item in constraints if is_by_resources(item)]
    told = columns.ask(resolved, by_figures, hosts, known)
    return judge.table(hosts, told, judge.looks(hosts, known, fields))


def assess_after(
    resolved: ResolvedRequest,
    constraints: Sequence[HostConstraint],
    hosts: Sequence[Host],
    before: Table,
    servers: Mapping[int, int],
    load: Callable[[Host, int], Host],
) -> Table:
    """What is said about hosts with so many servers more, each by its place in the table before."""
    chosen, judge = [hosts[place] for place in servers], Judge(resolved, constraints)
    numbers = [*servers.values()]
    said = {name: [column[place] for place in servers] for name, column in before.columns.items()}
    by_figures = [item for item in constraints if is_by_resources(item)]
    told = columns.after(resolved, by_figures, chosen, said, numbers, load)
    looks = Looks(before.looks.fields, [before.looks.values[place] for place in servers])
    if judge.is_any_named:
        chosen = [*map(load, chosen, numbers)]
    return judge.table(chosen, told, looks)


@dataclass
class _Base:
    """What the rules without figures say, and the rows that follow, by the marks of the others."""

    said: list[Verdict]
    rows: dict[Any, Row] = field(default_factory=dict)


class Judge:
    """Asks the constraints, and remembers what follows from their answers, for one question."""

    def __init__(self, resolved: ResolvedRequest, constraints: Sequence[HostConstraint]) -> None:
        self._names = [constraint.name for constraint in constraints]
        self._reasons = {item.name: getattr(item, 'reasons', {}) for item in constraints}
        self._rules = [Rule(resolved, item) for item in constraints if not is_by_resources(item)]
        by_figures = frozenset(self._names).difference(rule.name for rule in self._rules)
        self._kinds = Kinds.of(constraints)._replace(by_figures=by_figures)
        self._reading = [(index, rule) for index, rule in enumerate(self._rules) if rule.reads]
        #: The verdicts about one of the hosts: of all of them, where a rule reads nothing.
        self._template: list[Verdict] = []
        self._bases: dict[tuple[int, ...], _Base] = {}
        #: A number for all that rows tell of verdicts by figures.
        self._marks: dict[Hashable, int] = {}
        self._made: list[Row] = []

    @property
    def is_any_named(self) -> bool:
        """Does a rule not say of which hosts the names count, or the servers?"""
        return any(rule.named is None for rule in self._rules)

    def table(self, hosts: Sequence[Host], told: Columns, looks: Looks) -> Table:
        """All of it, with what the rules by figures say of the hosts, and how these look."""
        marks: list[Any] = [self._marked(*item) for item in told.items()]
        marks = marks[0] if len(marks) == 1 else list(zip(*marks, strict=True)) or [()] * len(hosts)
        bases = self._bases_of(hosts, looks)
        rows = [
            base.rows.get(mark) or self._row(base, mark, told, place)
            for place, (base, mark) in enumerate(zip(bases, marks, strict=True))
        ]
        is_known = all(row.is_known for row in self._made)
        return table(rows, told, looks, self._kinds, is_known=is_known)

    def looks(self, hosts: Sequence[Host], known: Known | None, fields: frozenset[str]) -> Looks:
        """How the hosts look; the looks that are known will do if they tell more than is read."""
        fields = fields.union(*(rule.reads for rule in self._rules))
        if known is None or not fields <= known.table.looks.fields:
            return Looks(fields, looks_of(hosts, fields))
        fields, values = known.table.looks
        if known.changed:
            others = looks_of([hosts[place] for place in known.changed], fields)
            values = patched(values, known.changed, others)
        return Looks(fields, values)

    def _bases_of(self, hosts: Sequence[Host], seen: Looks) -> Sequence[_Base]:
        """For each host, what is said by the rules without figures."""
        looks = [*seen.values]
        places = named_hosts(hosts, [rule.named for rule in self._rules])
        of_named = [(place, looks[place]) for place in places]
        for place in places:
            looks[place] = _NAMED
        firsts = dict(zip(reversed(looks), reversed(hosts), strict=True))
        firsts.pop(_NAMED, None)
        said = {look: self._said(host) for look, host in firsts.items()}
        known = {look: self._base(each) for look, each in said.items()}
        if not of_named:
            return [*map(known.__getitem__, looks)]
        bases = [*map(known.get, looks)]
        by_name = [(place, rule) for place, rule in enumerate(self._rules) if rule.is_named]
        for place, look in of_named:
            host = hosts[place]
            if look not in said:
                said[look] = self._said(host)
            told = [(index, rule.ask(host)) for index, rule in by_name]
            key = look, *(id(verdict) for _index, verdict in told)
            if key not in known:
                each = said[look].copy()
                for index, verdict in told:
                    each[index] = verdict
                known[key] = self._base(each)
            bases[place] = known[key]
        return cast('list[_Base]', bases)

    def _said(self, host: Host) -> list[Verdict]:
        """What each rule says about hosts that look like this one."""
        if not self._template:
            self._template = [rule.ask_look(host) for rule in self._rules]
            return self._template
        said = self._template.copy()
        for index, rule in self._reading:
            said[index] = rule.ask_look(host)
        return said

    def _base(self, said: list[Verdict]) -> _Base:
        """What follows; hosts of which the same was said share it."""
        key = (*map(id, said),)
        base = self._bases.get(key)
        if base is None:
            base = self._bases[key] = _Base(said)
        return base

    def _marked(self, name: str, column: Sequence[Verdict]) -> list[int]:
        """A number for each of a rule's verdicts: equal where rows tell the same of them."""
        known, reasons = self._marks, self._reasons[name]
        keys = list(map(id, column))
        marks = {
            key: known.setdefault(look_of(verdict, reasons), len(known))
            for key, verdict in dict(zip(keys, column, strict=True)).items()
        }
        return list(map(marks.__getitem__, keys))

    def _row(self, base: _Base, mark: Any, told: Columns, place: int) -> Row:
        """The row of a host with other verdicts by figures."""
        plain = iter(base.said)
        verdicts = {
            name: told[name][place] if name in told else next(plain) for name in self._names
        }
        row = base.rows[mark] = row_of(verdicts, self._kinds)
        self._made.append(row)
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
