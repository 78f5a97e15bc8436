"""What the answer to a question rests on, as nobody told it and it could not be read.

Shapes::

    (Assumption('nova.filters', "Nova's default filters"),
     Assumption('image.unknown', 'an image without properties'))

A filter that runs besides Nova's own, and whatever an image asks for, only takes hosts away: such
an assumption matters where servers are said to fit, and where none is, it is not among those that
:func:`mattering` leaves. One that could also let servers in (``OpenAssumption``) always matters.

Errors: ConstraintError for a constraint whose ``assumptions`` fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.core.assumptions import Assumption, OpenAssumption
from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.objects import DEFAULT_FILTERS, FILTERS, ResolvedRequest
from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.capacity import Capacity

DEFAULT = Assumption('nova.filters', "Nova's default filters")
NO_IMAGE = Assumption('image.unknown', 'an image without properties')


def find(resolved: ResolvedRequest, constraints: Sequence[Constraint]) -> tuple[Assumption, ...]:
    """All of them, each once: of the question itself, and what the constraints declare."""
    return tuple(dict.fromkeys((*_of_question(resolved), *_declared(resolved, constraints))))


def mattering(found: Iterable[Assumption], room: Capacity) -> tuple[Assumption, ...]:
    """Those of them that could change how many servers fit."""
    return tuple(item for item in found if room.certain or isinstance(item, OpenAssumption))


def _of_question(resolved: ResolvedRequest) -> Iterator[Assumption]:
    request = resolved.request
    is_usual = set(request.enabled_filters) == set(DEFAULT_FILTERS)
    if is_usual and FILTERS not in resolved.rules.told:
        yield DEFAULT
    if resolved.image_properties is None:
        yield NO_IMAGE


def _declared(resolved: ResolvedRequest, constraints: Iterable[Constraint]) -> Iterator[Assumption]:
    for constraint in constraints:
        declares = getattr(constraint, 'assumptions', None)
        if declares is None:
            continue
        with blame.blaming(constraint, 'assumptions'):
            for item in declares(resolved):
                if not isinstance(item, Assumption):
                    raise ValueError(f'each answer must be an Assumption, not {item!r}')
                yield item
