"""Our constraints, in the order in which reasons are told; without looking for plugins."""

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.candidates import CandidatesConstraint
from senlin_affinity.constraints.flavor_aggregates import FlavorAggregatesConstraint
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.constraints.image_aggregates import ImageAggregatesConstraint
from senlin_affinity.constraints.image_hypervisor import ImageHypervisorConstraint
from senlin_affinity.constraints.isolated_hosts import IsolatedHostsConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.server_count import ServerCountConstraint
from senlin_affinity.constraints.tenant_isolation import TenantIsolationConstraint
from tests.support.small_cloud import CONSTRAINTS, Fence

OTHERS = (
    AggregateMetadataConstraint,
    ImageConstraint,
    CandidatesConstraint,
    FlavorAggregatesConstraint,
    ImageAggregatesConstraint,
    ImageHypervisorConstraint,
    IsolatedHostsConstraint,
    TenantIsolationConstraint,
    ReservationsConstraint,
    ServerCountConstraint,
)
OURS = tuple(
    sorted(
        {*map(type, CONSTRAINTS), *OTHERS} - {Fence},
        key=lambda constraint: constraint.order,
    )
)
