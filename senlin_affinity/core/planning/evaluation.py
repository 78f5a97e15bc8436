"""What the constraints say of a question, and how many servers fit by that.

No server is placed here, and nothing is put into words: remedies evaluate many questions, and only
ask how many fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import is_
from typing import NamedTuple

from senlin_affinity.core.answered import answered
from senlin_affinity.core.constraint import (
    Constraint,
    HostConstraint,
    RequestConstraint,
    is_of_hosts,
    is_of_requests,
)
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.planning import blame, domains, scheduler_filters
from senlin_affinity.core.planning.assessment import assess
from senlin_affinity.core.planning.capacity import Capacity, is_open_affinity, measure
from senlin_affinity.core.planning.choice import choose
from senlin_affinity.core.planning.columns import Known
from senlin_affinity.core.planning.domains import Survey
from senlin_affinity.core.planning.rows import Row
from senlin_affinity.core.planning.table import Table
from senlin_affinity.core.verdict import Verdict

#: Where criteria cross, no more servers than this are tried one by one.
_MOST_TRIED = 100_000


class Judged(NamedTuple):
    """Hosts that are changed, by their places, and what is said about them."""

    places: Sequence[int]
    hosts: Sequence[Host]
    table: Table

    def at(self, indexes: Sequence[int]) -> Judged:
        """Some of them."""
        places, hosts = self.places.__getitem__, self.hosts.__getitem__
        return Judged([*map(places, indexes)], [*map(hosts, indexes)], self.table.at(indexes))


@dataclass(frozen=True)
class Evaluation:
    """A question, and what is said about it.

    ``table`` is about the hosts by themselves, ``found`` adds what is said of their domains.
    """

    resolved: ResolvedRequest
    constraints: Sequence[Constraint]
    table: Table
    found: Survey | None
    request: Mapping[str, Verdict]
    room: Capacity

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts that are known."""
        return self.resolved.snapshot.hosts or ()

    @property
    def rows(self) -> Sequence[Row]:
        """The row of each host."""
        return self.table.rows

    @property
    def fits(self) -> bool | None:
        """Do as many fit as are wanted? None: nobody knows."""
        return self.room.fits(self.resolved.request.count)

    @property
    def capacity(self) -> int | None:
        """How many fit; None: nobody knows."""
        return self.room.most

    def chosen(self) -> list[int]:
        """The hosts of the servers that are wanted, as far as they certainly fit."""
        number = min(self.resolved.request.count, self.room.certain)
        return choose(self.resolved, self.hosts, self.table, self.found, number)


def evaluate(
    resolved: ResolvedRequest,
    constraints: Sequence[Constraint],
    known: Evaluation | None = None,
    judged: Judged | None = None,
) -> Evaluation:
    """Ask every constraint, and count.

    :param known: what was said of a question that is mostly the same. Where it only has other hosts
        (beside those that are left as they are) or other numbers, its rows are taken over.
    :param judged: the other hosts, where what is said of them in that question is known, too.
    """
    hosts = resolved.snapshot.hosts
    constraints = [item for item in constraints if item.name not in resolved.rules.given_up]
    request = {
        item.name: _of_request(resolved, item) for item in constraints if is_of_requests(item)
    }
    of_hosts = [item for item in constraints if is_of_hosts(item)]
    table = _table(resolved, of_hosts, hosts or (), known, judged)
    is_together = is_open_affinity(resolved)
    found = domains.survey(resolved, constraints, hosts or (), table, is_together=is_together)
    if found is not None and found.crossing:
        tried = choose(resolved, hosts or (), table, found, _MOST_TRIED)
        found = replace(found, certain=len(tried))
    told = table if found is None else found.table
    unmodelled = tuple(_unmodelled(resolved, constraints, table))
    reasons = {code: why for item in of_hosts for code, why in item.reasons.items()}
    room = measure(resolved, hosts, told, found, request.values(), unmodelled, reasons)
    return Evaluation(resolved, constraints, table, found, request, room)


def _table(
    resolved: ResolvedRequest,
    constraints: Sequence[HostConstraint],
    hosts: Sequence[Host],
    known: Evaluation | None,
    judged: Judged | None,
) -> Table:
    """What is said about each host; of one which is the very same it is what is known."""
    before = () if known is None else known.hosts
    if known is None or len(hosts) < len(before):
        return assess(resolved, constraints, hosts)
    if judged is not None and _is_alike(resolved, known.resolved):
        return known.table.patched(judged.places, judged.table)
    same = map(is_, hosts, before)
    others = [place for place, is_same in enumerate(same) if not is_same]
    others += range(len(before), len(hosts))
    if not _is_alike(resolved, known.resolved):
        return assess(resolved, constraints, hosts, Known(known.resolved, known.table, others))
    if not others:
        return known.table
    fields = known.table.looks.fields
    told = assess(resolved, constraints, [hosts[place] for place in others], fields=fields)
    return known.table.patched(others, told)


def _is_alike(one: ResolvedRequest, two: ResolvedRequest) -> bool:
    """Does what is said of a host hold for both, by all that is not the host itself?"""
    question = replace(one.request, count=two.request.count), one.flavor, one.rules, one.member_of
    if question != (two.request, two.flavor, two.rules, two.member_of):
        return False
    if (one.server_group, one.placed) != (two.server_group, two.placed):
        return False
    clouds = one.snapshot, two.snapshot
    changed = (each for each in fields(CloudSnapshot) if each.name not in ('hosts', 'quotas'))
    if any(getattr(clouds[0], each.name) is not getattr(clouds[1], each.name) for each in changed):
        return False
    return clouds[0].zones == clouds[1].zones


def _of_request(resolved: ResolvedRequest, constraint: RequestConstraint) -> Verdict:
    with blame.blaming(constraint, 'check_request'):
        return blame.answered(constraint.check_request(resolved))


def _unmodelled(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], table: Table
) -> Iterator[str]:
    """What may refuse a host though no constraint knows of it."""
    modelled = {name for item in constraints for name in item.filters}
    yield from scheduler_filters.unmodelled(resolved, modelled)
    if resolved.demand is not None:
        yield from resolved.demand.unmodelled
        only_placement = resolved.demand.only_placement
        if only_placement and not _is_granted(resolved, table):
            yield from only_placement
    for item in constraints:
        if hasattr(item, 'unmodelled'):
            yield from item.unmodelled(resolved)


def _is_granted(resolved: ResolvedRequest, table: Table) -> bool:
    """Does Placement itself say how many servers each host takes that takes any?"""
    query = resolved.once(answered).query
    hosts = zip(resolved.snapshot.hosts or (), table.rooms, strict=True)
    return all(host.grant(query) is not None for host, room in hosts if room != 0)
