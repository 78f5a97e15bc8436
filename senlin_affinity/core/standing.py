"""How the hosts stand once the servers of a request are placed: when their room is used up.

The way of the data: the hosts, what was said about each, and which of them were chosen come in.
Only those that the placements change are assessed again, with the new servers in the group and
their resources used; the others keep their row. Most is told of the rows that hosts share; a report
of every single host is made when somebody looks at the hosts.

Units: numbers of servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from senlin_affinity.core.assessment import Row, assess, tally
from senlin_affinity.core.constraint import HostConstraint
from senlin_affinity.core.decision import HostReport
from senlin_affinity.core.flavor import Demand
from senlin_affinity.core.objects import Host, Question, Resource
from senlin_affinity.core.server_group import AFFINITY, Member


@dataclass(frozen=True)
class Standing:
    """Every host after the placements.

    ``members`` are counts by the name of the service host, ``placed`` by the place among the hosts.
    """

    hosts: Sequence[Host]
    rows: Sequence[Row]
    members: Mapping[str, int]
    placed: Mapping[int, int]

    def tally(self) -> list[tuple[Row, int]]:
        """What was said, and about how many hosts."""
        return tally(self.rows)

    def reports(self) -> tuple[HostReport, ...]:
        """Every host by itself."""
        members, placed = self.members, self.placed
        return tuple(
            HostReport(
                host.host,
                row.room,
                row.code,
                row.verdicts,
                members.get(host.host, 0),
                placed.get(index, 0),
                row.by,
            )
            for index, (host, row) in enumerate(zip(self.hosts, self.rows, strict=True))
        )


def stand(
    question: Question,
    constraints: Sequence[HostConstraint],
    hosts: Sequence[Host],
    rows: Sequence[Row],
    chosen: Sequence[int],
) -> Standing:
    """How the hosts stand after the placements, which are places among the hosts."""
    placed = Counter(chosen)
    after = list(rows)
    if placed:
        affinity = question.server_group is not None and question.server_group.policy == AFFINITY
        names = {hosts[index].host for index in placed}
        changed = [index for index, host in enumerate(hosts) if affinity or host.host in names]
        load = _Load(question.demand)
        loaded = [load.on(hosts[index], placed[index]) for index in changed]
        found = assess(_after(question, [hosts[index] for index in chosen]), constraints, loaded)
        for index, row in zip(changed, found, strict=True):
            after[index] = row
    return Standing(hosts, after, question.members_on, placed)


def _after(question: Question, chosen: Sequence[Host]) -> Question:
    """The question once the servers are in their group."""
    group = question.server_group
    if group is None:
        return question
    new = tuple(Member(f'new-{number}', host.host) for number, host in enumerate(chosen))
    return replace(question, server_group=replace(group, members=group.members + new))


class _Load:
    """Puts servers onto hosts; what is equal afterwards is one object."""

    def __init__(self, asked: Demand | None) -> None:
        self._asked = asked
        self._known: dict[Hashable, Mapping[str, Resource]] = {}

    def on(self, host: Host, servers: int) -> Host:
        """The host once it holds so many servers more."""
        if self._asked is None or host.resources is None or not servers:
            return host
        key = (servers, *host.resources, *host.resources.values())
        resources = self._known.get(key)
        if resources is None:
            resources = self._known[key] = {
                name: has._replace(used=has.used + servers * self._asked.amounts.get(name, 0))
                for name, has in host.resources.items()
            }
        return Host(**{**vars(host), 'resources': resources})
