"""Which zone each node of a spread over the zones gets, by what the planner decided.

Data flow: a soft spread names the zones that the planner chose (:meth:`ZoneAssignment.soft`), a
hard one these, and for the nodes that were not placed the emptiest of the eligible zones each time
(:meth:`ZoneAssignment.hard`). The zones are those of the hosts; where no hosts are known, those
that Nova lists for everybody and that are open.

A node that names a zone fails where the zone has no room, and a soft spread refuses nothing. So it
names none where no room is known of. A node without a zone may take the room of one with: where not
all are sure to fit, but may, Nova chooses the zones of all.

Filling the emptiest zone each time keeps the skew within ``max_skew``: a zone gets one more than
the emptiest then holds, at most, and the planner reckons with what it could not read as empty.

Shapes: ``('az-1', 'az-2', None)``, the zones of three nodes. None: Nova chooses.

Errors: CloudError where a zone must be chosen, and none is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from senlin_affinity.model.constraint import Constraint, is_of_domains
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova import aggregate_membership, topology
from senlin_affinity.nova.effective_zone import default_zone
from senlin_affinity.planner.decision import Decision, PlacedServer
from senlin_affinity.planner.row import capacity_constraints
from senlin_affinity.policy.placement import Refusal

NOT_SPREAD = (
    'the nodes are not spread over the zones, as it is not known where there is room for all of '
    'them, and a soft spread refuses none'
)


@dataclass(frozen=True)
class ZoneAssignment:
    """What the zones of the nodes follow from."""

    spread: Spread
    decision: Decision
    resolved: ResolvedRequest

    def soft(self) -> tuple[str | None, ...]:
        """The zones in which there is room; empty where Nova chooses for all nodes."""
        decision = self.decision
        planned = tuple(placed.zone for placed in decision.placements)
        left = decision.wanted - len(planned)
        # A node of the default zone may use the capacity of another zone.
        is_anywhere = self.resolved.once(default_zone) in planned
        is_anywhere |= any(map(self._is_unmirrored, decision.placements))
        if is_anywhere or not any(planned) or (left and decision.fits is not False):
            return ()
        return planned + (None,) * left

    def _is_unmirrored(self, placed: PlacedServer) -> bool:
        """Check whether Placement does not have the planned host in its zone."""
        host = self.resolved.snapshot.hosts_by_name[placed.host]
        return bool(aggregate_membership.unmirrored_in_zone(self.resolved, host, placed.zone))

    def hard(self, constraints: Sequence[Constraint]) -> tuple[str, ...] | Refusal:
        """A zone for every node; empty where there are hosts, and none that may take a node.

        A zone is out where these constraints refuse all of its hosts for anything but room.
        """
        decision, most = self.decision, self.spread.max_per_domain
        planned = [placed.zone for placed in decision.placements if placed.zone is not None]
        if len(planned) == decision.wanted:
            return tuple(planned)
        zones = self._eligible(constraints)
        if not zones:
            if decision.fits is False and decision.is_hosts_known:
                return ()
            raise CloudError('the policy has to choose the zone of every node: none is known')
        held = topology.servers(self.resolved, ZONE)
        if most is not None and _left(zones, held, most) < decision.wanted:
            return Refusal(self._too_many(zones, held, most))
        held.update(planned)
        while len(planned) < decision.wanted:
            free = [zone for zone in zones if most is None or held[zone] < most]
            best = min(free, key=lambda zone: (held[zone], zone))
            held[best] += 1
            planned.append(best)
        return tuple(planned)

    def _eligible(self, constraints: Sequence[Constraint]) -> set[str]:
        """Return the zones with a host that lacks only capacity, as far as known.

        The default zone is left out, because Nova does not restrict servers to it.
        """
        standing, snapshot = self.decision.standing, self.resolved.snapshot
        default = {self.resolved.once(default_zone)}
        if standing is None:
            return {*(snapshot.availability_zones or ())} - snapshot.unavailable_zones - default
        closing = {item.name for item in constraints if not is_of_domains(item)}
        closing -= capacity_constraints(constraints)
        is_open = [
            all(verdict for name, verdict in row.verdicts.items() if name in closing)
            for row in standing.rows
        ]
        hosts = zip(snapshot.hosts or (), standing.row_of, strict=True)
        return {
            host.availability_zone
            for host, kind in hosts
            if is_open[kind] and host.availability_zone is not None
        } - default

    def _too_many(self, zones: set[str], held: Counter[str], most: int) -> str:
        """Why not every node gets a zone, in numbers of the group and the zones alone."""
        wanted = self.decision.wanted
        enough = most
        while _left(zones, held, enough) < wanted:
            enough += 1
        return (
            f'does not fit: at most {_left(zones, held, most)} of {wanted}; '
            f'a zone may hold max_per_domain: {most}; '
            f'would help: max_per_domain: {enough} (at most {wanted} of {wanted})'
        )


def _left(zones: set[str], held: Counter[str], most: int) -> int:
    """How many servers more the zones may hold."""
    return sum(max(0, most - held[zone]) for zone in zones)
