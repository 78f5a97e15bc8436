"""Our constraints, in the order in which reasons are told; without looking for plugins."""

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.availability_zone import AvailabilityZoneConstraint
from senlin_affinity.constraints.drs import DrsConstraint
from senlin_affinity.constraints.host_state import HostStateConstraint
from senlin_affinity.constraints.member_of import MemberOfConstraint
from senlin_affinity.constraints.quota import QuotaConstraint
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.constraints.spread import SpreadConstraint
from senlin_affinity.constraints.traits import TraitsConstraint

OURS = (
    HostStateConstraint,
    AvailabilityZoneConstraint,
    MemberOfConstraint,
    ReservationsConstraint,
    DrsConstraint,
    AggregateMetadataConstraint,
    TraitsConstraint,
    ServerGroupConstraint,
    SpreadConstraint,
    ResourcesConstraint,
    QuotaConstraint,
)
