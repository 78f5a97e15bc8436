"""Name the constraint that fails, and the host or domain for which it was evaluated.

Example::

    constraint rack_limit: check_host failed on host cmp-1: KeyError: 'rack'
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice

from senlin_affinity.model.constraint import Constraint, Domain
from senlin_affinity.model.errors import ConstraintError, in_words
from senlin_affinity.model.verdict import Verdict

_MOST_NAMED = 3


@contextmanager
def attributing(constraint: Constraint, method: str, where: str = '') -> Iterator[None]:
    """Convert an exception of the block into a ConstraintError; a ConstraintError stays.

    :param where: such as "host cmp-1", or ''.
    """
    try:
        yield
    except ConstraintError:
        raise
    except Exception as error:
        raise attributed(constraint, method, error, where) from error


def attributed(
    constraint: Constraint, method: str, error: Exception, where: str
) -> ConstraintError:
    """Return the error, as in the example of this module."""
    return ConstraintError(constraint.name, method, in_words(error), where)


def check_verdict(constraint: Constraint, verdict: object) -> Verdict:
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


def domain_names(domains: Collection[Domain]) -> str:
    """Return "rack r1, r2, r3 and 2 more" for domains of one criterion; '' for none."""
    first = list(islice(domains, _MOST_NAMED))
    by = ''.join({f'{domain.by} ' for domain in first})
    more = len(domains) - len(first)
    names = ', '.join(domain.name for domain in first)
    return f'{by}{names}{f" and {more} more" if more else ""}'
