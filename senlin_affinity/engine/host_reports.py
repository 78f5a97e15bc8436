"""Report the hosts as they are after the servers of a request are placed."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from senlin_affinity.engine.domains import domain_capacity
from senlin_affinity.engine.evaluation import Evaluation
from senlin_affinity.engine.table import HostVerdicts, evaluate_hosts
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.scenario.column import Column, in_order, limit, plain
from senlin_affinity.scenario.constraint import is_of_hosts
from senlin_affinity.scenario.scenario import Scenario


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

    ``rows`` are the distinct verdicts, ``row_of`` the row of each host, ``rooms`` its upper bound
    (UNLIMITED: unknown or unlimited), and ``columns`` the verdicts with a number for each host,
    except for the hosts in ``exact``. ``members`` are numbers of servers by service host,
    ``placed`` those of new servers (None: there are none).
    """

    names: tuple[str, ...]
    rows: tuple[HostVerdicts, ...] = field(hash=False)
    row_of: array[int] = field(hash=False, repr=False)
    rooms: array[int] = field(hash=False, repr=False)
    columns: Mapping[str, Column] = field(hash=False, repr=False)
    exact: frozenset[int] = field(repr=False)
    members: Mapping[str, int] = field(hash=False, repr=False)
    placed: array[int] | None = field(hash=False, repr=False)

    def tally(self) -> list[tuple[HostVerdicts, int]]:
        """Return each row with the number of its hosts, in the order of appearance."""
        numbers = np.bincount(self.row_of, minlength=len(self.rows)).tolist()
        pairs = zip(self.rows, numbers, strict=True)
        return [(row, number) for row, number in pairs if number]

    def reports(self) -> tuple[HostReport, ...]:
        """Return the report of each host, in the snapshot's order."""
        return tuple(map(self._report, range(len(self.names))))

    def _report(self, index: int) -> HostReport:
        name, row = self.names[index], self.rows[self.row_of[index]]
        verdicts = row.verdicts
        if index not in self.exact:
            own = {name: each.verdict(index) for name, each in self.columns.items()}
            verdicts = {**verdicts, **own}
        return HostReport(
            name,
            limit(self.rooms[index]),
            row.code,
            verdicts,
            self.members.get(name, 0),
            0 if self.placed is None else self.placed[index],
            row.rejected_by,
        )


def hosts_after(now: Evaluation, after: Scenario) -> HostsAfter:
    """Return the hosts of the scenario after the servers of the evaluated request are placed."""
    request, table, domains = now.request, now.table, now.domains
    before = now.scenario.placed
    if after is not now.scenario:
        of_hosts = [item for item in now.constraints if is_of_hosts(item)]
        table = evaluate_hosts(request, of_hosts, after)
        domains = domain_capacity(request, after, now.constraints, table)
    if domains is not None:
        table = domains.table
    row_of, firsts = in_order(table.row_of)
    return HostsAfter(
        after.cloud.host_names,
        tuple(table.rows[row] for row in table.row_of[firsts].tolist()),
        plain(row_of),
        plain(table.upper),
        {name: each.plain() for name, each in table.counted.items()},
        table.exact,
        now.scenario.members_on(request),
        None if after.placed is None else plain(after.placed - (0 if before is None else before)),
    )
