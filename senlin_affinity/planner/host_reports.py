"""Report the hosts as they are after the servers of a request are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from msgspec import structs

from senlin_affinity.model.constraint import is_of_hosts
from senlin_affinity.model.flavor import Demand
from senlin_affinity.model.host import Host
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import holding
from senlin_affinity.planner.domains import domain_capacity
from senlin_affinity.planner.evaluation import Evaluation
from senlin_affinity.planner.matrix import evaluate_hosts, numbered, verdicts
from senlin_affinity.planner.row import Row


class HostReport(NamedTuple):
    """A host after the placements, with the verdicts by constraint.

    ``room`` is the number of servers that still fit (None: unknown or unlimited). ``code`` is that
    of the first REJECT (None without one), and ``rejected_by`` the name of its constraint.
    ``members`` is the number of servers of the group on the host before the request, ``placed``
    that of new servers.
    """

    host: str
    room: int | None
    code: str | None
    verdicts: Mapping[str, Verdict]
    members: int = 0
    placed: int = 0
    rejected_by: str | None = None


@dataclass(frozen=True)
class HostsAfter:
    """All hosts after the placements, in the snapshot's order.

    ``row_of`` is the index of the row of each host. ``columns`` and ``rooms`` have a value for each
    host. ``members`` are numbers of servers by service host, ``placed`` by the index of the host.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...] = field(hash=False)
    row_of: tuple[int, ...] = field(repr=False)
    columns: Mapping[str, Sequence[Verdict]] = field(hash=False, repr=False)
    rooms: tuple[int | None, ...] = field(repr=False)
    members: Mapping[str, int] = field(hash=False, repr=False)
    placed: Mapping[int, int] = field(hash=False, repr=False)

    def first(self, number: int) -> HostsAfter:
        """Return only the first ``number`` hosts."""
        kept = slice(number)
        return replace(
            self, names=self.names[kept], row_of=self.row_of[kept], rooms=self.rooms[kept]
        )

    def tally(self) -> list[tuple[Row, int]]:
        """Return each row with the number of its hosts, in the order of appearance."""
        return [(self.rows[row], number) for row, number in Counter(self.row_of).items()]

    def reports(self) -> tuple[HostReport, ...]:
        """Return the report of each host, in the snapshot's order."""
        each = zip(self.names, map(self.rows.__getitem__, self.row_of), strict=True)
        return tuple(
            HostReport(
                name,
                self.rooms[index],
                row.code,
                verdicts(row, self.columns, index),
                self.members.get(name, 0),
                self.placed.get(index, 0),
                row.rejected_by,
            )
            for index, (name, row) in enumerate(each)
        )


def hosts_after(now: Evaluation, chosen: Sequence[int]) -> HostsAfter:
    """Return the hosts after a server is placed on each index in ``chosen``, which may repeat."""
    resolved, hosts, after, domains = now.resolved, now.hosts, now.matrix, now.domains
    names = resolved.snapshot.host_names
    placed = Counter(chosen)
    if placed:
        affinity = resolved.memo(holding) == AFFINITY
        on_host = Counter([names[index] for index in chosen])
        changed = [index for index, name in enumerate(names) if affinity or name in on_host]
        asked = demand_of(resolved)
        loaded = [_with_servers(hosts[index], placed[index], asked) for index in changed]
        later = replace(resolved, placed=on_host)
        of_hosts = [item for item in now.constraints if is_of_hosts(item)]
        after = after.patched(changed, evaluate_hosts(later, of_hosts, loaded))
        domains = domain_capacity(later, now.constraints, hosts, after)
    matrix = after if domains is None else domains.matrix
    row_of, firsts = numbered(matrix.row_of)
    return HostsAfter(
        names,
        tuple(matrix.rows[matrix.row_of[first]] for first in firsts),
        tuple(row_of),
        {name: tuple(column) for name, column in matrix.columns.items()},
        matrix.room,
        resolved.members_on,
        placed,
    )


def _with_servers(host: Host, servers: int, demand: Demand | None) -> Host:
    """Return the host with this many more servers.

    Each uses the amounts of ``demand`` (None: none), and reduces Placement's grants. Unknown fields
    stay None.
    """
    if not servers:
        return host
    amounts = {} if demand is None else demand.amounts
    has, grants = host.resources, host.grants
    return host.but(
        resources=has
        and {
            name: structs.replace(each, used=each.used + servers * amounts.get(name, 0))
            for name, each in has.items()
        },
        grants=grants and tuple(each.less(servers) for each in grants),
        servers=None if host.servers is None else host.servers + servers,
    )
