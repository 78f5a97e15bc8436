"""Find the assumptions of a decision: unspecified inputs that could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from senlin_affinity.engine.capacity import TotalCapacity
from senlin_affinity.model.assumption import Assumption, OpenAssumption
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova.aggregate_sync import is_assumed
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
    request: Request, cloud: CloudSnapshot, declared: Iterable[Assumption | Switch]
) -> tuple[Assumption, ...]:
    """Return the assumptions about the request, then those that are ``declared``, each once.

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
    found += (item for item in declared if isinstance(item, Assumption))
    return tuple(dict.fromkeys(found))


def mattering(assumptions: Iterable[Assumption], total: TotalCapacity) -> tuple[Assumption, ...]:
    """Return the assumptions; if no server is expected to fit, only each OpenAssumption."""
    expected = total.bounds.expected
    return tuple(one for one in assumptions if expected or isinstance(one, OpenAssumption))


def of_constraint(
    request: Request, cloud: CloudSnapshot, constraint: Constraint
) -> Sequence[Assumption | Switch]:
    """Return the assumptions, filters and options that a constraint declares; they may repeat."""
    with plugin_errors.attributing(constraint, 'assumptions'):
        found = (*constraint.assumptions(request, cloud),)
        for item in found:
            is_switch = isinstance(item, Option) and item.default is False
            if not (is_switch or isinstance(item, Assumption | str)):
                raise ValueError(f'each answer must be {_ANSWERS}, not {item!r}')
        return found


def declared(
    request: Request, cloud: CloudSnapshot, constraints: Iterable[Constraint]
) -> Iterator[Assumption | Switch]:
    """Yield the answers of :func:`of_constraint`."""
    return (found for each in constraints for found in of_constraint(request, cloud, each))
