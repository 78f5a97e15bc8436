"""How the hosts stand once the servers of a request are placed: when their room is used up.

Only the hosts that the placements change are assessed again, with the new servers in the group and
their resources used; a rule may say itself what is left by its answer (``less``). A report of every
single host is made when somebody looks at the hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from senlin_affinity.core.constraint import is_of_hosts
from senlin_affinity.core.flavor import Demand
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.planning.assessment import assess_after
from senlin_affinity.core.planning.domains import survey
from senlin_affinity.core.planning.evaluation import Evaluation
from senlin_affinity.core.planning.numbering import numbered
from senlin_affinity.core.planning.rows import Row
from senlin_affinity.core.planning.table import verdicts
from senlin_affinity.core.server_group import AFFINITY
from senlin_affinity.core.verdict import Verdict


class HostReport(NamedTuple):
    """One host after the placements: what every constraint says, by the constraint's name.

    ``code`` is that of the first REJECT, None where there is none, and ``by`` the constraint that
    gave it. ``members`` are the servers of the group that it held before, ``placed`` those of this
    request.
    """

    host: str
    room: int | None
    code: str | None
    verdicts: Mapping[str, Verdict]
    members: int = 0
    placed: int = 0
    by: str | None = None


@dataclass(frozen=True)
class Standing:
    """Every host after the placements, in the snapshot's order.

    ``kinds`` are the rows of which each host has one: that at its place in ``kind_of``. ``columns``
    and ``rooms`` are host by host. ``members`` are counts by the name of the service host,
    ``placed`` by the place among the hosts.
    """

    names: tuple[str, ...]
    kinds: tuple[Row, ...] = field(hash=False)
    kind_of: tuple[int, ...] = field(repr=False)
    columns: Mapping[str, Sequence[Verdict]] = field(hash=False, repr=False)
    rooms: tuple[int | None, ...] = field(repr=False)
    members: Mapping[str, int] = field(hash=False, repr=False)
    placed: Mapping[int, int] = field(hash=False, repr=False)

    def tally(self) -> list[tuple[Row, int]]:
        """What was said, and about how many hosts."""
        return [(self.kinds[kind], number) for kind, number in Counter(self.kind_of).items()]

    def reports(self) -> tuple[HostReport, ...]:
        """Every host by itself."""
        return tuple(
            self._report(place, name, self.kinds[kind])
            for place, (name, kind) in enumerate(zip(self.names, self.kind_of, strict=True))
        )

    def _report(self, place: int, name: str, row: Row) -> HostReport:
        said = verdicts(row, self.columns, place)
        members, placed = self.members.get(name, 0), self.placed.get(place, 0)
        return HostReport(name, self.rooms[place], row.code, said, members, placed, row.by)


def stand(now: Evaluation, chosen: Sequence[int]) -> Standing:
    """How the hosts stand after the placements, which are places among the hosts."""
    resolved, hosts, after = now.resolved, now.hosts, now.table
    names = resolved.snapshot.host_names
    placed = Counter(chosen)
    found = now.found
    if placed:
        affinity = resolved.server_group is not None and resolved.server_group.policy == AFFINITY
        on_host = Counter([names[index] for index in chosen])
        changed = sorted(placed)
        if affinity or resolved.snapshot.has_shared_services:
            changed = [index for index, name in enumerate(names) if affinity or name in on_host]
        load = loader(resolved.demand)
        later = replace(resolved, placed=on_host)
        of_hosts = [item for item in now.constraints if is_of_hosts(item)]
        servers = {place: placed.get(place, 0) for place in changed}
        told = assess_after(later, of_hosts, hosts, after, servers, load)
        after = after.patched(changed, told)
        found = survey(later, now.constraints, hosts, after)
    stood = after if found is None else found.table
    kind_of, firsts = numbered(stood.kind_of)
    return Standing(
        names,
        tuple(stood.kinds[stood.kind_of[first]] for first in firsts),
        tuple(kind_of),
        {name: tuple(column) for name, column in stood.columns.items()},
        stood.known_rooms,
        resolved.members_on,
        placed,
    )


def loader(asked: Demand | None) -> Callable[[Host, int], Host]:
    """What puts so many servers onto a host; what is equal afterwards is one object.

    What Placement grants there is so many servers less.
    """
    known: dict[tuple[int, int], Mapping[str, Resource]] = {}
    amounts = {} if asked is None else asked.amounts

    def load(host: Host, servers: int) -> Host:
        if not servers:
            return host
        held = None if host.servers is None else host.servers + servers
        if asked is None:
            return host if held is None else host.but(servers=held, grants=host.grants)
        has, grants = host.resources, host.grants
        if has is not None:
            key = id(has), servers
            if key not in known:
                known[key] = {
                    name: _used(each, servers * amounts[name]) if name in amounts else each
                    for name, each in has.items()
                }
            has = known[key]
        if grants:
            grants = tuple([each.less(servers) for each in grants])
        return host.but(resources=has, grants=grants, servers=held)

    return load


def _used(has: Resource, amount: int) -> Resource:
    """With so much more in use: by tuple.__new__, as this is done for each of many hosts."""
    capacity, used, max_unit, step_size, is_sum, pool = has
    values = (capacity, used + amount, max_unit, step_size, is_sum, pool)
    return tuple.__new__(Resource, values)
