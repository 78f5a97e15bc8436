"""Name the constraint that fails, and the host or domain for which it was evaluated.

Example::

    constraint rack_limit: check failed on host cmp-1: KeyError: 'rack'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from senlin_affinity.model.errors import ConstraintError, in_words
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.verdict import Verdict


class Named(Protocol):
    """What an error says of a constraint."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def reasons(self) -> Mapping[str, Reason]:
        """The reason of each of its codes."""


@contextmanager
def attributing(constraint: Named, method: str, where: str = '') -> Iterator[None]:
    """Convert an exception of the block into a ConstraintError; a ConstraintError stays.

    :param where: such as "host cmp-1", or ''.
    """
    try:
        yield
    except ConstraintError:
        raise
    except Exception as error:
        raise attributed(constraint, method, error, where) from error


def attributed(constraint: Named, method: str, error: Exception, where: str) -> ConstraintError:
    """Return the error, as in the example of this module."""
    return ConstraintError(constraint.name, method, in_words(error), where)


def check_verdict(constraint: Named, verdict: object) -> Verdict:
    """Return the verdict.

    Raise ValueError for another type, for a room that is not None or 0 or more, and for a code
    without a reason, or without a fact of its sentence.
    """
    if not isinstance(verdict, Verdict):
        raise ValueError(f'the answer must be a Verdict, not {verdict!r}')
    room = verdict.room
    if room is not None and (not isinstance(room, int) or room < 0):
        raise ValueError(f'room must be None or an integer of 0 or more, not {room!r}')
    reason = constraint.reasons.get(verdict.code)
    if reason is None:
        raise ValueError(f'code {verdict.code} is not in reasons')
    if not verdict.facts.keys() >= reason.facts:
        missing = ', '.join(sorted(reason.facts.difference(verdict.facts)))
        raise ValueError(f'verdict {verdict.code} lacks the fact {missing} of its sentence')
    return verdict
