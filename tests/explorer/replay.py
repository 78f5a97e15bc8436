"""Replay an operation with the answers so far, because a generator cannot be copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from senlin_affinity.groups import steps
from senlin_affinity.model.errors import AffinityError, CloudError, GroupBusy
from tests.support.values import replace


class Operation(Protocol):
    """A value from which an operation's step can be created."""

    def step(self) -> steps.Step[Any]:
        """Return a new step."""


@dataclass(frozen=True)
class Failure:
    """The answer to an effect that failed."""

    message: str
    is_uncertain: bool = False


@dataclass(frozen=True)
class Done:
    """The end of a step: its outcome, or the error that it raised."""

    outcome: object = None
    error: str = ''
    is_busy: bool = False


@dataclass(frozen=True)
class State:
    """An operation and the answers that it has received."""

    operation: Operation
    answers: tuple[Any, ...] = ()


def begin(operation: Operation) -> tuple[State, steps.Effect | Done]:
    """Return the first state of an operation, and its first effect (Done if it has none)."""
    state = State(operation)
    return state, _replayed(state)


def advance(state: State, answer: Any) -> tuple[State, steps.Effect | Done]:
    """Return the state after an answer (or a Failure), and the next effect (or Done)."""
    state = replace(state, answers=(*state.answers, answer))
    return state, _replayed(state)


def _replayed(state: State) -> steps.Effect | Done:
    """Return the effect that the step yields after these answers; Done if it ends."""
    step = state.operation.step()
    try:
        effect: steps.Effect = next(step)
        for answer in state.answers:
            try:
                found = _answer(effect, answer)
            except CloudError as error:
                effect = step.throw(error)
            else:
                effect = step.send(found)
    except StopIteration as end:
        return Done(end.value)
    except AffinityError as error:
        return Done(error=str(error) or type(error).__name__, is_busy=isinstance(error, GroupBusy))
    return effect


def _answer(effect: steps.Effect, answer: Any) -> Any:
    if isinstance(answer, Failure):
        raise CloudError(answer.message, is_uncertain=answer.is_uncertain)
    return steps.checked(effect, answer)
