"""List our constraints in the order of their reasons, and the codes of their remedies."""

import ast
import inspect
import sys

from senlin_affinity.constraints.aggregate_metadata import AggregateMetadataConstraint
from senlin_affinity.constraints.base import Constraint
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

PROPOSALS = ('Change', 'ChangedHosts', 'NewHosts', 'OneOf', 'RaisedNumber')
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


def remedies_of(constraint):
    """Return the codes of the remedies of a constraint's module, in their order."""
    module = sys.modules[constraint.__module__]
    tree = ast.walk(ast.parse(inspect.getsource(module)))
    calls = sorted((each for each in tree if isinstance(each, ast.Call)), key=lambda x: x.lineno)
    codes = [code for each in calls if (code := _code(each, vars(module))) is not None]
    assert bool(codes) is (constraint.proposals is not Constraint.proposals)
    return [*codes, *(['rule_given_up'] if constraint.is_waivable else [])]


def _code(call, names):
    """Return the code of the proposal that a call makes, or changes; None for other calls."""
    name = ast.unparse(call.func)
    if name == 'joining':
        return 'aggregate_hosts'
    if name in PROPOSALS:
        return eval(ast.unparse(call.args[0]), names)
    codes = (each.value.value for each in call.keywords if (name, each.arg) == ('replace', 'code'))
    return next(codes, None)
