"""Say what the requester could change, where the planner cannot tell what helps.

``plan`` and ``server explain`` call this module. A sentence never tells anything about hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.engine.suggestions import NO_HINTS, suggestions
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova.demand import is_placed
from senlin_affinity.scenario.scenario import Scenario

_NO_LESS = 'no flavor asks for less'
_OTHERWISE = 'delete own servers that are no longer needed, wait, or ask the operator'


def suggested(
    decision: Decision,
    request: Request,
    cloud: CloudSnapshot,
    constraints: Sequence[Constraint],
    *,
    is_by_filters: bool | None = None,
    server: str = '',
) -> Iterator[str]:
    """Yield what the requester could change; nothing if it certainly fits, or with remedies.

    With known hosts, only what makes a request certain that fits by an upper bound.

    Placement reads no server group: if it had no candidate, another group changes nothing. Filters
    read no resources, but with a smaller flavor, Placement may offer them more hosts.

    :param is_by_filters: of a failure: whether filters or Placement rejected the hosts.
    :param server: of a failure: the id of the server.
    """
    is_open = decision.fits_by_upper_bound or not (decision.is_hosts_known or decision.fits)
    if not is_open or decision.remedies:
        return
    found = suggestions(evaluate(request, Scenario.of(cloud), constraints))
    for each in found:
        if not (is_by_filters is False and _is_of_filters(each)):
            yield each.change
    if decision.fits is None:
        flavors = cloud.flavors and not any('flavor' in each.data for each in found)
        if flavors:
            yield _NO_LESS
        yield f'{_OTHERWISE}{f" (give the id {server})" if server else ""}'


def _is_of_filters(change: Change) -> bool:
    """Check whether only filters read what the change is about."""
    properties = change.data.get('removed_image_properties', ())
    is_of_image = bool(properties) and not any(map(is_placed, properties))
    return 'server_group' in change.data or change.code == NO_HINTS or is_of_image
