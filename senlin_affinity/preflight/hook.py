"""Decide where the new nodes of a cluster are placed, or reject them. No I/O.

``preflight: enforce`` rejects nodes that do not fit; ``warn`` logs that and continues. If the
policy must choose a host (``Question.is_pinned``, the DRS extension) or a zone (a hard spread over
zones) and finds none, the action is rejected in every mode.

Raises: InvalidSpec for a name that this cloud does not have, and PluginError for a constraint that
does not load, with ``enforce``, or if a host or zone must be chosen; CloudError in the latter case.
Otherwise, these are warnings. :func:`max_size_shortfall` raises all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from senlin_affinity import engine
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.engine import capacity
from senlin_affinity.engine.decision import Decision, Remedy
from senlin_affinity.model.errors import AffinityError, CloudError
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.snapshot import IMAGE, CloudView, Coverage
from senlin_affinity.model.verdict import assuming
from senlin_affinity.nova import effective_zone
from senlin_affinity.nova.group_policy import is_enforced, why_not_enforced
from senlin_affinity.nova.queried_aggregates import reads_images
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX
from senlin_affinity.policy import profile, senlin_data
from senlin_affinity.policy.senlin_data import NO_DRS_HOST, Binding, Placement, Refusal
from senlin_affinity.preflight import candidates, disclosure, question, zone_assignment
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.scale_request import ScaleRequest
from senlin_affinity.preflight.zone_assignment import ZoneAssignment

_NOT_OFFERED = 'candidates.not_offered on all other hosts (senlin-affinity plan explains them)'
#: The fetched view of a cloud, or the error that prevented it.
ViewOrError: TypeAlias = CloudView | AffinityError


@dataclass(frozen=True)
class HookResult:
    """The answer for the owner, and texts for the log.

    ``refusal`` is the full text of a rejection if the owner reads less. ``advice`` is for the owner
    of nodes that do not fit, but are not rejected.
    """

    answer: Placement | Refusal
    warning: str | None = None
    note: str | None = None
    refusal: str | None = None
    advice: str | None = None

    @property
    def for_owner(self) -> str | None:
        """The owner's text of a rejection; None for a placement."""
        return self.answer.reason if isinstance(self.answer, Refusal) else None

    @property
    def for_operators(self) -> str | None:
        """The full text of a rejection; None for a placement."""
        return self.refusal or self.for_owner


def place_nodes(scale_request: ScaleRequest, fetched: ViewOrError) -> HookResult:
    """Return the placement of the nodes, or their rejection.

    ``Placement(0, '')`` for no nodes, or a cluster without a binding.
    """
    asked, binding = scale_request.question, scale_request.binding
    if asked.count == 0 or binding is None:
        return HookResult(Placement(0, ''))  # nothing to place
    if not senlin_data.is_planned(scale_request.properties):
        return _on_drs_host(scale_request, binding, _view_or_raise(fetched))
    if isinstance(fetched, CloudView) and fetched.coverage is Coverage.ENOUGH:
        note = f'fits on {len(fetched.snapshot.hosts or ())} of the possible hosts'
        request, scenario = scale_request.resolve(fetched)
        declared = capacity.declared(request, scenario.cloud, scale_request.constraints)
        assumed = capacity.find(request, scenario.cloud, declared)
        return HookResult(scheduler_chooses(scale_request), note=note + assuming(assumed))
    freed, why = _without_reservations(scale_request, fetched)
    if why is not None:
        outcome = place_nodes(freed, fetched)
        return replace(outcome, warning='; '.join(filter(None, (why, outcome.warning))))
    try:
        view = _view_or_raise(fetched)
        decision = _plan(scale_request, view, scale_request.constraints)
    except AffinityError as error:
        return _undecided(scale_request, error)
    if not asked.is_pinned:
        return _scheduled(scale_request, view, decision)
    properties = scale_request.properties
    answer = senlin_data.pinned(decision, view.unavailable, binding.servergroup_id, properties)
    return _disclosed(scale_request, view, decision, answer)


def _on_drs_host(scale_request: ScaleRequest, binding: Binding, view: CloudView) -> HookResult:
    """Return a placement in the policy's zone, or in ``zone:host`` with the DRS extension.

    Reject without a DRS host; an owner who may not list hosts reads only ``NO_DRS_HOST``.
    """
    asked, hosts = scale_request.question, view.snapshot.hosts or ()
    pattern = asked.settings.value(PATTERN)
    zone = senlin_data.zone_of_nodes(scale_request.properties, hosts, pattern)
    if not isinstance(zone, Refusal):
        return HookResult(Placement(asked.count, binding.servergroup_id, zone))
    if not view.owner_sees_hosts:
        return HookResult(Refusal(NO_DRS_HOST), refusal=zone.reason)
    return HookResult(zone)


def _undecided(scale_request: ScaleRequest, error: AffinityError) -> HookResult:
    """Let nova-scheduler choose the hosts, with a warning, or raise the error (see the module)."""
    may_reject = scale_request.properties.preflight == 'enforce'
    if scale_request.must_choose or (may_reject and not isinstance(error, CloudError)):
        raise error
    count = scale_request.question.count
    warning = f'could not determine whether {count} node(s) fit: {error}'
    return HookResult(scheduler_chooses(scale_request), warning)


def _scheduled(scale_request: ScaleRequest, view: CloudView, decision: Decision) -> HookResult:
    """Return the answer for nodes whose hosts nova-scheduler chooses.

    Reject if ``fits`` is False, with ``enforce`` and unless :func:`_is_image_hidden`, and if no
    zone can be assigned. Otherwise, place the nodes, with why they may not fit as a warning.
    """
    asked, mode = scale_request.question, scale_request.properties.preflight
    rejection = Refusal(senlin_data.words(decision))
    if decision.fits is False and mode == 'enforce' and not _is_image_hidden(asked):
        return _disclosed(scale_request, view, decision, rejection)
    answer, why = _with_zones(scale_request, view, decision)
    if isinstance(answer, Refusal) and decision.is_hosts_known:
        return _disclosed(scale_request, view, decision, answer)
    if mode == 'off' or isinstance(answer, Refusal):
        return HookResult(answer, why)
    if decision.fits is False:
        found = _disclosed(scale_request, view, decision, rejection)
        words = '; '.join(filter(None, (found.for_operators, why)))
        return HookResult(answer, words, advice=found.for_owner)
    # Without operator credentials, unknown hosts are usual: attach reports it once.
    if decision.fits is None and (decision.is_hosts_known or not view.owner_sees_hosts):
        words = senlin_data.words(decision, view.unavailable)
        return HookResult(answer, '; '.join(filter(None, (words, why))))
    return HookResult(answer, why, None if decision.certain else decision.line())


def _is_image_hidden(asked: Question) -> bool:
    """Check whether reservations depend on the image, and the profile names none (a volume)."""
    return reads_images(asked.settings) and profile.image(asked.profile or {}) is None


def _disclosed(
    scale_request: ScaleRequest, view: CloudView, decision: Decision, answer: Placement | Refusal
) -> HookResult:
    """Return the answer, with a rejection limited to what the owner may read.

    It stays if the view has the whole cloud and the owner may list hosts. With fewer hosts, such an
    owner also reads why each candidate is rejected. Others read the tenant's report.
    """
    if not isinstance(answer, Refusal):  # the hosts are chosen
        assumed = assuming(decision.assumptions)
        return HookResult(answer, note=f'fits{assumed}' if assumed else None)
    if view.coverage is Coverage.CLOUD and view.owner_sees_hosts:
        return HookResult(answer)
    others = (
        Remedy(each.code, each.change, decision.wanted, each.size, kind=each.kind)
        for each in view.helpful
    )
    more = replace(decision, tried=(*decision.tried, *others))
    restricting = candidates.restricting(scale_request, view)
    request, scenario = scale_request.resolve(view)
    report = disclosure.refusal(
        more, request, scenario.cloud, scale_request.constraints, restricting
    )
    if view.coverage is Coverage.CLOUD:
        return HookResult(report, refusal=answer.reason)
    known = 'the hosts accept what the quota allows' if decision.capacity else 'no host was read'
    if view.coverage is Coverage.CANDIDATES:
        number = len(view.snapshot.hosts or ())
        known = f'of the {number} host(s) that Placement offers: {decision.line()}; {_NOT_OFFERED}'
    full = f'{report.reason}; {known}'
    return HookResult(Refusal(full)) if view.owner_sees_hosts else HookResult(report, refusal=full)


def _without_reservations(
    request: ScaleRequest, fetched: ViewOrError
) -> tuple[ScaleRequest, str | None]:
    """Drop reservations if only they pin hosts, and the policy cannot choose hosts; say why.

    It cannot if the view lacks the hosts, or without ``owner_sees_hosts``. Nova may then use
    reserved hosts. Otherwise, and for an error, return the request and None.
    """
    asked = request.question
    is_by_reservations = asked.is_pinned and not asked.chooses_hosts
    hidden = fetched.unavailable.get('hosts') if isinstance(fetched, CloudView) else None
    if hidden is None and isinstance(fetched, CloudView) and not fetched.owner_sees_hosts:
        hidden = 'Nova does not let the owner choose hosts'
    if is_by_reservations and hidden is not None:
        none = {REQUIRED_PREFIX.key: None, FORBIDDEN_PREFIXES.key: ()}
        freed = replace(asked, options={**asked.options, **none})
        why = 'neither the preflight nor Nova keeps these nodes off reserved hosts'
        return replace(request, question=freed), f'{why}: {hidden}'
    return request, None


def scheduler_chooses(scale_request: ScaleRequest) -> Placement:
    """Return a placement with the policy's zone and the bound group ('' without a binding)."""
    group = '' if scale_request.binding is None else scale_request.binding.servergroup_id
    return Placement(
        scale_request.question.count, group, scale_request.properties.availability_zone
    )


def max_size_shortfall(scale_request: ScaleRequest, fetched: ViewOrError) -> str | None:
    """Return why the cluster could not reach this size on empty hosts; None if it may.

    None also if that is unknown.
    """
    if isinstance(fetched, CloudView) and fetched.coverage is Coverage.ENOUGH:
        return None
    lasting = [item for item in scale_request.constraints if item.is_unresolvable]
    freed, _why = _without_reservations(scale_request, fetched)
    decision = _plan(_without_others(freed, lasting), _view_or_raise(fetched), lasting)
    return senlin_data.words(decision) if decision.fits is False else None


def _without_others(scale_request: ScaleRequest, kept: Sequence[Constraint]) -> ScaleRequest:
    """Return the request without the scheduler filters that only other constraints model."""
    given = scale_request.question.enabled_filters
    filters = DEFAULT_FILTERS if given is None else given
    modelled = {name for item in scale_request.constraints for name in item.filters}
    modelled -= {name for item in kept for name in item.filters}
    left = tuple(name for name in filters if name not in modelled)
    return replace(scale_request, question=replace(scale_request.question, enabled_filters=left))


def unenforced(scale_request: ScaleRequest) -> str | None:
    """Return why nothing enforces the policy of the bound group; None if something does.

    None also without a binding, or if it names no policy.
    """
    asked, binding = scale_request.question, scale_request.binding
    policy = None if binding is None else binding.policy
    if policy is None or is_enforced(policy, asked.settings, is_pinned=asked.is_pinned):
        return None
    return why_not_enforced(policy)


def default_zone(scale_request: ScaleRequest, fetched: ViewOrError) -> str | None:
    """Return the default zone, which a hard spread over zones ignores; None without such a spread.

    Raise an error in ``fetched`` in the former case.
    """
    if scale_request.zones is None or not scale_request.zones.is_hard:
        return None
    request, scenario = scale_request.resolve(_view_or_raise(fetched))
    return effective_zone.default_zone(request, scenario.cloud)


def _view_or_raise(fetched: ViewOrError) -> CloudView:
    if isinstance(fetched, AffinityError):
        raise fetched
    return fetched


def _plan(
    scale_request: ScaleRequest, view: CloudView, constraints: Sequence[Constraint]
) -> Decision:
    """Plan the request; raise CloudError if a needed image, or any host to choose from, is unknown.

    Raise the error of constraints that failed to load.
    """
    asked = scale_request.question
    if scale_request.error is not None:
        raise scale_request.error
    if IMAGE in view.unavailable and question.scope_of(asked).is_image_needed:
        raise CloudError(view.unavailable[IMAGE])
    if asked.is_pinned and view.snapshot.hosts is None:
        why = view.unavailable.get('hosts', 'the hosts are not known')
        raise CloudError(f'the policy has to choose the host of every node: {why}')
    request, scenario = scale_request.resolve(view)
    return engine.plan(request, scenario, constraints)


def _with_zones(
    scale_request: ScaleRequest, view: CloudView, decision: Decision
) -> tuple[Placement | Refusal, str | None]:
    """Return the placement, with a zone for each node in a spread over zones, and None.

    A soft spread may have no zones, with ``NOT_SPREAD`` as warning; a hard one is then a Refusal.
    """
    answer = scheduler_chooses(scale_request)
    if scale_request.zones is None:
        return answer, None
    request, scenario = scale_request.resolve(view)
    zoning = ZoneAssignment(scale_request.zones, decision, request, scenario.cloud)
    if not scale_request.zones.is_hard:
        names = zoning.soft()
        return replace(answer, hosts=names), None if names else zone_assignment.NOT_SPREAD
    doubted = {ReservationsConstraint.name} if _is_image_hidden(scale_request.question) else set()
    zones = zoning.hard([each for each in scale_request.constraints if each.name not in doubted])
    if isinstance(zones, Refusal):
        return zones, None
    return (replace(answer, hosts=zones) if zones else Refusal(senlin_data.words(decision))), None
