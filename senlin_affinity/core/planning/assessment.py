"""What every constraint says about every host, asked once about hosts that look alike.

Data flow: the hosts come in, a :class:`Table` goes out. The rules that read no figures are asked
about each *look* of a host, and about the hosts whose names count (``looks``). The rules by figures
are asked about every host, all at once (``columns``). Hosts of which the same is said, but for the
numbers of these, share their row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from senlin_affinity.core.constraint import Constraint, Domain, HostConstraint
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import columns
from senlin_affinity.core.planning.columns import Known
from senlin_affinity.core.planning.looks import Looks, Rule, named_hosts
from senlin_affinity.core.planning.numbering import numbered, patched
from senlin_affinity.core.planning.rows import (
    Kinds,
    Row,
    is_by_resources,
    limit,
    row_of,
)
from senlin_affinity.core.planning.table import Columns, Table, table
from senlin_affinity.core.verdict import Verdict


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
    said = {name: column.at(servers) for name, column in before.columns.items()}
    by_figures = [item for item in constraints if is_by_resources(item)]
    told = columns.after(resolved, by_figures, chosen, said, numbers, load)
    looks = before.looks.at(servers)
    if judge.is_any_named:
        chosen = [*map(load, chosen, numbers)]
        looks = Looks.of(looks.fields, chosen)
    return judge.table(chosen, told, looks)


class Judge:
    """Asks the constraints, and remembers what follows from their answers, for one question."""

    def __init__(self, resolved: ResolvedRequest, constraints: Sequence[HostConstraint]) -> None:
        self._names = [constraint.name for constraint in constraints]
        self._rules = [Rule(resolved, item) for item in constraints if not is_by_resources(item)]
        by_figures = frozenset(self._names).difference(rule.name for rule in self._rules)
        self._kinds = Kinds.of(constraints)._replace(by_figures=by_figures)
        #: What the rules without figures say, in their order; hosts of a number share it.
        self._said: list[list[Verdict]] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    @property
    def is_any_named(self) -> bool:
        """Does a rule not say of which hosts the names count, or the servers?"""
        return any(rule.named is None for rule in self._rules)

    def table(self, hosts: Sequence[Host], told: Columns, looks: Looks) -> Table:
        """All of it, with what the rules by figures say of the hosts, and how these look."""
        said = self._said_of(hosts, looks)
        marks = [column.marks for column in told.values()]
        kind_of, firsts = numbered(zip(said, *marks, strict=True))
        kinds = [self._row(self._said[said[place]], told, place) for place in firsts]
        return table(kinds, kind_of, told, looks, self._kinds.by_resources)

    def looks(self, hosts: Sequence[Host], known: Known | None, fields: frozenset[str]) -> Looks:
        """How the hosts look; the looks that are known will do if they tell more than is read."""
        fields = fields.union(*(rule.reads for rule in self._rules))
        if known is None or not fields <= known.table.looks.fields:
            return Looks.of(fields, hosts)
        looks = known.table.looks
        if not known.changed:
            return looks
        others = Looks.of(looks.fields, [hosts[place] for place in known.changed])
        return looks.patched(known.changed, others)

    def _said_of(self, hosts: Sequence[Host], looks: Looks) -> list[int]:
        """The number of what is said about each host by the rules without figures."""
        places = named_hosts(hosts, [rule.named for rule in self._rules])
        examples = _examples(hosts, looks, places)
        if not examples:
            return []
        some, rules = [*examples.values()], [*enumerate(self._rules)]
        told = {index: rule.ask_looks(some) for index, rule in rules if rule.reads}
        of_one = self._number(
            [told[index][0] if index in told else rule.ask(some[0]) for index, rule in rules]
        )
        of_look = dict(zip(examples, self._with([of_one] * len(some), told), strict=True))
        said = [*map(of_look.__getitem__, looks.numbers)]
        named = [*map(hosts.__getitem__, places)]
        told = {index: rule.ask_each(named) for index, rule in rules if rule.is_named}
        of_named = self._with([*map(said.__getitem__, places)], told)
        return patched(said, places, of_named)

    def _with(self, before: Sequence[int], told: Mapping[int, Sequence[Verdict]]) -> list[int]:
        """The numbers of what is said where these rules, by their places, say something else."""
        ids = [map(id, column) for column in told.values()]
        kinds, firsts = numbered(zip(before, *ids, strict=True))
        numbers = []
        for first in firsts:
            said = self._said[before[first]].copy()
            for index, column in told.items():
                said[index] = column[first]
            numbers.append(self._number(said))
        return [*map(numbers.__getitem__, kinds)]

    def _number(self, said: list[Verdict]) -> int:
        """The number of what is said; what is the same has one number."""
        number = self._numbers.setdefault((*map(id, said),), len(self._said))
        if number == len(self._said):
            self._said.append(said)
        return number

    def _row(self, said: Iterable[Verdict], told: Columns, place: int) -> Row:
        """The row of a host, of which this is said by the rules without figures."""
        plain = iter(said)
        verdicts = {
            name: told[name][place] if name in told else next(plain) for name in self._names
        }
        return row_of(verdicts, self._kinds)


def _examples(hosts: Sequence[Host], looks: Looks, places: Iterable[int]) -> dict[int, Host]:
    """A host for each look; those come first that are not at these places, as far as there are."""
    numbers = [*looks.numbers]
    for place in places:
        numbers[place] = -1
    found = dict(zip(reversed(numbers), reversed(hosts), strict=True))
    found.pop(-1, None)
    return found | {number: looks.hosts[number] for number in {*looks.numbers} - found.keys()}


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
        look = known.kind_of[place], *(column.keys[place] for column in known.columns.values())
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
