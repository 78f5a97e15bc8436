"""Assign a zone to each new node of a cluster that is spread over availability zones.

Nodes that the planner placed get the zone of their planned host. In a hard spread, each other node
gets the eligible zone with the fewest servers of the group. In a soft spread, Nova chooses its
zone, because a node with a zone fails if that zone is full. Such a node may take the capacity that
was planned for another, so no node of a soft spread gets a zone if it is unknown whether all fit,
or if one is planned for the default zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from senlin_affinity.engine.decision import Decision, PlacedServer
from senlin_affinity.engine.table import capacity_constraints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.numbers import at_most
from senlin_affinity.model.request import Request
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova import aggregates, topology
from senlin_affinity.nova.effective_zone import default_zone
from senlin_affinity.policy.senlin_data import Refusal
from senlin_affinity.scenario.constraint import Constraint, is_of_domains

NOT_SPREAD = (
    'the nodes are not spread over the zones: it is not known which zones have room for them, and '
    'a soft spread does not reject nodes in that case'
)


@dataclass(frozen=True)
class ZoneAssignment:
    """A decision about new nodes, from which their zones are derived."""

    spread: Spread
    decision: Decision
    request: Request
    cloud: Cloud

    def soft(self) -> tuple[str | None, ...]:
        """Return the planned zone of each node, then None for the others: ``('az-1', None)``.

        () if no node has a planned zone, if it is unknown whether the others fit, or if a node is
        planned for the default zone, or on a host whose zone Placement does not know.
        """
        decision = self.decision
        planned = tuple(placed.zone for placed in decision.placements)
        left = decision.wanted - len(planned)
        # A node of the default zone may use the capacity of another zone.
        is_anywhere = self._default_zone in planned
        is_anywhere |= any(map(self._is_unmirrored, decision.placements))
        if is_anywhere or not any(planned) or (left and decision.fits is not False):
            return ()
        return planned + (None,) * left

    def _is_unmirrored(self, placed: PlacedServer) -> bool:
        """Check whether Placement lacks the planned host in the aggregate of its zone."""
        host = self.cloud.hosts_by_name[placed.host]
        return bool(aggregates.unmirrored_in_zone(self.cloud, host, placed.zone))

    @property
    def _default_zone(self) -> str | None:
        return self.request.memo(default_zone, self.cloud)

    def hard(self, constraints: Sequence[Constraint]) -> tuple[str, ...] | Refusal:
        """Return a zone for every node, the planned zones first, or a Refusal if slots are missing.

        Without an eligible zone: () if the hosts are known and the request does not fit; otherwise,
        raise CloudError.

        :param constraints: a zone in which they reject every host for more than its capacity is not
            eligible.
        """
        decision, most = self.decision, self.spread.max_per_domain
        planned = [placed.zone for placed in decision.placements if placed.zone is not None]
        if len(planned) == decision.wanted:
            return tuple(planned)
        zones = self._eligible(constraints)
        if not zones:
            if decision.fits is False and decision.is_hosts_known:
                return ()
            raise CloudError('the policy has to choose the zone of every node, but knows no zone')
        held = topology.servers(self.request, self.cloud, ZONE, {})
        if most is not None and _free_slots(zones, held, most) < decision.wanted:
            return Refusal(self._too_many(zones, held, most))
        held.update(planned)
        while len(planned) < decision.wanted:
            best = min(zones, key=lambda zone: (held[zone], zone))
            held[best] += 1
            planned.append(best)
        return tuple(planned)

    def _eligible(self, constraints: Sequence[Constraint]) -> set[str]:
        """Return the zones, except the default one, with a host that lacks nothing but capacity.

        Constraints on domains do not count. If the hosts are unknown, all available zones.
        """
        hosts_after, cloud = self.decision.hosts_after, self.cloud
        default = {self._default_zone}
        if hosts_after is None:
            return {*(cloud.availability_zones or ())} - cloud.unavailable_zones - default
        closing = {item.name for item in constraints if not is_of_domains(item)}
        closing -= capacity_constraints(constraints)
        is_open = [
            all(verdict for name, verdict in row.verdicts.items() if name in closing)
            for row in hosts_after.rows
        ]
        hosts = zip(cloud.hosts or (), hosts_after.row_of, strict=True)
        return {
            host.availability_zone
            for host, kind in hosts
            if is_open[kind] and host.availability_zone is not None
        } - default

    def _too_many(self, zones: set[str], held: Counter[str], max_per_domain: int) -> str:
        """Return a sentence without facts about hosts."""
        wanted = self.decision.wanted
        enough = max_per_domain
        while _free_slots(zones, held, enough) < wanted:
            enough += 1
        return (
            f'does not fit: {at_most(_free_slots(zones, held, max_per_domain), wanted)}; '
            f'max_per_domain allows {max_per_domain} node(s) in each zone; '
            f'would help: max_per_domain: {enough} (at most {wanted} of {wanted})'
        )


def _free_slots(zones: set[str], held: Counter[str], slots: int) -> int:
    """Return the number of free slots of zones with this number of slots each."""
    return sum(max(0, slots - held[zone]) for zone in zones)
