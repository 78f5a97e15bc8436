"""Decide where the new nodes of a cluster are placed, or reject them. No I/O.

``preflight: enforce`` rejects nodes that do not fit; ``warn`` logs that and continues. If the
policy must choose a host (``Question.is_pinned``, the DRS extension) or a zone (a hard spread over
zones) and finds none, the action is rejected in every mode.

Raises: BindingError for a cluster without a binding; InvalidSpec for a name that this cloud does
not have, and PluginError for a constraint that does not load, with ``enforce``, or if a host or
zone must be chosen; CloudError in the latter case. Otherwise, these are warnings.
:func:`max_size_shortfall` raises all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

from senlin_affinity import engine
from senlin_affinity.answers import disclosure, zone_assignment
from senlin_affinity.answers.zone_assignment import ZoneAssignment
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.constraints.reservations import ReservationsConstraint
from senlin_affinity.engine import capacity
from senlin_affinity.engine.decision import Decision, Remedy
from senlin_affinity.model.cloud import IMAGE, Cloud, OtherHosts
from senlin_affinity.model.errors import AffinityError, BindingError, CloudError
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.verdict import assuming
from senlin_affinity.nova import effective_zone
from senlin_affinity.nova.group_policy import is_enforced, why_not_enforced
from senlin_affinity.nova.queried_aggregates import reads_images
from senlin_affinity.nova.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX
from senlin_affinity.policy import profile, senlin_data
from senlin_affinity.policy.properties import PolicySpec
from senlin_affinity.policy.senlin_data import NO_DRS_HOST, Placement, Refusal
from senlin_affinity.preflight import candidates
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.scenario.scenario import Scenario

_NOT_BOUND = (
    'the policy is bound to this cluster without a server group: '
    'detach the policy and attach it again'
)
_NOT_OFFERED = 'candidates.not_offered on all other hosts (senlin-affinity plan explains them)'
#: What was fetched of a cloud, or the error that prevented it.
CloudOrError: TypeAlias = Cloud | AffinityError


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


def place_nodes(
    asked: Question, constraints: Sequence[Constraint], fetched: CloudOrError
) -> HookResult:
    """Return the placement of the nodes, or their rejection.

    Raise BindingError for new nodes of a cluster without a binding, and so without a group.

    :param asked: its ``server_group`` is the id of the bound group.
    """
    if asked.count == 0:
        return HookResult(Placement(0, ''))
    if asked.server_group is None:
        raise BindingError(_NOT_BOUND)
    if not senlin_data.is_planned(_policy(asked)):
        return _on_drs_host(asked, _cloud_or_raise(fetched))
    if _is_accepted(fetched):
        cloud = _cloud_or_raise(fetched)
        note = f'fits on {len(cloud.hosts or ())} of the possible hosts'
        request, cloud = resolve_question(asked, cloud)
        declared = capacity.declared(request, cloud, constraints)
        assumed = capacity.find(request, cloud, declared)
        return HookResult(scheduler_chooses(asked), note=note + assuming(assumed))
    freed, why = _without_reservations(asked, fetched)
    if why is not None:
        outcome = place_nodes(freed, constraints, fetched)
        return replace(outcome, warning='; '.join(filter(None, (why, outcome.warning))))
    try:
        cloud = _cloud_or_raise(fetched)
        decision = _plan(asked, cloud, constraints)
    except AffinityError as error:
        return _undecided(asked, error)
    if not asked.is_pinned:
        return _scheduled(asked, constraints, cloud, decision)
    answer = senlin_data.pinned(decision, cloud.unavailable, _group(asked), _policy(asked))
    return _disclosed(asked, constraints, cloud, decision, answer)


def is_cloud_needed(asked: Question) -> bool:
    """Check whether anything of the cloud must be fetched.

    Not without new nodes or a bound group, nor for a policy that neither plans nor finds DRS hosts.
    """
    wanted = _policy(asked)
    is_any = bool(asked.count) and asked.server_group is not None
    return is_any and (senlin_data.is_planned(wanted) or wanted.is_drs_enabled)


def _is_accepted(fetched: CloudOrError) -> bool:
    """Check whether the fetch has shown that all servers fit on the hosts that it read."""
    if not isinstance(fetched, Cloud):
        return False
    return fetched.rest is OtherHosts.UNKNOWN and fetched.hosts is not None


def _policy(asked: Question) -> PolicySpec:
    return cast(PolicySpec, asked.policy)


def _group(asked: Question) -> str:
    """Return the id of the bound group; '' without a binding."""
    return str(asked.server_group or '')


def must_choose(asked: Question) -> bool:
    """Check whether the policy must choose hosts, or zones for a hard spread."""
    return asked.is_pinned or (asked.zone_spread is not None and asked.zone_spread.is_hard)


def _on_drs_host(asked: Question, cloud: Cloud) -> HookResult:
    """Return a placement in the policy's zone, or in ``zone:host`` with the DRS extension.

    Reject without a DRS host; an owner who may not list hosts reads only ``NO_DRS_HOST``.
    """
    pattern = asked.settings.value(PATTERN)
    zone = senlin_data.zone_of_nodes(_policy(asked), cloud.hosts or (), pattern)
    if not isinstance(zone, Refusal):
        return HookResult(Placement(asked.count, _group(asked), zone))
    if not cloud.owner_sees_hosts:
        return HookResult(Refusal(NO_DRS_HOST), refusal=zone.reason)
    return HookResult(zone)


def _undecided(asked: Question, error: AffinityError) -> HookResult:
    """Let nova-scheduler choose the hosts, with a warning, or raise the error (see the module)."""
    may_reject = _policy(asked).preflight == 'enforce'
    if must_choose(asked) or (may_reject and not isinstance(error, CloudError)):
        raise error
    warning = f'could not determine whether {asked.count} node(s) fit: {error}'
    return HookResult(scheduler_chooses(asked), warning)


def _scheduled(
    asked: Question, constraints: Sequence[Constraint], cloud: Cloud, decision: Decision
) -> HookResult:
    """Return the answer for nodes whose hosts nova-scheduler chooses.

    Reject if ``fits`` is False, with ``enforce`` and unless :func:`_is_image_hidden`, and if no
    zone can be assigned. Otherwise, place the nodes, with why they may not fit as a warning.
    """
    mode = _policy(asked).preflight
    disclosed = partial(_disclosed, asked, constraints, cloud, decision)
    rejection = Refusal(senlin_data.words(decision))
    if decision.fits is False and mode == 'enforce' and not _is_image_hidden(asked):
        return disclosed(rejection)
    answer, why = _with_zones(asked, constraints, cloud, decision)
    if isinstance(answer, Refusal) and decision.is_hosts_known:
        return disclosed(answer)
    if mode == 'off' or isinstance(answer, Refusal):
        return HookResult(answer, why)
    if decision.fits is False:
        found = disclosed(rejection)
        words = '; '.join(filter(None, (found.for_operators, why)))
        return HookResult(answer, words, advice=found.for_owner)
    # Without operator credentials, unknown hosts are usual: attach reports it once.
    if decision.fits is None and (decision.is_hosts_known or not cloud.owner_sees_hosts):
        words = senlin_data.words(decision, cloud.unavailable)
        return HookResult(answer, '; '.join(filter(None, (words, why))))
    return HookResult(answer, why, None if decision.certain else decision.line())


def _is_image_hidden(asked: Question) -> bool:
    """Check whether reservations depend on the image, and the profile names none (a volume)."""
    return reads_images(asked.settings) and profile.image(asked.profile or {}) is None


def _disclosed(
    asked: Question,
    constraints: Sequence[Constraint],
    cloud: Cloud,
    decision: Decision,
    answer: Placement | Refusal,
) -> HookResult:
    """Return the answer, with a rejection limited to what the owner may read.

    It stays if the whole cloud was fetched and the owner may list hosts. With fewer hosts, such an
    owner also reads why each candidate is rejected. Others read the tenant's report.
    """
    if not isinstance(answer, Refusal):  # the hosts are chosen
        assumed = assuming(decision.assumptions)
        return HookResult(answer, note=f'fits{assumed}' if assumed else None)
    if cloud.rest is OtherHosts.NONE and cloud.owner_sees_hosts:
        return HookResult(answer)
    others = (
        Remedy(each.code, each.change, decision.wanted, each.size, kind=each.kind)
        for each in cloud.helpful
    )
    more = replace(decision, tried=(*decision.tried, *others))
    request, resolved = resolve_question(asked, cloud)
    restricting = candidates.restricting(request, resolved)
    report = disclosure.refusal(more, request, resolved, constraints, restricting)
    if cloud.rest is OtherHosts.NONE:
        return HookResult(report, refusal=answer.reason)
    known = 'the hosts accept what the quota allows' if decision.capacity else 'no host was read'
    if cloud.rest is OtherHosts.NOT_OFFERED:
        number = len(cloud.hosts or ())
        known = f'of the {number} host(s) that Placement offers: {decision.line()}; {_NOT_OFFERED}'
    full = f'{report.reason}; {known}'
    return HookResult(Refusal(full)) if cloud.owner_sees_hosts else HookResult(report, refusal=full)


def _without_reservations(asked: Question, fetched: CloudOrError) -> tuple[Question, str | None]:
    """Drop reservations if only they pin hosts, and the policy cannot choose hosts; say why.

    It cannot if the hosts are unknown, or without ``owner_sees_hosts``. Nova may then use reserved
    hosts. Otherwise, and for an error, return the question and None.
    """
    is_by_reservations = asked.is_pinned and not asked.chooses_hosts
    hidden = fetched.unavailable.get('hosts') if isinstance(fetched, Cloud) else None
    if hidden is None and isinstance(fetched, Cloud) and not fetched.owner_sees_hosts:
        hidden = 'Nova does not let the owner choose hosts'
    if is_by_reservations and hidden is not None:
        none = {REQUIRED_PREFIX.key: None, FORBIDDEN_PREFIXES.key: ()}
        freed = replace(asked, options={**asked.options, **none})
        return (
            freed,
            f'neither the preflight nor Nova keeps these nodes off reserved hosts: {hidden}',
        )
    return asked, None


def scheduler_chooses(asked: Question) -> Placement:
    """Return a placement with the policy's zone and the bound group."""
    return Placement(asked.count, _group(asked), _policy(asked).availability_zone)


def max_size_shortfall(
    asked: Question, constraints: Sequence[Constraint], fetched: CloudOrError
) -> str | None:
    """Return why the cluster could not reach this size on empty hosts; None if it may.

    None also if that is unknown.
    """
    if _is_accepted(fetched):
        return None
    lasting = [item for item in constraints if item.is_unresolvable]
    freed, _why = _without_reservations(asked, fetched)
    # Without the scheduler filters that only other constraints model.
    given = freed.enabled_filters
    filters = DEFAULT_FILTERS if given is None else given
    modelled = {name for item in constraints for name in item.filters}
    modelled -= {name for item in lasting for name in item.filters}
    left = tuple(name for name in filters if name not in modelled)
    asked = replace(freed, enabled_filters=left)
    decision = _plan(asked, _cloud_or_raise(fetched), lasting)
    return senlin_data.words(decision) if decision.fits is False else None


def unenforced(asked: Question, policy: str | None) -> str | None:
    """Return why nothing enforces the policy of the bound group; None if something does.

    None also without a policy.
    """
    if policy is None or is_enforced(policy, asked.settings, is_pinned=asked.is_pinned):
        return None
    return why_not_enforced(policy)


def default_zone(asked: Question, fetched: CloudOrError) -> str | None:
    """Return the default zone, which a hard spread over zones ignores; None without such a spread.

    Raise an error in ``fetched`` in the former case.
    """
    if asked.zone_spread is None or not asked.zone_spread.is_hard:
        return None
    return effective_zone.default_zone(*resolve_question(asked, _cloud_or_raise(fetched)))


def _cloud_or_raise(fetched: CloudOrError) -> Cloud:
    if isinstance(fetched, AffinityError):
        raise fetched
    return fetched


def _plan(asked: Question, cloud: Cloud, constraints: Sequence[Constraint]) -> Decision:
    """Plan the request.

    Raise CloudError if a needed image, or any host to choose from, is unknown.
    """
    if IMAGE in cloud.unavailable and asked.is_image_needed:
        raise CloudError(cloud.unavailable[IMAGE])
    if asked.is_pinned and cloud.hosts is None:
        why = cloud.unavailable.get('hosts', 'the hosts are not known')
        raise CloudError(f'the policy has to choose the host of every node: {why}')
    request, cloud = resolve_question(asked, cloud)
    return engine.plan(request, Scenario.of(cloud), constraints)


def _with_zones(
    asked: Question, constraints: Sequence[Constraint], cloud: Cloud, decision: Decision
) -> tuple[Placement | Refusal, str | None]:
    """Return the placement, with a zone for each node in a spread over zones, and None.

    A soft spread may have no zones, with ``NOT_SPREAD`` as warning; a hard one is then a Refusal.
    """
    answer = scheduler_chooses(asked)
    if asked.zone_spread is None:
        return answer, None
    zoning = ZoneAssignment(asked.zone_spread, decision, *resolve_question(asked, cloud))
    if not asked.zone_spread.is_hard:
        names = zoning.soft()
        return replace(answer, hosts=names), None if names else zone_assignment.NOT_SPREAD
    doubted = {ReservationsConstraint.name} if _is_image_hidden(asked) else set()
    zones = zoning.hard([each for each in constraints if each.name not in doubted])
    if isinstance(zones, Refusal):
        return zones, None
    return (replace(answer, hosts=zones) if zones else Refusal(senlin_data.words(decision))), None
