"""What the owner of a cluster reads who may not list the hosts: what a trial would show, no more.

A trial is to create the servers, within the quotas, and to look how many of them come up; and to do
the same with something of one's own changed: the server group, the zone, the flavor, the spread.
Whoever may not list the hosts can do so at any time, and reads no more than that.

Data flow: what was decided by all that the cloud's eyes saw becomes a :class:`Trial`, and nothing
else is put into words. A rule is a reason where more servers fit without it, by the number that the
owner reads, unless a quota is what ends the trial; its sentence (``Reason.for_owner``) is made of
what the owner asked for, never of a host's facts. A rule about the request as a whole says its own
facts, such as those of a quota. A change is named if it is ``Remedy.is_owners``. All else is "no
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

from senlin_affinity.core.constraint import Constraint, is_of_hosts
from senlin_affinity.core.errors import AffinityError, BindingError, CloudError, InvalidSpec
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.actions import carry_out
from senlin_affinity.core.planning.decision import Decision, Kind
from senlin_affinity.core.planning.evaluation import evaluate
from senlin_affinity.core.reasons import is_for_owner, sentence
from senlin_affinity.core.spread import ZONE
from senlin_affinity.policy.placement import NO_DRS_HOST, Refusal

NOBODY = 'no host takes more of them, and operators can see why'
NOT_KNOWN = 'whether the servers fit could not be found out, and operators can see why'
_MOST_CHANGES = 3
#: Where in a question its owner wrote what an error quotes, and nothing else is quoted.
_OWN_PATHS = ('count', 'flavor', 'policy', 'profile', 'properties', 'server_group', 'spread')


@dataclass(frozen=True)
class Trial:
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
) -> Trial:
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
    return Trial(wanted, number, (*reasons, *rules), _changes(decision, number))


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
    without = getattr(rule, 'without', None)
    data = {'given_up': [rule.name]} if without is None else without(resolved)
    return min(evaluate(carry_out(data, resolved), constraints).capacity or 0, wanted)


def _own(resolved: ResolvedRequest) -> Mapping[str, Any]:
    """What the owner asked for: all that a sentence about hosts may name."""
    request, group, flavor = resolved.request, resolved.server_group, resolved.flavor
    own = {
        'availability_zone': request.availability_zone,
        'count': request.count,
        'flavor': None if flavor is None else flavor.name,
        'group': None if group is None else group.name,
        'max_server_per_host': None if group is None else group.max_server_per_host,
        'member_of': ', '.join(request.member_of) or None,
        'spread': ', '.join(spread.by for spread in request.spread) or None,
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
