"""The hook: from what a cluster asks for to where its nodes go, or why nowhere.

Data flow: a :class:`Growth` says what has to be looked at (:func:`needs`); what was seen goes with
it into :func:`decide`, and comes out as an :class:`Outcome`. Nothing here asks anybody.

Modes: ``enforce`` refuses what does not fit, and a spec that this cloud can not answer; ``warn``
says so and goes on. What could not be found out is a warning in either. Where a host must be
chosen (``pin_hosts``, ``member_of``, the DRS extension, reservations), or a zone (a hard spread), a
node without one is a refusal in every mode, for there is nothing to send it to.

Shapes: a pinned node's entry is ``{'zone': 'az-1:cmp-3', 'servergroup': '...'}``, that of a node
which is spread over the zones ``{'zone': 'az-1', 'servergroup': '...'}``.

Errors: InvalidSpec for a spec that this cloud can not answer; BindingError without a binding;
CloudError only where a host or a zone must be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.drs import PATTERN
from senlin_affinity.constraints.reservations import (
    FORBIDDEN_PREFIXES,
    REQUIRED_PREFIX,
    ReservationsConstraint,
    reads_images,
)
from senlin_affinity.core import planner
from senlin_affinity.core.assumptions import assuming
from senlin_affinity.core.errors import AffinityError, BindingError, CloudError
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.planning import assumptions
from senlin_affinity.core.planning.decision import FEWER, Decision
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy import placement, profile, question, trial, zoned
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.placement import DEFAULT_DRS_ZONE, NO_DRS_HOST, Placement, Refusal
from senlin_affinity.policy.properties import Properties
from senlin_affinity.policy.question import IMAGE, Look, Narrow, Needs, Question
from senlin_affinity.policy.zoned import Zoning

#: What was seen of the cloud, or why nothing was.
Seen: TypeAlias = Look | AffinityError

_MOST_REMEDIES = 3


@dataclass(frozen=True)
class Growth:
    """What a cluster or a node asks for: so many nodes more of its profile, as its policy says.

    ``constraints`` are the rules that are asked, ``error`` is why there are none.
    """

    question: Question
    binding: Binding | None
    constraints: Sequence[Constraint] = ()
    error: AffinityError | None = None

    @property
    def properties(self) -> Properties:
        """What the policy says."""
        return cast(Properties, self.question.properties)

    @property
    def zones(self) -> Spread | None:
        """The spread over zones, if there is one."""
        return next((item for item in self.properties.spread if item.by == ZONE), None)


@dataclass(frozen=True)
class Outcome:
    """Where the nodes go, or why nowhere, for the owner; the rest is for operators.

    ``refusal`` is the whole of one of which the owner may not read all.
    """

    answer: Placement | Refusal
    warning: str | None = None
    note: str | None = None
    refusal: str | None = None


def needs(growth: Growth) -> Needs | None:
    """What must be seen; None for a growth that asks nobody."""
    asked, properties = growth.question, growth.properties
    if asked.count == 0:
        return None
    if growth.binding is None:
        raise BindingError(
            'the policy is bound to this cluster without a server group: '
            'detach the policy and attach it again'
        )
    if placement.is_planned(properties):
        return replace(question.needs(asked), narrow=_narrow(growth, growth.binding))
    if properties.is_drs_enabled:
        return Needs(drs_pattern=asked.rules.value(PATTERN))
    return None


def _narrow(growth: Growth, binding: Binding) -> Narrow | None:
    """What a few hosts can answer; None where a host or a zone is chosen, or no rule is asked."""
    asked = growth.question
    if asked.is_pinned or asked.spreads or not growth.constraints:
        return None
    return Narrow(asked, growth.constraints, binding.rules)


def decide(growth: Growth, seen: Seen) -> Outcome:
    """Where the nodes of a cluster with such a policy go, or why nowhere. It asks nobody."""
    asked, properties, binding = growth.question, growth.properties, growth.binding
    if asked.count == 0 or binding is None:
        return Outcome(Placement(0, ''))  # a growth by none is never refused
    if not placement.is_planned(properties):
        look = _look(seen)
        answer = placement.unplanned(asked, properties, binding, look.snapshot.hosts or ())
        if isinstance(answer, Refusal) and not look.is_owners:
            return Outcome(Refusal(NO_DRS_HOST), refusal=answer.reason)
        return Outcome(answer)
    if isinstance(seen, Look) and seen.is_yes:
        note = _fits(len(seen.snapshot.hosts or ()))
        assumed = assumptions.find(_ask(growth, seen), growth.constraints)
        return Outcome(unpinned(growth), note=note + assuming(assumed))
    is_enforced = properties.preflight == 'enforce'
    freed, why = _freed(growth, seen)
    if why is not None:
        outcome = decide(freed, seen)
        return replace(outcome, warning='; '.join(filter(None, (why, outcome.warning))))
    try:
        look = _look(seen)
        decision = _decide(growth, look, growth.constraints)
    except AffinityError as error:
        is_chosen = asked.is_pinned or (growth.zones is not None and growth.zones.is_hard)
        if is_chosen or (is_enforced and not isinstance(error, CloudError)):
            raise
        warning = f'could not find out whether {asked.count} node(s) fit: {error}'
        return Outcome(unpinned(growth), warning)
    if asked.is_pinned:
        answer = _pinned(decision, look.unknown, binding.servergroup_id, properties)
        return _said(growth, look, decision, answer)
    if decision.fits is False and is_enforced and not _is_image_hidden(asked):
        return _said(growth, look, decision, Refusal(_words(decision)))
    answer, why = _zoned(growth, look, decision)
    if isinstance(answer, Refusal) and decision.is_hosts_known:
        return _said(growth, look, decision, answer)
    if properties.preflight == 'off' or isinstance(answer, Refusal):
        return Outcome(answer, why)
    if decision.fits is False or (decision.fits is None and decision.is_hosts_known):
        words = _words(decision, look.unknown)
        return Outcome(answer, '; '.join(filter(None, (words, why))))
    return Outcome(answer, why, None if decision.certain else decision.line())


def _is_image_hidden(asked: Question) -> bool:
    """Do the properties of an image count for reservations, and nobody sees it, as in a volume?"""
    return reads_images(asked.rules) and profile.image(asked.profile or {}) is None


def _said(growth: Growth, look: Look, decision: Decision, answer: Placement | Refusal) -> Outcome:
    """A refusal as the owner may read it."""
    if not isinstance(answer, Refusal):  # the hosts are chosen
        assumed = assuming(decision.assumptions)
        return Outcome(answer, note=f'fits{assumed}' if assumed else None)
    if look.is_owners:
        return Outcome(answer)
    said = trial.refusal(decision, _ask(growth, look), growth.constraints)
    if not look.is_part:
        return Outcome(said, refusal=answer.reason)
    hosts = look.snapshot.hosts
    seen = 'the hosts were not looked at'
    if look.enough:
        seen = f'what the quota leaves {_fits(look.enough)}'
    if hosts is not None:  # of which others' remedies would have to know
        line = replace(decision, remedies=()).line()
        seen = f'of the {len(hosts)} host(s) that Placement has for it: {line}'
    return Outcome(said, refusal=f'{said.reason}; {seen}')


def _fits(number: int) -> str:
    return f'fits, on {number} of the hosts that would do'


def _freed(growth: Growth, seen: Seen) -> tuple[Growth, str | None]:
    """Without reservations, if their owner cannot be held to them; the words of a warning.

    Nova, which does not know of them, may take a reserved host for these nodes: it counts as room.
    """
    asked = growth.question
    is_for_these = asked.is_pinned and not asked.chooses_hosts
    hidden = seen.unknown.get('hosts') if isinstance(seen, Look) else None
    if hidden is None and isinstance(seen, Look) and not seen.is_owners:
        hidden = 'Nova does not let the owner choose hosts'
    if is_for_these and hidden is not None:
        none = {REQUIRED_PREFIX.key: None, FORBIDDEN_PREFIXES.key: ()}
        freed = replace(asked, options={**asked.options, **none})
        why = 'reserved hosts are not kept free of these nodes, as Nova does not do so'
        return replace(growth, question=freed), f'{why}: {hidden}'
    return growth, None


def unpinned(growth: Growth) -> Placement:
    """The nodes in their group and zone; Nova's scheduler chooses the hosts."""
    group = '' if growth.binding is None else growth.binding.servergroup_id
    return Placement(growth.question.count, group, growth.properties.availability_zone)


def ceiling(growth: Growth, seen: Seen) -> str | None:
    """Why the cluster can never have so many nodes, whatever hosts are freed; None where it can."""
    if isinstance(seen, Look) and seen.is_yes:
        return None
    lasting = [item for item in growth.constraints if getattr(item, 'is_lasting', False)]
    decision = _decide(_freed(growth, seen)[0], _look(seen), lasting)
    return _words(decision) if decision.fits is False else None


def _look(seen: Seen) -> Look:
    if isinstance(seen, AffinityError):
        raise seen
    return seen


def _decide(growth: Growth, look: Look, constraints: Sequence[Constraint]) -> Decision:
    asked = growth.question
    if growth.error is not None:
        raise growth.error
    if IMAGE in look.unknown and question.needs(asked).is_image_needed:
        raise CloudError(look.unknown[IMAGE])
    if asked.is_pinned and look.snapshot.hosts is None:
        why = look.unknown.get('hosts', 'the hosts are not known')
        raise CloudError(f'the policy has to choose the host of every node: {why}')
    return planner.decide(_ask(growth, look), constraints)


def _ask(growth: Growth, look: Look) -> ResolvedRequest:
    """The question, with what the binding remembers."""
    look = replace(look, snapshot=_remembered(look.snapshot, growth.binding))
    return question.ask(growth.question, look)


def _zoned(
    growth: Growth, look: Look, decision: Decision
) -> tuple[Placement | Refusal, str | None]:
    """The nodes in their zones, where they are spread over these; the words of a warning."""
    answer = unpinned(growth)
    if growth.zones is None:
        return answer, None
    zoning = Zoning(growth.zones, decision, look.snapshot, answer.servergroup)
    if not growth.zones.is_hard:
        names = zoning.softly()
        return replace(answer, hosts=names), None if names else zoned.NOT_SPREAD
    doubted = {ReservationsConstraint.name} if _is_image_hidden(growth.question) else set()
    zones = zoning.firmly([each for each in growth.constraints if each.name not in doubted])
    if isinstance(zones, Refusal):
        return zones, None
    return (replace(answer, hosts=zones) if zones else Refusal(_words(decision))), None


def _remembered(snapshot: CloudSnapshot, binding: Binding | None) -> CloudSnapshot:
    """The rules that the binding remembers, where an old cloud does not show those of a group."""
    groups = snapshot.server_groups
    if groups is None or binding is None or not binding.rules:
        return snapshot
    return replace(
        snapshot,
        server_groups=tuple(
            replace(group, rules=binding.rules) if group.id == binding.servergroup_id else group
            for group in groups
        ),
    )


def _pinned(
    decision: Decision, unknown: Mapping[str, str], group_id: str, properties: Properties
) -> Placement | Refusal:
    if len(decision.placements) == decision.wanted:
        zone = properties.availability_zone or DEFAULT_DRS_ZONE
        hosts = tuple(f'{placed.zone or zone}:{placed.host}' for placed in decision.placements)
        return Placement(decision.wanted, group_id, hosts=hosts)
    words = _words(decision, unknown)
    is_no_host_left = all(row.code is not None for row, _number in decision.tally)
    if properties.is_drs_enabled and not decision.placements and is_no_host_left:
        return Refusal(NO_DRS_HOST, words)
    return Refusal(words)


def _words(decision: Decision, unknown: Mapping[str, str] | None = None) -> str:
    """The line, with what would help, or with why it is not known."""
    words = decision.line()
    if decision.fits is None and unknown:
        return f'{words}; {"; ".join(unknown.values())}'
    helping = [remedy for remedy in decision.remedies if remedy.code != FEWER]
    if helping:
        helps = ', '.join(map(str, helping[:_MOST_REMEDIES]))
        return f'{words}; would help: {helps}'
    return words
