"""Limit what a tenant learns to what creating the servers would reveal anyway.

A tenant is a cluster owner who may not list hosts. Tenants can create servers within their quotas,
count how many become active, and repeat that with another server group, zone, flavor or spread. The
report contains the results of such trials and nothing else:

* the number of servers that fit, capped by the requested number and the quotas; no number if one of
  these quotas is not known, because it could exceed what a trial shows;
* the facts of a constraint on the request as a whole, such as a quota;
* each constraint on hosts without which more servers fit, unless a quota already stops the trial.
  Its sentence (``Reason.for_owner``) contains the owner's own input, never a fact about a host;
* the changes in ``Decision.tried`` with which all servers surely fit. They include no larger quota,
  because a trial does not show how many servers fit beyond a quota.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity.constraints.quota import are_quotas_known
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import AffinityError, BindingError, CloudError, InvalidSpec
from senlin_affinity.model.numbers import at_most
from senlin_affinity.model.proposal import Kind
from senlin_affinity.model.request import Request
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.model.spread import ZONE
from senlin_affinity.model.verdict import Reason, sentence
from senlin_affinity.nova.quotas import exceeded
from senlin_affinity.policy.senlin_data import NO_DRS_HOST, Refusal
from senlin_affinity.scenario.constraint import Constraint, is_of_hosts
from senlin_affinity.scenario.scenario import Scenario

NO_ROOM = 'no host accepts more of these servers (operators can find out why)'
NOT_KNOWN = 'it could not be determined whether the servers fit (operators can find out why)'
_MOST_CHANGES = 3
_NO_NUMBER = 'the number that fits is not shown, because not all quotas are known'
#: The parts of a question whose errors quote only the owner's input.
_OWN_PATHS = (
    *('count', 'flavor', 'policy', 'profile', 'properties', 'scheduler_hints', 'server_group'),
    'spread',
)


@dataclass(frozen=True)
class TenantReport:
    """The number of servers that would start, why not more, and the changes that are enough.

    The number is None if it must not be shown.
    """

    wanted: int
    number: int | None
    reasons: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the report in one line.

        Example::

            does not fit: at most 2 of 6; a host may hold 1 of server group web; would help:
            max_server_per_host: 3 (6 of 6), policies: soft-anti-affinity (6 of 6)
        """
        number = _NO_NUMBER if self.number is None else at_most(self.number, self.wanted)
        parts = [f'does not fit: {number}', *self.reasons]
        if self.changes:
            helps = (f'{change} ({self.wanted} of {self.wanted})' for change in self.changes)
            parts.append(f'would help: {", ".join(helps)}')
        return '; '.join(parts)


def tenant_report(
    decision: Decision,
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    restricting: Collection[str] = (),
) -> TenantReport:
    """Return the tenant's report of a request that does not fit; an unknown number counts as 0.

    Without all quotas that apply, the report has neither a number nor changes.

    ``reasons`` are the sentences for rejections of the request (quotas), then for the constraints
    on hosts that limit the number (``NO_ROOM`` without any), unless the former alone explain it.

    :param restricting: the names of constraints that limit the hosts of the decision.
    """
    wanted = decision.wanted
    number = min(decision.capacity or 0, wanted)
    bounds = [wanted]
    reasons = []
    for verdict in decision.request.values():
        if verdict or decision.reasons[verdict.code].for_owner is None:
            continue
        bounds.append(verdict.room or 0)
        for each in exceeded(verdict):
            words = decision.reasons[each.code].for_owner or ''
            reasons.append(sentence(each, {each.code: Reason(words)}))
    causes = []
    if number < min(bounds):  # otherwise, a quota ends the trial
        found = _limiting(decision, request, cloud, constraints, number, restricting)
        causes = [*dict.fromkeys(found)] or [NO_ROOM]
    if not are_quotas_known(request, cloud):
        return TenantReport(wanted, None, (*reasons, *causes))
    return TenantReport(wanted, number, (*reasons, *causes), _changes(decision))


def refusal(
    decision: Decision,
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    restricting: Collection[str] = (),
) -> Refusal:
    """Return a tenant's rejection, with the line of its report as reason.

    ``NOT_KNOWN`` if ``fits`` is None. ``NO_DRS_HOST``, with the line as detail, if a DRS host is
    required and no server fits.
    """
    if decision.fits is None:
        return Refusal(NOT_KNOWN)
    report = tenant_report(decision, request, cloud, constraints, restricting)
    is_drs = request.is_drs_required and not decision.capacity
    return Refusal(NO_DRS_HOST, report.line()) if is_drs else Refusal(report.line())


def redacted(error: Exception) -> AffinityError:
    """Return the error that a tenant may read.

    A BindingError, and an InvalidSpec about the owner's own input, stay. Of one about zones, the
    message is cut at the first colon or semicolon, which precede names. Any other error becomes
    ``CloudError(NOT_KNOWN)``.
    """
    if isinstance(error, BindingError):
        return error
    path = error.path.partition('.')[0] if isinstance(error, InvalidSpec) else ''
    if isinstance(error, InvalidSpec) and path in _OWN_PATHS:
        return error
    if isinstance(error, InvalidSpec) and path == ZONE:  # without the names of zones
        return InvalidSpec(re.split('[:;]', error.message)[0], error.path)
    return CloudError(NOT_KNOWN)


def _limiting(
    decision: Decision,
    request: Request,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    number: int,
    restricting: Collection[str],
) -> Iterator[str]:
    """Yield the owner's sentence for each constraint without which more than ``number`` fit.

    Also for each in ``restricting``, because more servers may fit on unknown hosts, and if the plan
    tried a smaller change of the same properties as ``Constraint.without``, with which more fit.
    """
    tried = (each for each in decision.tried if not each.capacity_is_upper_bound)
    helpful = [each.data for each in tried if each.capacity > number]
    own = _owner_requirements(request)
    for item in constraints:
        requirement = _requirement(item, own) if is_of_hosts(item) else None
        if requirement is None:
            continue
        without = item.without(request)
        parts = without.keys() - {'given_up'}
        is_limiting = item.name in restricting or any(parts & data.keys() for data in helpful)
        if not is_limiting:
            then = evaluate(*carry_out(without, request, Scenario.of(cloud)), constraints)
            is_limiting = (then.capacity or 0) > number
        if is_limiting:
            yield requirement


def requirements(request: Request, constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield the owner's sentence for each constraint on hosts that the request sets."""
    own = _owner_requirements(request)
    found = (_requirement(item, own) for item in constraints if is_of_hosts(item))
    yield from (words for words in found if words is not None)


def _requirement(item: Constraint, own: Mapping[str, Any]) -> str | None:
    """Return the constraint's first sentence for owners that ``own`` fills; None without one."""
    for reason in item.reasons.values():
        if reason.for_owner is not None:
            with contextlib.suppress(KeyError, ValueError, IndexError, AttributeError):
                return reason.for_owner.format_map(own)
    return None


def _owner_requirements(request: Request) -> Mapping[str, Any]:
    """Return the owner's requirements, the only names that a sentence about hosts may contain.

    ``{'count': 2, 'flavor': 'small', 'group': 'web', 'max_server_per_host': 1}``, without those
    that the request does not set, soft spreads, and ``affinity_group`` for another policy.
    """
    group, flavor = request.server_group, request.flavor
    affinity = group if group is not None and group.policy == AFFINITY else None
    own = {
        'affinity_group': None if affinity is None else affinity.name,
        'availability_zone': request.availability_zone,
        'count': request.count,
        'flavor': None if flavor is None else flavor.name,
        'group': None if group is None else group.name,
        'max_server_per_host': None if group is None else group.max_server_per_host,
        'member_of': ', '.join(request.member_of_text) or None,
        'scheduler_hints': ', '.join(enforced(request)) or None,
        'spread': ', '.join(item.by for item in request.spread if item.is_hard) or None,
    }
    return {name: value for name, value in own.items() if value is not None}


def _changes(decision: Decision) -> tuple[str, ...]:
    """Return up to three distinct changes with which all servers surely fit, the smallest first.

    Changes of equal size are sorted by kind, then by text.
    """
    enough = sorted(
        (each.size, [*Kind].index(each.kind), each.change)
        for each in decision.tried
        if each.capacity >= decision.wanted and not each.capacity_is_upper_bound
    )
    return (*dict.fromkeys(change for *_order, change in enough),)[:_MOST_CHANGES]
