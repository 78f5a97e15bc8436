"""Our constraints, in the order in which reasons are told; without looking for plugins."""

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from tests.support.small_cloud import CONSTRAINTS, Fence

OURS = tuple(
    sorted(
        {*map(type, CONSTRAINTS), AggregateMetadataConstraint, ReservationsConstraint} - {Fence},
        key=lambda constraint: constraint.order,
    )
)
