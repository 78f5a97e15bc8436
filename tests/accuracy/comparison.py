"""Compare the preflight's answers for a case with the real scheduler.

The stage becomes the cloud of the case. For each question, the preflight answers; then servers are
created one by one until one finds no host or is rejected, and deleted again.

Units: numbers of servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from senlin_affinity.engine.decision import Decision
from tests.accuracy import asking, remedies, spreading
from tests.accuracy.case import Ask, Case
from tests.accuracy.stage import Stage
from tests.support.values import replace

#: The maximum number of created servers; every case has room for fewer.
MOST_TRIED = 16
EXACT, HELD, EQUAL = 'exact', 'held', 'most'
FEWER, ASSUMED, WRONG, NOT_ASKED = 'fewer', 'assumed', 'wrong', 'not asked'
#: Prefixes of "at most" texts whose reason no API of Nova or Placement reveals.
UNDETERMINED = (
    # The weighers choose the host of the first server, and the others follow it.
    'affinity without members',
    # Hosts of both zones are candidates for a server in one of them.
    'hosts that Placement has in the aggregates of another zone',
    # Placement may use any of the alternatives.
    'resources of several providers',
    # The compute service takes pinned CPUs from the NUMA cells of a host.
    'image property hw_cpu_policy',
    'extra spec hw:cpu_policy',
    # libvirt may support more than QEMU and the host's architecture.
    'constraint image_hypervisor',
    # Nova may send a server to a service that is down.
    'constraint host_state (the scheduler does not run ComputeFilter',
    # These depend on the query, or on a filter of another package.
    'scheduler hint',
)


@dataclass(frozen=True)
class Result:
    """The ``capacity`` of a decision, its ``firm`` lower bound, and the number of ``placed``
    servers.

    ``assumed`` are codes of assumptions, ``at_most`` the reasons. ``is_asked`` is false if the
    services timed out, so that there is nothing to compare.
    """

    kind: str
    seed: int
    number: int
    capacity: int | None
    is_at_most: bool
    placed: int
    line: str
    assumed: tuple[str, ...] = ()
    is_complete: bool = True
    firm: int = 0
    at_most: tuple[str, ...] = ()
    is_asked: bool = True

    @property
    def is_determined(self) -> bool:
        """Return whether the input and the APIs of Nova and Placement determine the number."""
        is_left_open = any(words.startswith(UNDETERMINED) for words in self.at_most)
        return not is_left_open and (self.is_complete or not self.assumed)

    @property
    def outcome(self) -> str:
        """Classify the answer; only an "at most" or an assumption permits fewer servers."""
        if not self.is_asked:
            return NOT_ASKED
        if self.capacity is None:
            return WRONG
        predicted = min(self.capacity, MOST_TRIED)
        if self.placed == predicted:
            return EQUAL if self.is_at_most else HELD if self.assumed else EXACT
        if self.placed > predicted:
            return WRONG
        if self.is_at_most and self.placed >= min(self.firm, MOST_TRIED):
            return FEWER
        return ASSUMED if self.assumed else WRONG

    @property
    def is_right(self) -> bool:
        return self.outcome != WRONG

    def __str__(self) -> str:
        most = 'at most ' if self.is_at_most else ''
        given = 'all input' if self.is_complete else 'minimal input'
        assumed = f'; assumed: {", ".join(self.assumed)}' if self.assumed else ''
        predicted = f'{most}{self.capacity}{assumed}'
        name = f'{self.kind} {self.seed}.{self.number} ({given})'
        return f'{name}: predicted {predicted}, placed {self.placed} ({self.line})'


def compare(stage: Stage, case: Case) -> Iterator[Result]:
    """Create the cloud of a case, and compare each of its questions."""
    stage.set_up(case)
    tried: dict[tuple[object, ...], int] = {}
    for number, asked in enumerate(case.asks):
        decision = asking.ask(stage, case, asked)
        # The same servers are created once; more input for the preflight does not matter.
        about = asked.metadata, str(asked.hints), asked.host
        server = (asked.flavor, asked.group, asked.zone, asked.image, asked.user, *about)
        if asked.spread:
            tried[server] = spreading.place(stage, case, asked, decision)
        elif server not in tried:
            tried[server] = _try(stage, asked)
        result = _result(case, number, decision, tried[server])
        if not result.is_right:
            result = replace(result, line=f'{result.line}; {stage.novas[asked.user].refusal}')
        yield result
        if asked.is_remedied:
            yield from _remedied(stage, case, number, decision)
    stage.clear()


def _remedied(stage: Stage, case: Case, number: int, decision: Decision) -> Iterator[Result]:
    """Apply a remedy, preferably one that an operator's reason holds back, and compare again."""
    known = [remedy for remedy in decision.remedies if remedies.can(case, remedy.data)]
    if not known:
        return
    chosen = [remedy for remedy in known if remedy.has_operator_note] or known
    remedy = chosen[case.seed % len(chosen)]
    with stage.changes():
        asked = remedies.carry_out(stage, case, case.asks[number], remedy.data)
        placed = _try(stage, asked, remedy.capacity + 1)
    yield replace(
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
        case.asks[number].is_complete,
        decision.capacity_certain,
        decision.at_most,
    )


def _try(stage: Stage, asked: Ask, most: int = MOST_TRIED) -> int:
    """Return the number of servers that become active; delete them."""
    made: list[str] = []
    status, placed = 'ACTIVE', 0
    while status == 'ACTIVE' and placed < min(most, MOST_TRIED):
        server, status = stage.boot(asked)
        made += [server] if server is not None else []
        placed += status == 'ACTIVE'
    stage.delete(made)
    return placed
