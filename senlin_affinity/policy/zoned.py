"""Which zone each node of a spread over the zones gets, by what the planner decided.

Data flow: a soft spread names the zones that the planner chose (:meth:`Zoning.softly`), a hard one
these, and for the nodes that were not placed the emptiest of the eligible zones each time
(:meth:`Zoning.firmly`). The zones are those of the hosts; where no hosts are known, those that Nova
lists for everybody and that are open.

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

from senlin_affinity.core.constraint import Constraint, is_of_domains
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.core.planning import topology
from senlin_affinity.core.planning.decision import Decision
from senlin_affinity.core.planning.rows import Kinds
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy.placement import Refusal

NOT_SPREAD = (
    'the nodes are not spread over the zones, as it is not known where there is room for all of '
    'them, and a soft spread refuses none'
)


@dataclass(frozen=True)
class Zoning:
    """What the zones of the nodes follow from."""

    spread: Spread
    decision: Decision
    snapshot: CloudSnapshot
    group_id: str

    def softly(self) -> tuple[str | None, ...]:
        """The zones in which there is room; empty where Nova chooses for all nodes."""
        decision = self.decision
        planned = tuple(placed.zone for placed in decision.placements)
        left = decision.wanted - len(planned)
        if not any(planned) or (left and decision.fits is not False):
            return ()
        return planned + (None,) * left

    def firmly(self, constraints: Sequence[Constraint]) -> tuple[str, ...] | Refusal:
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
        held = self._held()
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
        """The zones with a host that lacks nothing but room, as far as is known."""
        standing = self.decision.standing
        if standing is None:
            return {*(self.snapshot.availability_zones or ())} - self.snapshot.closed_zones
        closing = {item.name for item in constraints if not is_of_domains(item)}
        closing -= Kinds.of(constraints).about_room
        is_open = [
            all(verdict for name, verdict in row.verdicts.items() if name in closing)
            for row in standing.kinds
        ]
        hosts = zip(self.snapshot.hosts or (), standing.kind_of, strict=True)
        return {
            host.availability_zone
            for host, kind in hosts
            if is_open[kind] and host.availability_zone is not None
        }

    def _held(self) -> Counter[str]:
        """How many servers of the group each zone holds."""
        groups = self.snapshot.server_groups or ()
        members = [each for group in groups if group.id == self.group_id for each in group.members]
        return topology.held(self.snapshot, members, ZONE)

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
