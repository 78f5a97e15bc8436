"""Plans a question that did not fit again with a change, and seeks the smallest change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from senlin_affinity.core.constraint import Constraint, is_of_hosts
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.options import Option
from senlin_affinity.core.planning import commands
from senlin_affinity.core.planning.actions import Data, carry_out
from senlin_affinity.core.planning.assessment import assess
from senlin_affinity.core.planning.columns import Known
from senlin_affinity.core.planning.decision import Kind, Remedy
from senlin_affinity.core.planning.evaluation import Evaluation, Judged, evaluate
from senlin_affinity.core.planning.numbering import patched


class Planned(NamedTuple):
    """A change, as :mod:`actions` has it, and the question with it."""

    data: Data
    then: Evaluation

    @property
    def capacity(self) -> int:
        """How many servers fit then, as far as that is known."""
        return self.then.capacity or 0

    @property
    def fits(self) -> bool | None:
        """Do as many fit then as are wanted?"""
        return self.then.fits


class Change(NamedTuple):
    """A remedy, and the question with it."""

    remedy: Remedy
    then: Evaluation


@dataclass(frozen=True)
class Replanner:
    """The question that did not fit, and how to plan it with something changed."""

    now: Evaluation

    @property
    def resolved(self) -> ResolvedRequest:
        """The question that did not fit."""
        return self.now.resolved

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The rules that it was asked with."""
        return self.now.constraints

    @property
    def wanted(self) -> int:
        """How many servers are asked for."""
        return self.resolved.request.count

    def plan(self, data: Data) -> Planned:
        """The question with a change carried out."""
        resolved = carry_out(data, self.resolved)
        return Planned(data, evaluate(resolved, self.constraints, self.now))

    def judge(self, places: Sequence[int], hosts: Sequence[Host]) -> Judged:
        """What is said of the hosts that these become."""
        judges = [item for item in self.constraints if is_of_hosts(item)]
        fields = self.now.table.looks.fields
        return Judged(places, hosts, assess(self.resolved, judges, hosts, fields=fields))

    def plan_hosts(self, data: Data, judged: Judged) -> Planned:
        """The question with a change of hosts, which makes these of them."""
        hosts = tuple(patched(self.hosts, judged.places, judged.hosts))
        resolved = replace(self.resolved, snapshot=replace(self.resolved.snapshot, hosts=hosts))
        return Planned(data, evaluate(resolved, self.constraints, self.now, judged))

    def plan_option(self, option: Option, value: Any) -> Planned:
        """The same, with another value of a constraint's option."""
        return self.plan({'options': {option.key: value}})

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts that are known."""
        return self.resolved.snapshot.hosts or ()

    def rooms(self, hosts: Sequence[Host], **changed: Any) -> list[int]:
        """The room on each of these hosts, as far as it is known."""
        judges = [item for item in self.constraints if is_of_hosts(item)]
        resolved, known = replace(self.resolved, **changed), None
        if hosts is self.hosts:
            known = Known(self.resolved, self.now.table, ())
        rooms = assess(resolved, judges, hosts, known).known_rooms
        return [room or 0 for room in rooms]

    def smallest(
        self,
        high: int,
        guess: int,
        attempt: Callable[[int], Planned],
        room: Callable[[int], int] | None = None,
    ) -> tuple[int, Planned]:
        """The smallest number from 1 on that gives what is wanted, or as much as the highest gives.

        Each number that is looked at is planned: with a good guess it and the one below, which
        is not enough.

        :param room: what the hosts of a number have room for by themselves. Where no domains count,
            no more is added than that, and a number that has too little is not planned.
        """
        plan = cache(attempt)

        def capacity(number: int) -> int:
            return plan(number).capacity

        low, guess, now = 1, min(max(1, guess), high), self.now.capacity or 0
        enough = self.wanted

        def is_hopeless(number: int) -> bool:
            if room is None or self.now.found is not None:
                return False
            return now + room(number) < enough

        if capacity(guess) < enough:
            enough = min(enough, capacity(high))
        if enough <= now:
            return high, plan(high)  # of no help
        tries = iter((guess, guess - 1) if guess < high else (guess - 1,))
        while low < high:
            middle = next(tries, high)
            if not low <= middle < high:
                middle = (low + high) // 2
            if not is_hopeless(middle) and capacity(middle) >= enough:
                high = middle
            else:
                low = middle + 1
        return high, plan(high)

    @property
    def missing(self) -> int:
        """How many of the servers do not fit."""
        return self.wanted - (self.now.capacity or 0)

    def change(
        self,
        code: str,
        change: str,
        size: int,
        planned: Planned,
        *,
        kind: Kind = Kind.OPERATORS,
        is_owners: bool = False,
    ) -> Change:
        """A change that was planned; ``size`` is how many servers, hosts or values it changes."""
        then = planned.then
        lines = commands.of(planned.data, self.resolved)
        is_bound = bool(then.room.at_most)
        remedy = Remedy(code, change, planned.capacity, size, is_bound, kind, planned.data, lines)
        return Change(replace(remedy, is_owners=is_owners), then)
