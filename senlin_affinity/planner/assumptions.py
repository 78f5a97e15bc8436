"""Find the assumptions of a decision: unspecified inputs that could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.model.assumption import Assumption, OpenAssumption
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova.aggregate_sync import is_assumed
from senlin_affinity.planner.capacity import Capacity
from senlin_affinity.scenario import plugin_errors
from senlin_affinity.scenario.constraint import Constraint, Switch

_ANSWERS = 'an Assumption, a filter, or an Option that is False by default'
DEFAULT = Assumption('nova.filters', "Nova's default filters")
SHARED = Assumption('flavor.access', 'a private flavor that is shared with the project')
NO_IMAGE = Assumption('image.unknown', 'an image without properties')
SAME_AGGREGATES = OpenAssumption(
    'aggregates.same_in_placement', 'aggregates with the same hosts in Placement as in Nova'
)


def find(
    request: Request, cloud: CloudSnapshot, constraints: Sequence[Constraint]
) -> tuple[Assumption, ...]:
    """Return the assumptions about the request, then those that constraints declare, each once.

    DEFAULT for unspecified filters, NO_IMAGE for unknown image properties, SHARED for ``is_shared``
    None, SAME_AGGREGATES if Placement was not asked about an aggregate that matters.
    """
    of_request = (
        (DEFAULT, request.settings.are_filters_unspecified),
        (NO_IMAGE, request.image_properties is None),
        (SHARED, request.flavor is not None and request.flavor.is_shared is None),
        (SAME_AGGREGATES, is_assumed(request, cloud)),
    )
    found = [assumption for assumption, is_made in of_request if is_made]
    of_constraints = declared(request, cloud, constraints)
    found += (item for item in of_constraints if isinstance(item, Assumption))
    return tuple(dict.fromkeys(found))


def mattering(assumptions: Iterable[Assumption], total: Capacity) -> tuple[Assumption, ...]:
    """Return the assumptions; if no server is expected to fit, only each OpenAssumption."""
    expected = total.bounds.expected
    return tuple(one for one in assumptions if expected or isinstance(one, OpenAssumption))


def declared(
    request: Request, cloud: CloudSnapshot, constraints: Iterable[Constraint]
) -> Iterator[Assumption | Switch]:
    """Yield the assumptions, filters and options that the constraints declare; they may repeat."""
    for constraint in constraints:
        with plugin_errors.attributing(constraint, 'assumptions'):
            for item in constraint.assumptions(request, cloud):
                is_switch = isinstance(item, Option) and item.default is False
                if not (is_switch or isinstance(item, Assumption | str)):
                    raise ValueError(f'each answer must be {_ANSWERS}, not {item!r}')
                yield item
