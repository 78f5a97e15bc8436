"""Represent a request for new nodes of a cluster: the question, the binding and the constraints."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.model.errors import AffinityError, BindingError
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudView
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import Binding, is_planned, remembered
from senlin_affinity.preflight import question
from senlin_affinity.preflight.question import FetchScope, Question, resolve_question
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class ScaleRequest:
    """A request for new nodes of a cluster.

    ``error`` is set if the constraints failed to load. ``change`` is a change of the request
    (:mod:`~senlin_affinity.engine.changes`). ``ignores_current_usage``: the answer must not depend
    on today's free capacity.
    """

    question: Question
    binding: Binding | None
    constraints: Sequence[Constraint] = ()
    error: AffinityError | None = None
    change: Data = field(default_factory=dict, hash=False)
    ignores_current_usage: bool = False

    @property
    def properties(self) -> PolicySpec:
        """The properties of the policy."""
        return cast(PolicySpec, self.question.properties)

    @property
    def zones(self) -> Spread | None:
        """The policy's spread over zones; None without one."""
        return next((item for item in self.properties.spread if item.by == ZONE), None)

    @property
    def must_choose(self) -> bool:
        """Whether the policy must choose hosts, or zones for a hard spread."""
        return self.question.is_pinned or (self.zones is not None and self.zones.is_hard)

    def resolve(self, view: CloudView) -> tuple[Request, Scenario]:
        """Resolve the question in the view, with the binding's group rules and ``change``."""
        cloud = remembered(view.snapshot, self.binding)
        request, cloud = resolve_question(self.question, dataclasses.replace(view, snapshot=cloud))
        return carry_out(self.change, request, Scenario.of(cloud))


def scope_of(request: ScaleRequest) -> FetchScope | None:
    """Return the parts of the cloud to fetch; None for no nodes, or without a plan or DRS host.

    Without a plan, the scope is only the pattern of DRS hosts. Raise BindingError for new nodes of
    a cluster without a binding.
    """
    asked, properties = request.question, request.properties
    if asked.count == 0:
        return None
    if request.binding is None:
        raise BindingError(
            'the policy is bound to this cluster without a server group: '
            'detach the policy and attach it again'
        )
    if is_planned(properties):
        return question.scope_of(asked)
    if properties.is_drs_enabled:
        return FetchScope(drs_pattern=asked.settings.value(PATTERN))
    return None
