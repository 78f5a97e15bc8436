"""What the preflight says of a case's questions, and what the real scheduler then does.

Data flow: the stage becomes the cloud of a case; each question is answered; then servers are asked
for, one after the other, until one finds no host or is refused. Both numbers go out as a
:class:`Result`, and the servers are deleted before the next question.

Units: numbers of servers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from senlin_affinity.planner.decision import Decision
from tests.accuracy import asking, remedies, spreading
from tests.accuracy.case import Ask, Case
from tests.accuracy.stage import Stage

#: Nobody tries more, whatever is said: a case has room for fewer.
MOST_TRIED = 16
EXACT, HELD, EQUAL = 'exact', 'held', 'most'
FEWER, ASSUMED, WRONG = 'fewer', 'assumed', 'wrong'
#: How the words begin for what no answer of Nova and of Placement determines.
UNDETERMINED = (
    # The first server goes where the weighers say, and the others follow it.
    'affinity without members',
    # The hosts of both zones are candidates for a server that names one of them.
    'hosts that Placement has in the aggregates of another zone',
    # Any of the alternatives may be taken.
    'resources of several providers',
    # The NUMA cells of a host, from which Nova's compute service takes pinned CPUs.
    'image property hw_cpu_policy',
    'extra spec hw:cpu_policy',
    # What libvirt supports besides QEMU itself and the host's architecture.
    'constraint image_hypervisor',
    # What a query, or a filter of another package, says of a host.
    'scheduler hint',
)


@dataclass(frozen=True)
class Result:
    """``capacity`` is what was said, ``firm`` what of it was said to be sure, ``placed`` what
    really came; ``assumed`` are codes, ``at_most`` words.
    """

    kind: str
    seed: int
    number: int
    capacity: int | None
    is_at_most: bool
    placed: int
    line: str
    assumed: tuple[str, ...] = ()
    is_told: bool = True
    firm: int = 0
    at_most: tuple[str, ...] = ()

    @property
    def is_determined(self) -> bool:
        """Do the answers of Nova and of Placement, and what was told, determine the number?"""
        is_left_open = any(words.startswith(UNDETERMINED) for words in self.at_most)
        return not is_left_open and (self.is_told or not self.assumed)

    @property
    def outcome(self) -> str:
        """How right it is: no false refusal, and fewer only where that was said or assumed."""
        if self.capacity is None:
            return WRONG
        said = min(self.capacity, MOST_TRIED)
        if self.placed == said:
            return EQUAL if self.is_at_most else HELD if self.assumed else EXACT
        if self.placed > said:
            return WRONG
        if self.is_at_most and self.placed >= min(self.firm, MOST_TRIED):
            return FEWER
        return ASSUMED if self.assumed else WRONG

    @property
    def is_right(self) -> bool:
        """Was nobody misled?"""
        return self.outcome != WRONG

    def __str__(self) -> str:
        most = 'at most ' if self.is_at_most else ''
        told = 'told' if self.is_told else 'not told'
        assumed = f'; assumed: {", ".join(self.assumed)}' if self.assumed else ''
        said = f'{most}{self.capacity}{assumed}'
        name = f'{self.kind} {self.seed}.{self.number} ({told})'
        return f'{name}: said {said}, placed {self.placed} ({self.line})'


def compare(stage: Stage, case: Case) -> Iterator[Result]:
    """Make this cloud; ask and try, question after question."""
    stage.set_up(case)
    tried: dict[tuple[object, ...], int] = {}
    for number, asked in enumerate(case.asks):
        decision = asking.ask(stage, case, asked)
        # The same server, whatever the preflight is told: it is tried once.
        about = asked.metadata, str(asked.hints)
        server = (asked.flavor, asked.group, asked.zone, asked.image, asked.user, *about)
        if asked.spread:
            tried[server] = spreading.place(stage, case, asked, decision)
        elif server not in tried:
            tried[server] = _try(stage, asked)
        yield _result(case, number, decision, tried[server])
        if asked.is_remedied:
            yield from _remedied(stage, case, number, decision)
    stage.clear()


def _remedied(stage: Stage, case: Case, number: int, decision: Decision) -> Iterator[Result]:
    """Carry out a remedy, one against which an operator gave a reason first, and try again."""
    known = [remedy for remedy in decision.remedies if remedies.can(case, remedy.data)]
    if not known:
        return
    chosen = [remedy for remedy in known if remedy.is_held_back] or known
    remedy = chosen[case.seed % len(chosen)]
    with stage.changes():
        asked = remedies.carry_out(stage, case, case.asks[number], remedy.data)
        placed = _try(stage, asked, remedy.capacity + 1)
    yield dataclasses.replace(
        _result(case, number, decision, placed),
        capacity=remedy.capacity,
        is_at_most=remedy.capacity_is_upper_bound,
        line=f'{remedy.code}: {remedy.change}',
        firm=0,
        at_most=decision.at_most if remedy.capacity_is_upper_bound else (),
    )


def _result(case: Case, number: int, decision: Decision, placed: int) -> Result:
    return Result(
        case.kind,
        case.seed,
        number,
        decision.capacity,
        decision.capacity_is_upper_bound,
        placed,
        decision.line(),
        tuple(item.code for item in decision.assumptions),
        case.asks[number].is_told,
        decision.capacity_certain,
        decision.at_most,
    )


def _try(stage: Stage, asked: Ask, most: int = MOST_TRIED) -> int:
    """How many servers come, which are deleted then."""
    nova = stage.novas[asked.user]
    group = None if asked.group is None else stage.groups[asked.group]
    image = None if asked.image is None else stage.images[asked.image]
    made: list[str] = []
    status, placed = 'ACTIVE', 0
    while status == 'ACTIVE' and placed < min(most, MOST_TRIED):
        server, status = nova.boot(
            stage.flavors[asked.flavor],
            image=image,
            group=group,
            zone=asked.zone,
            metadata=asked.metadata,
            hints=stage.hints(asked.hints),
        )
        made += [server] if server is not None else []
        placed += status == 'ACTIVE'
    stage.admin.delete(made)
    return placed
