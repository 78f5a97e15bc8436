"""What the owner of a cluster reads who may not list the hosts: what a trial would show, no more.

A trial is to create the servers, within the quotas, and to look how many of them come up; and to do
the same with something of one's own changed: the server group, the zone, the flavor, the spread.
Whoever may not list the hosts can do so at any time, and reads no more than that.

Data flow: a decision made with the operator's client becomes a :class:`TenantReport`, and nothing
else is put into words. A rule is a reason where more servers fit without it, by the number that the
owner reads, unless a quota is what ends the trial; its sentence (``Reason.for_owner``) is made of
what the owner asked for, never of a host's facts. A rule about the request as a whole says its own
facts, such as those of a quota. A change is named if it is ``Remedy.for_tenant``. All else is "no
host takes more".

Shapes::

    does not fit: at most 2 of 6; a host may hold 1 of server group web; would help:
    max_server_per_host: 2 (4 of 6), policies: soft-anti-affinity (4 of 6)

Units: numbers of servers, none above what is asked for, and none above what the quotas leave. That
a greater quota would help is not said: no trial shows what hosts take beyond it.

Errors: none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from senlin_affinity.model.constraint import Constraint, is_of_hosts
from senlin_affinity.model.errors import AffinityError, BindingError, CloudError, InvalidSpec
from senlin_affinity.model.proposal import Kind
from senlin_affinity.model.reason import is_for_owner, sentence
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.scheduler_hints import enforced
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.model.spread import ZONE
from senlin_affinity.planner.changes import carry_out
from senlin_affinity.planner.decision import Decision
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.policy.placement import NO_DRS_HOST, Refusal

NOBODY = 'no host takes more of them, and operators can see why'
NOT_KNOWN = 'whether the servers fit could not be found out, and operators can see why'
_MOST_CHANGES = 3
#: Where in a question its owner wrote what an error quotes, and nothing else is quoted.
_OWN_PATHS = (
    *('count', 'flavor', 'policy', 'profile', 'properties', 'scheduler_hints', 'server_group'),
    'spread',
)


@dataclass(frozen=True)
class TenantReport:
    """How many of the servers would come up, why no more, and how many with a change."""

    wanted: int
    number: int
    reasons: tuple[str, ...] = ()
    changes: tuple[tuple[str, int], ...] = ()

    def line(self) -> str:
        """All of it in one line."""
        parts = [f'does not fit: at most {self.number} of {self.wanted}', *self.reasons]
        if self.changes:
            helps = (f'{change} ({number} of {self.wanted})' for change, number in self.changes)
            parts.append(f'would help: {", ".join(helps)}')
        return '; '.join(parts)


def shown(
    decision: Decision, resolved: ResolvedRequest, constraints: Sequence[Constraint]
) -> TenantReport:
    """What a trial would show of a request that does not fit."""
    wanted = decision.wanted
    number = min(decision.capacity or 0, wanted)
    bounds = [wanted]
    reasons = []
    for verdict in decision.request.values():
        if not verdict and decision.reasons[verdict.code].for_owner is not None:
            bounds.append(verdict.room or 0)
            reasons.append(sentence(verdict, decision.reasons))
    rules = []
    if number < min(bounds):  # else no trial fills the hosts: it does not show what is in the way
        rules = [*dict.fromkeys(_rules(resolved, constraints, number, wanted))] or [NOBODY]
    return TenantReport(wanted, number, (*reasons, *rules), _changes(decision, number))


def refusal(
    decision: Decision, resolved: ResolvedRequest, constraints: Sequence[Constraint]
) -> Refusal:
    """The refusal of what does not fit, or of what is not known and needs to be."""
    if decision.fits is None:
        return Refusal(NOT_KNOWN)
    trial = shown(decision, resolved, constraints)
    is_drs = resolved.rules.is_drs_required and not trial.number
    return Refusal(NO_DRS_HOST, trial.line()) if is_drs else Refusal(trial.line())


def hidden(error: Exception) -> AffinityError:
    """An error as the owner may read it: about what the owner wrote, or only that there is one."""
    if isinstance(error, BindingError):
        return error
    path = error.path.partition('.')[0] if isinstance(error, InvalidSpec) else ''
    if isinstance(error, InvalidSpec) and path in _OWN_PATHS:
        return error
    if isinstance(error, InvalidSpec) and path == ZONE:  # without the names of others
        return InvalidSpec(re.split('[:;]', error.message)[0], error.path)
    return CloudError(NOT_KNOWN)


def _rules(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], number: int, wanted: int
) -> Iterator[str]:
    """The sentences of the rules without which more would fit."""
    own = _own(resolved)
    for rule in constraints:
        if not (is_of_hosts(rule) and is_for_owner(rule.reasons)):
            continue
        said = [
            reason.for_owner.format_map(own)
            for reason in rule.reasons.values()
            if reason.for_owner is not None and _is_own(reason.for_owner, own)
        ]
        if said and _without(rule, resolved, constraints, wanted) > number:
            yield said[0]


def _without(
    rule: Constraint, resolved: ResolvedRequest, constraints: Sequence[Constraint], wanted: int
) -> int:
    """How many of the servers fit without a rule."""
    then = evaluate(carry_out(rule.without(resolved), resolved), constraints)
    return min(then.capacity or 0, wanted)


def _own(resolved: ResolvedRequest) -> Mapping[str, Any]:
    """Return the owner's requirements, the only names that a sentence about hosts may contain.

    A requirement that the request does not have is None, which excludes each sentence that needs
    it: the servers of a soft group need not share a host, and a soft spread rejects nothing.
    """
    request, group, flavor = resolved.request, resolved.server_group, resolved.flavor
    affinity = group if group is not None and group.policy == AFFINITY else None
    own = {
        'affinity_group': None if affinity is None else affinity.name,
        'availability_zone': request.availability_zone,
        'count': request.count,
        'flavor': None if flavor is None else flavor.name,
        'group': None if group is None else group.name,
        'max_server_per_host': None if group is None else group.max_server_per_host,
        'member_of': ', '.join(request.member_of) or None,
        'scheduler_hints': ', '.join(enforced(resolved)) or None,
        'spread': ', '.join(item.by for item in request.spread if item.is_hard) or None,
    }
    return {name: value for name, value in own.items() if value is not None}


def _is_own(words: str, own: Mapping[str, Any]) -> bool:
    """Does a sentence name nothing else?"""
    try:
        words.format_map(own)
    except (KeyError, ValueError, IndexError, AttributeError):
        return False
    return True


def _changes(decision: Decision, number: int) -> tuple[tuple[str, int], ...]:
    """What would help: if it is enough, the smallest first, or else what helps most."""
    ranked = sorted(
        (-min(each.capacity, decision.wanted), each.size, [*Kind].index(each.kind), each.change)
        for each in decision.tried
        if min(each.capacity, decision.wanted) > number
    )
    best = [(change, -most) for most, _size, _kind, change in ranked]
    enough = [each for each in best if each[1] == decision.wanted]
    return tuple((enough or best)[:_MOST_CHANGES])
