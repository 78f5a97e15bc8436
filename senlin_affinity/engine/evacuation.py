"""Evaluate the evacuation of every server of a cloud, with an evaluation per kind of request.

Servers whose requests get the same answers share one: equal flavors, images, zones and hints. The
project counts only if an aggregate names it. A server group is looked up apart (``closed``), so
that thousands of groups need no evaluations of their own, until servers are placed.

The hosts that are lost are not marked as down: callers leave them out of the arrays. Nova frees
nothing of a host that is down, and ignores the host that a server leaves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from senlin_affinity.engine.drain_targets import Room, Task
from senlin_affinity.engine.table import column_of
from senlin_affinity.engine.workload_bounds import amounts_of
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY, ServerGroup
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import moves
from senlin_affinity.nova.group_policy import FILTERS
from senlin_affinity.nova.moves import EVACUATE
from senlin_affinity.nova.queried_aggregates import tenants
from senlin_affinity.scenario.columns import Numbers
from senlin_affinity.scenario.constraint import Constraint
from senlin_affinity.scenario.scenario import Scenario

_OURS = __name__.partition('.')[0]
_GROUP = 'server_group'


class Kind(NamedTuple):
    """What the answers about a server depend on: its request, and its group unless that is soft.

    ``asked`` is the number of the request without its group. ``own`` is the id of a server that
    also has another host, which its group does not count.
    """

    asked: int
    group: str | None = None
    own: str | None = None


@dataclass(frozen=True)
class Evacuations:
    """The answers about the servers of a cloud, each computed once."""

    scenario: Scenario
    constraints: Sequence[Constraint]
    settings: Settings
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _rooms: dict[Kind, Room] = field(default_factory=dict)
    _examples: dict[Kind, Server] = field(default_factory=dict)
    _texts: dict[int, tuple[Flavor, bytes]] = field(default_factory=dict)
    _closed: dict[str, Numbers] = field(default_factory=dict)
    _amounts: dict[int, tuple[Mapping[str, int], Mapping[str, int]]] = field(default_factory=dict)

    def in_scenario(self, scenario: Scenario) -> Evacuations:
        """Return the same servers in another scenario, without its answers."""
        return replace(self, scenario=scenario, _rooms={}, _closed={})

    @cached_property
    def cloud(self) -> Cloud:
        """The cloud as it is."""
        return self.scenario.cloud

    @cached_property
    def _lost(self) -> Cloud:
        """The cloud with all hosts down, in which Nova accepts evacuations of all of them."""
        hosts = tuple(host.but(up=False) for host in self.cloud.hosts or ())
        return structs.replace(self.cloud, hosts=hosts)

    @cached_property
    def is_foreign(self) -> bool:
        """Whether constraints of other packages may read any field of a request."""
        return any(type(each).__module__.partition('.')[0] != _OURS for each in self.constraints)

    @cached_property
    def _projects(self) -> frozenset[str]:
        """The projects that aggregates name."""
        every = (tenants(each.metadata) for each in self.cloud.aggregates or ())
        return frozenset[str]().union(*every)

    @cached_property
    def _moving(self) -> frozenset[str]:
        """The members of groups that are, or were, on another host, too."""
        return frozenset(
            member.server
            for group in self.cloud.server_groups or ()
            for member in group.members
            if member.left or member.also_on
        )

    def obstacle(self, server: Server) -> Verdict | None:
        """Return why Nova evacuates the server to no host, if its host is down."""
        return moves.obstacle(server, EVACUATE, self._lost, self.settings)

    def group(self, server: Server) -> ServerGroup | None:
        """Return the server's group if its policy rejects hosts."""
        found = self.cloud.server_groups_by_id.get(server.server_group or '')
        return found if found is not None and found.policy in FILTERS else None

    def kind(self, server: Server) -> Kind:
        """Return the kind of a server."""
        project = server.project_id
        is_named = self.is_foreign or project in self._projects
        asked = (
            self._text(server.flavor),
            tuple(sorted(server.image_properties.items())),
            server.is_volume_booted,
            server.pinned_zone,
            project if is_named else None,
            server.user_id if self.is_foreign else None,
            msgspec.json.encode(server.hints) if server.hints else b'',
            'image_properties' in server.unknown,
            None if server.server_group in self.cloud.server_groups_by_id else server.server_group,
        )
        group = self.group(server)
        name = server.server_group if self.is_foreign else group.id if group is not None else None
        number = self._numbers.setdefault(asked, len(self._numbers))
        found = Kind(number, name, server.id if server.id in self._moving else None)
        self._examples.setdefault(found, server)
        self._examples.setdefault(Kind(number), server)
        return found

    def _text(self, flavor: Flavor | None) -> bytes:
        if flavor is None:
            return b''
        if id(flavor) not in self._texts:  # the flavor is kept, so that its id stays its own
            self._texts[id(flavor)] = flavor, msgspec.json.encode(flavor)
        return self._texts[id(flavor)][1]

    def request(self, kind: Kind) -> Request:
        """Return the request for a server of the kind.

        Its group also has the server itself, which counts on the host that is lost only.
        """
        found = moves.request_of(self._examples[kind], self.cloud, self.settings)
        if kind.own is not None:
            return found
        return replace(found, server_group=self.cloud.server_groups_by_id.get(kind.group or ''))

    def room(self, kind: Kind) -> Room:
        """Return the numbers of servers of the kind that all hosts take."""
        if kind not in self._rooms:
            task = self.task(np.ones(len(self.scenario.hosts), bool), ())
            self._rooms[kind] = task.room(self.request(kind), self.scenario)
        return self._rooms[kind]

    @property
    def rooms(self) -> Iterable[Room]:
        """The rooms that were evaluated."""
        return self._rooms.values()

    def amounts(self, kind: Kind) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the least and the most that a server of the kind uses."""
        if kind.asked not in self._amounts:
            self._amounts[kind.asked] = amounts_of(self.request(Kind(kind.asked)))
        return self._amounts[kind.asked]

    def closed(self, kind: Kind) -> Numbers | None:
        """Return the hosts, by index, where anti-affinity guarantees no slot; None: not known.

        None also for affinity.
        """
        group = self.cloud.server_groups_by_id.get(kind.group or '')
        if group is None or group.policy == AFFINITY or self.cloud.has_shared_services:
            return None
        if group.id not in self._closed:
            (constraint,) = (each for each in self.constraints if each.name == _GROUP)
            column = column_of(constraint, self.request(kind), self.scenario)
            is_closed = np.array([not each or not each.bounds.lower for each in column.verdicts])
            found = np.flatnonzero(is_closed[column.verdict_of] | (column.lower == 0))
            self._closed[group.id] = found
        return self._closed[group.id]

    def task(self, is_target: np.ndarray, servers: Sequence[Server]) -> Task:
        """Return the task of placing servers on some of the hosts."""
        of_id = {each.id: each for each in servers}
        return Task(
            self.scenario, self.constraints, self.settings, is_target, of_id, is_freeing=False
        )

    def names_one_of(self, servers: Sequence[Server]) -> bool:
        """Check whether the hints of one of the servers name another one."""
        ids = {each.id for each in servers}
        hinted = (each for each in servers if each.hints)
        return any(not ids.isdisjoint(scheduler_hints.named(each.hints, None)) for each in hinted)
