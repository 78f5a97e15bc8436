"""Find the assumptions of a decision: unspecified inputs that could not be read.

Example::

    (Assumption('nova.filters', "Nova's default filters"),
     Assumption('image.unknown', 'an image without properties'))

A filter beyond Nova's defaults, or a property of an image, only removes hosts: such an assumption
matters only if some servers fit. An ``OpenAssumption`` may also hide capacity, so it always matters
(:func:`mattering`).

Raises: ConstraintError for a constraint whose ``assumptions`` fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.model.assumption import Assumption, OpenAssumption
from senlin_affinity.model.constraint import Constraint, Switch
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.nova.aggregate_sync import is_assumed
from senlin_affinity.planner import plugin_errors
from senlin_affinity.planner.capacity import Capacity

_ANSWERS = 'an Assumption, a filter or an Option'
DEFAULT = Assumption('nova.filters', "Nova's default filters")
SHARED = Assumption('flavor.access', 'a private flavor that is shared with the project')
NO_IMAGE = Assumption('image.unknown', 'an image without properties')
SAME_AGGREGATES = OpenAssumption(
    'aggregates.same_in_placement', 'aggregates with the same hosts in Placement as in Nova'
)


def find(resolved: ResolvedRequest, constraints: Sequence[Constraint]) -> tuple[Assumption, ...]:
    """Return the assumptions about the inputs and those that constraints declare, each once."""
    of_constraints = declared(resolved, constraints)
    found = (item for item in of_constraints if isinstance(item, Assumption))
    return tuple(dict.fromkeys((*_of_question(resolved), *found)))


def mattering(found: Iterable[Assumption], total: Capacity) -> tuple[Assumption, ...]:
    """Return the assumptions that could change the number; if none is expected, only open ones."""
    return tuple(one for one in found if total.bounds.expected or isinstance(one, OpenAssumption))


def _of_question(resolved: ResolvedRequest) -> Iterator[Assumption]:
    if resolved.are_filters_unspecified:
        yield DEFAULT
    if resolved.image_properties is None:
        yield NO_IMAGE
    if resolved.flavor is not None and resolved.flavor.is_shared is None:
        yield SHARED
    if is_assumed(resolved):
        yield SAME_AGGREGATES


def declared(
    resolved: ResolvedRequest, constraints: Iterable[Constraint]
) -> Iterator[Assumption | Switch]:
    """Yield the assumptions, filters and options that the constraints declare for the request."""
    for constraint in constraints:
        with plugin_errors.attributing(constraint, 'assumptions'):
            for item in constraint.assumptions(resolved):
                if not isinstance(item, Assumption | Option | str):
                    raise ValueError(f'each answer must be {_ANSWERS}, not {item!r}')
                yield item
