"""Our constraints, in the order in which reasons are told; without looking for plugins."""

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.image import ImageConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.server_count import ServerCountConstraint
from tests.support.small_cloud import CONSTRAINTS, Fence

OTHERS = (
    AggregateMetadataConstraint,
    ImageConstraint,
    ReservationsConstraint,
    ServerCountConstraint,
)
OURS = tuple(
    sorted(
        {*map(type, CONSTRAINTS), *OTHERS} - {Fence},
        key=lambda constraint: constraint.order,
    )
)
