"""Search for the smallest changes that make a request fit.

The request is evaluated again with each change that a constraint proposes; a number is bisected.

Units: ``size`` is the number of things that change (steps of ``max_server_per_host``, hosts, one
zone); for a soft policy, a flavor and a waived constraint, the number of requested servers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, compress, count
from operator import attrgetter
from typing import Any

from senlin_affinity.engine import moved_server, new_hosts
from senlin_affinity.engine.changes import carry_out, needs_hardware
from senlin_affinity.engine.decision import TWO, Remedy
from senlin_affinity.engine.evaluation import Evaluation
from senlin_affinity.engine.host_reports import HostsAfter
from senlin_affinity.engine.scheduler_filters import properties_read
from senlin_affinity.engine.what_if import PlannedRemedy, WhatIf, WhatIfResult
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import (
    Change,
    ChangedHosts,
    Data,
    Kind,
    MovedServer,
    NewHosts,
    OneOf,
    Path,
    RaisedNumber,
)
from senlin_affinity.model.request import QUOTA
from senlin_affinity.model.verdict import Verdict, is_for_owner
from senlin_affinity.nova import alternatives
from senlin_affinity.nova.alternatives import (
    with_existing_flavor,
    without_properties,
    without_specs,
)
from senlin_affinity.nova.instance_extra_specs import is_compared
from senlin_affinity.scenario.constraint import Constraint, attributing

_MOST_NOTES, _MOST_NAMES = 3, 3
ANY_HOST = Change(
    'any_host', 'without the requested host', {'requested_host': None}, 0, Kind.REQUESTER
)
#: The number of image properties that are left out one at a time.
_MOST_PROPERTIES = 8
#: The code of a change that gives up a constraint.
_WAIVER = 'rule_given_up'
_NAMES = attrgetter('host', 'hypervisor_hostname')
#: The greatest length of a range.
_MOST_STEPS = 2**31 - 1


def try_changes(what_if: WhatIf, hosts_after: HostsAfter | None) -> tuple[PlannedRemedy, ...]:
    """Evaluate each proposal, then each waiver (code ``rule_given_up``), helpful or not.

    Waivers are of the waivable constraints that are the first to reject a host in ``hosts_after``:
    also one that rejects only hosts with a new server, such as a limit per host.
    For a request that names its host, the same request without it (``any_host``) is the first.
    """
    now = what_if.before
    changes = [_fixed(what_if, ANY_HOST)] if now.request.elsewhere is not None else []
    changes += _proposed(what_if, now.constraints)
    against = set() if hosts_after is None else {row.rejected_by for row in hosts_after.rows}
    for constraint in now.constraints:
        if constraint.name in against and constraint.is_waivable:
            with attributing(constraint, 'without'):
                waiver = Change(
                    _WAIVER,
                    f'without {constraint.name}',
                    constraint.without(what_if.request),
                    what_if.wanted,
                    Kind.GIVEN_UP,
                    is_for_owner(constraint.reasons),
                )
                changes.append(_fixed(what_if, waiver))
    return tuple(each for each in changes if what_if.allows(each.remedy.data))


def rank_changes(what_if: WhatIf, changes: Sequence[PlannedRemedy]) -> tuple[Remedy, ...]:
    """Return the sufficient changes, by :func:`_stage`, and of one stage the smallest first.

    If no change alone is sufficient, evaluate and return the sufficient pairs of a quota and
    another change (one of those with equal data), then the changes that raise the capacity, the
    most helpful first. A flavor or an image that requires less, such as no GPU, is beside them, if
    it is sufficient.
    """
    now, changes = what_if.before, [*_without_tiny_flavors(changes)]
    enough = [change.remedy for change in changes if change.after.fits]
    less = [*_less_demanding(what_if, changes)]
    effort = partial(_effort, now)
    if enough:
        return (*sorted([*enough, *less], key=effort),)
    some = [change for change in changes if change.remedy.capacity > (now.capacity or 0)]
    some.sort(
        key=lambda each: (
            each.remedy.has_operator_note,
            -each.remedy.capacity,
            *effort(each.remedy),
        )
    )
    distinct: list[Remedy] = []
    for pair in sorted(_pairs(what_if, changes), key=effort):
        if all(pair.data != each.data for each in distinct):
            distinct.append(pair)
    return (*distinct, *(change.remedy for change in some), *less)


def _without_tiny_flavors(changes: Sequence[PlannedRemedy]) -> Iterator[PlannedRemedy]:
    """Yield the changes, but no flavor of less than half the size if a larger one suffices.

    If the hosts are not known, it suffices unless the request is still rejected.
    """
    flavors = [each for each in changes if each.remedy.code == 'flavor']
    is_enough = any(
        not _is_tiny(remedy)
        and (after.fits or (after.scenario.cloud.hosts is None and after.fits is None))
        for remedy, after in flavors
    )
    yield from (each for each in changes if not (is_enough and _is_tiny(each.remedy)))


def _is_tiny(remedy: Remedy) -> bool:
    return remedy.code == 'flavor' and remedy.kind is Kind.GIVEN_UP


def _less_demanding(what_if: WhatIf, changes: Sequence[PlannedRemedy]) -> Iterator[Remedy]:
    """Yield the first sufficient flavor or image that requires less, unless a waiver suffices."""
    enough = [each.remedy for each in changes if each.after.fits]
    request = what_if.request
    properties = properties_read(request)
    subsets = (*({key} for key in sorted(properties)[:_MOST_PROPERTIES]), properties)
    for less in (
        without_specs(request, what_if.cloud),
        (each for keys in subsets for each in without_properties(request, keys)),
    ):
        found = (_fixed(what_if, each) for each in less)
        best = next((each.remedy for each in found if each.after.fits), None)
        if (
            best is not None
            and what_if.allows(best.data)
            and all(each.kind is not Kind.GIVEN_UP and each.data != best.data for each in enough)
        ):
            yield best


def _effort(now: Evaluation, remedy: Remedy) -> tuple[int, bool, int, int, bool]:
    """Return a sort key: who can make the change, then how large it is."""
    kind = [*Kind].index(remedy.kind)
    return (
        _stage(now, remedy),
        remedy.has_operator_note,
        kind,
        remedy.size,
        remedy.capacity_is_upper_bound,
    )


def _stage(now: Evaluation, remedy: Remedy) -> int:
    """Return who can make the change, and how much of the request it gives up.

    0: the requester; 1: an operator, without more hardware, or the requester, who gives up a
    constraint such as a GPU; 2: the requester, with a flavor that keeps half of each amount but not
    three quarters, or an operator against the recorded reason; 3: somebody who adds hardware;
    4: the requester, with an even smaller flavor.

    Without a GPU, the amounts matter less; a label of aggregates, such as ``ssd=true``, matters
    less than the amounts.
    """
    is_waiver, kept = remedy.code == _WAIVER, 1.0
    if 'flavor' in remedy.data and now.request.flavor is not None:
        flavor = carry_out(remedy.data, now.request, now.scenario)[0].flavor
        specs = {} if flavor is None else flavor.extra_specs
        gone = now.request.flavor.extra_specs.keys() - specs.keys()
        is_waiver = is_waiver and not (gone and all(map(is_compared, gone)))
        kept = 1 if is_waiver else alternatives.part_kept(flavor, now.request.flavor)
    if kept < alternatives.HALF:
        return 4
    if needs_hardware(remedy.data):
        return 3
    if kept < alternatives.CLOSE or remedy.has_operator_note:
        return 2
    is_own = remedy.kind is Kind.GIVEN_UP and not is_waiver
    is_own = is_own and (remedy.for_tenant or 'flavor' in remedy.data)
    return 0 if remedy.kind is Kind.REQUESTER or is_own else 1


def _pairs(what_if: WhatIf, changes: Sequence[PlannedRemedy]) -> Iterator[Remedy]:
    """Yield sufficient pairs of a quota and a second change, which is proposed after it.

    Each of ``changes`` with the code ``quota`` is in at most one pair: with the second that takes
    the least effort, or that the requester can make. No key of ``data`` may occur in both.
    """
    for first in changes:
        if first.remedy.code != 'quota':
            continue
        one, after = first.remedy, WhatIf(first.after, what_if.can_follow)
        effort = partial(_effort, first.after)
        best: PlannedRemedy | None = None
        for second in _proposed(after, after.before.constraints[::-1]):
            two = second.remedy
            if second.after.fits and one.data.keys().isdisjoint(two.data):
                if best is None or effort(two) < effort(best.remedy):
                    best = second
                if _stage(first.after, two) == 0:
                    break
        if best is not None:
            quota, with_both = _quota_beside(what_if, first, best)
            yield _both(what_if, quota, best.remedy, with_both)


def _quota_beside(
    what_if: WhatIf, quota: PlannedRemedy, other: PlannedRemedy
) -> tuple[Remedy, Evaluation]:
    """Return the quota that is enough beside another change, and the evaluation with both.

    A smaller flavor needs less of it than the request.
    """
    if 'flavor' in other.remedy.data:
        beside = WhatIf(what_if.plan(other.remedy.data).after, what_if.can_follow)
        own = [each for each in beside.before.constraints if each.name == QUOTA]
        for each in _proposed(beside, own):
            if each.remedy.code == quota.remedy.code and each.after.fits:
                return each.remedy, each.after
    return quota.remedy, other.after


def _both(what_if: WhatIf, one: Remedy, two: Remedy, after: Evaluation) -> Remedy:
    """Return both changes as one remedy, with the code ``two_changes`` and the text "A, and B".

    Its size is the sum, its kind the later one of :class:`Kind`; it is held back if one is.

    :param after: the evaluation with both.
    """
    data = {**one.data, **two.data}
    kind = max(one.kind, two.kind, key=list(Kind).index)
    change, size = f'{one.change}, and {two.change}', one.size + two.size
    has_operator_note = one.has_operator_note or two.has_operator_note
    both = WhatIfResult(data, after)
    proposal = Change(TWO, change, data, size, kind)
    return what_if.remedy(proposal, both, has_operator_note=has_operator_note).remedy


@dataclass(frozen=True)
class ProposalInput:
    """An evaluation, as one constraint reads it (``Evaluated``)."""

    before: Evaluation
    name: str

    @property
    def verdict(self) -> Verdict | None:
        """The constraint's verdict about the request."""
        return self.before.verdicts.get(self.name)

    @property
    def rejected(self) -> Sequence[Host]:
        """The hosts that the constraint rejects."""
        table = self.before.table
        verdicts = [row.verdicts.get(self.name) for row in table.rows]
        is_rejected = table.where(verdict is not None and not verdict for verdict in verdicts)
        return [*compress(self.before.hosts, is_rejected.tolist())]

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the first rejection of each host."""
        return frozenset(filter(None, (row.code for row in self.before.table.used_rows)))

    @property
    def is_limiting(self) -> bool:
        """Whether the request is rejected, or the constraint is the first to reject a host.

        Also if a host takes as many servers, one or more, as its free resources allow, and if the
        hosts are not known.
        """
        table = self.before.table
        if self.before.scenario.cloud.hosts is None:
            return True
        is_full = (table.free == table.upper) & (table.upper != 0)
        return (
            not all(self.before.verdicts.values())
            or any(row.rejected_by == self.name for row in table.used_rows)
            or bool(is_full.any())
        )


def _proposed(what_if: WhatIf, constraints: Iterable[Constraint]) -> Iterator[PlannedRemedy]:
    """Yield the allowed proposals of each constraint, in order; its own with equal data once.

    One with ``is_sufficient`` that reaches the count is the constraint's last. Raise
    ConstraintError for a proposal that is not a Change.
    """
    for constraint in constraints:
        earlier: list[Data] = []
        with attributing(constraint, 'proposals'):
            evaluated = ProposalInput(what_if.before, constraint.name)
            for proposal in constraint.proposals(
                what_if.request, what_if.before.scenario, evaluated
            ):
                if not isinstance(proposal, Change):
                    raise ValueError(f'each answer must be a Change, not {proposal!r}')
                change = _evaluated(what_if, constraint, proposal)
                if change is None or change.remedy.data in earlier:
                    continue
                if not what_if.allows(change.remedy.data):
                    continue
                earlier.append(change.remedy.data)
                yield change
                if proposal.is_sufficient and change.remedy.capacity >= what_if.wanted:
                    break


def _evaluated(what_if: WhatIf, constraint: Constraint, proposal: Change) -> PlannedRemedy | None:
    """Return the evaluated proposal with the smallest number that suffices, or else helps most.

    None without a choice, or a host to change or copy.
    """
    if isinstance(proposal, RaisedNumber):
        return _raised(what_if, constraint, proposal)
    if isinstance(proposal, ChangedHosts):
        return _changed_hosts(what_if, proposal)
    if isinstance(proposal, OneOf):
        return _one_of(what_if, proposal)
    if isinstance(proposal, MovedServer):
        if (moved := moved_server.smallest(what_if)) is None:
            return None
        return what_if.remedy(replace(proposal, change=moved.words), moved.result)
    if isinstance(proposal, NewHosts):
        if (found := new_hosts.fewest(what_if)) is None:
            return None
        change, size, after = found
        return what_if.remedy(replace(proposal, change=change, size=size), after)
    return _fixed(what_if, proposal)


def _fixed(what_if: WhatIf, proposal: Change) -> PlannedRemedy:
    """Evaluate the proposal, with an existing flavor in place of ``removed_extra_specs`` if any.

    The text then names the flavor.
    """
    proposal = with_existing_flavor(what_if.request, what_if.cloud, proposal)
    return what_if.remedy(proposal, what_if.plan(proposal.data))


def _raised(what_if: WhatIf, constraint: Constraint, proposal: RaisedNumber) -> PlannedRemedy:
    """Evaluate the smallest increase up to ``most`` that suffices, or helps as much as ``most``.

    It is the ``size``; ``{number}`` in the text becomes the raised number.
    """
    now = proposal.now

    def attempt(more: int) -> WhatIfResult:
        return what_if.plan(_put(proposal.data, proposal.path, now + more))

    guess = _guess(what_if, constraint) - now if proposal.is_per_host else 1
    more, after = what_if.smallest(proposal.most, guess, attempt)
    change = _inserted(proposal, '{number}', str(now + more))
    return what_if.remedy(replace(proposal, change=change, size=more), after)


def _inserted(proposal: Change, placeholder: str, text: str) -> str:
    """Return the text of the change; raise ValueError if it lacks the placeholder."""
    if placeholder not in proposal.change:
        raise ValueError(f'{proposal.change!r} must contain {placeholder}')
    return proposal.change.replace(placeholder, text)


def _guess(what_if: WhatIf, constraint: Constraint) -> int:
    """Return the smallest limit per host with which enough servers fit, without the constraint.

    Enough is the wanted number, or all that fit without a limit if these are fewer.
    """
    rooms = what_if.rooms(what_if.before.hosts, constraint.name)
    numbers, target = Counter(rooms), min(what_if.wanted, sum(rooms))

    def is_enough(limit: int) -> bool:
        return sum(min(room, limit) * times for room, times in numbers.items()) >= target

    return bisect_left(range(_MOST_STEPS), True, key=is_enough)


def _one_of(what_if: WhatIf, proposal: OneOf) -> PlannedRemedy | None:
    """Evaluate the first choice that suffices, or else helps most; None without choices.

    Raise ValueError for a choice that is not a plain Change.
    """
    for each in proposal.choices:
        if type(each) is not Change:
            raise ValueError(f'each choice of a OneOf must be a plain Change, not {each!r}')
    plans = [(each, what_if.plan(each.data)) for each in proposal.choices]
    if not plans:
        return None
    choice, after = max(plans, key=lambda each: min(each[1].capacity, what_if.wanted))
    return what_if.remedy(replace(proposal, change=choice.change), after)


def _changed_hosts(what_if: WhatIf, proposal: ChangedHosts) -> PlannedRemedy | None:
    """Evaluate the change of the fewest service hosts that suffice, or help as much as all do.

    Those without a note come first, then by room (the most first), then by name. None if no changed
    host takes a server.
    """
    chosen = {*map(_NAMES, proposal.hosts)}
    places = [*compress(count(), map(chosen.__contains__, map(_NAMES, what_if.before.hosts)))]
    names = dict.fromkeys(host.host for host in proposal.hosts)
    now = what_if.before.scenario
    changed = carry_out(_listed(proposal, names), what_if.request, now)[1].hosts
    others = [changed[place] for place in places]
    rooms: Counter[str] = Counter()
    for host, room in zip(others, what_if.rooms(others), strict=True):
        rooms[host.host] += room
    ranked = sorted(name for name, room in rooms.items() if room)
    ranked.sort(key=rooms.__getitem__, reverse=True)  # equal ones stay in order
    ranked.sort(key=proposal.notes.__contains__)
    if not ranked:
        return None
    sums = list(accumulate(rooms[name] for name in ranked))
    guess = 1 + bisect_left(sums, what_if.missing)

    def attempt(number: int) -> WhatIfResult:
        names = ranked[:number]
        indexes = sorted(index for name in names for index in now.columns.indexes_by_name[name])
        of_names = {index: changed[index] for index in indexes}
        return what_if.plan_hosts(_listed(proposal, names), of_names)

    number, after = what_if.smallest(len(ranked), guess, attempt, lambda number: sums[number - 1])
    used = ranked[:number]
    counts = Counter(proposal.remarks[name] for name in used if name in proposal.remarks)
    remarks = ((_agreeing(text, times), times) for text, times in counts.items())
    said = [text if number == 1 else f'{times} {text}' for text, times in remarks]
    said += [proposal.details[name] for name in used if name in proposal.details]
    notes = [proposal.notes[name] for name in used if name in proposal.notes]
    said += [f'check first: {each}' for each in notes[:1]] + notes[1:]
    hosts = f'{number} {"host" if number == 1 else "hosts"}'
    if '{names}' in proposal.change:
        names_of_few = ', '.join(used) if number <= _MOST_NAMES else hosts
        change = _inserted(proposal, '{names}', names_of_few)
    else:
        change = _inserted(proposal, '{hosts}', hosts)
    done = [
        verb
        for verb, (_path, members) in zip(proposal.verbs, proposal.lists, strict=False)
        if not members.isdisjoint(used)
    ]
    change = _agreeing(change.replace('{done}', ' and '.join(done)), number) + _in_words(said)
    return what_if.remedy(
        replace(proposal, change=change, size=number),
        after,
        has_operator_note=bool(notes),
    )


def _listed(proposal: ChangedHosts, names: Iterable[str]) -> Data:
    """Return the data, each list with the names that belong to it; without any, it stays."""
    data, names = proposal.data, [*names]
    for path, members in proposal.lists:
        if some := [name for name in names if name in members]:
            data = _put(data, path, some)
    return data


def _agreeing(text: str, number: int) -> str:
    """Return the text with the singular or the plural for ``{are}`` and ``{it}``."""
    are, it = ('is', 'it') if number == 1 else ('are', 'them')
    return text.replace('{are}', are).replace('{it}', it)


def _in_words(notes: Sequence[str]) -> str:
    """Return " (a; b; c; and 2 more)", with at most three notes; '' without any."""
    more = [f'and {len(notes) - _MOST_NOTES} more'] if len(notes) > _MOST_NOTES else []
    return f' ({"; ".join([*notes[:_MOST_NOTES], *more])})' if notes else ''


def _put(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of the data with the value at the path.

    ``_put({'a': [1, 2]}, ('a', 1), 3)`` is ``{'a': [1, 3]}``. Missing keys are added.
    """
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(data, list):
        return [_put(each, rest, value) if at == first else each for at, each in enumerate(data)]
    return {**data, first: _put(data.get(first, {}), rest, value)}
