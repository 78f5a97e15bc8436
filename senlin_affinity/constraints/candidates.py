"""Reject a request to which Placement answers 400; warn if Nova may miss some of the candidates.

Source: nova-scheduler passes ``max_placement_results`` to Placement before its filters run, but not
for a request with the hint ``group``, ``same_host`` or ``different_host``. It finds no valid host
if Placement rejects its query (:mod:`senlin_affinity.nova.candidate_query`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Constraint,
    Evaluated,
    Kind,
    Option,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.verdict import Caveat
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.host_status import is_filtered, is_forbidden
from senlin_affinity.nova.options import ROUTED
from senlin_affinity.scenario.columns import INFINITE, Columns, Flags
from senlin_affinity.scenario.scenario import Scenario

LIMIT = Option(
    'max_placement_results',
    1000,
    'The maximum number of hosts that Nova requests from Placement. Use the value in section '
    '[scheduler] of nova.conf.',
    minimum=1,
    nova='scheduler',
)
NO_SEGMENTS = Assumption('candidates.segments', 'networks without segments')
#: They accept every host of this request that is in use; hints that name servers are no issue.
_HARMLESS = (*DEFAULT_FILTERS, 'AllHostsFilter', *scheduler_hints.OF_SERVERS.values())
_NO_POLICY: Mapping[str, str] = {'group_policy': 'none'}
_REJECTED = 'Placement answers 400 for flavor {flavor}: '
#: A tenant reads nothing about the names that exist in Placement.
_OF_FLAVOR = 'Placement rejects the request for flavor {flavor}'


class CandidatesConstraint(Constraint):
    """Whether Placement accepts the query, and the limit on the number of candidates."""

    name = 'candidates'
    order = 895
    summary = 'Placement accepts the query, and Nova considers no more than max_placement_results'
    needs = ('hosts', 'flavors')
    is_unresolvable = True
    enforced_by_placement = True
    options = LIMIT, ROUTED
    reasons: ClassVar[Mapping[str, Reason]] = {
        'candidates.all': Reason('Nova considers every host that Placement offers'),
        'candidates.enough': Reason(
            'Nova considers {limit} hosts, and filters cannot reject all of them'
        ),
        'candidates.cut': Reason(
            'Nova considers {limit} of the hosts that Placement offers, and filters may reject '
            'all of them'
        ),
        'candidates.no_resources': Reason(
            f'{_REJECTED}request group {{names}} has no resources',
            advice='use a flavor that requests resources in each group that has traits',
            for_owner=_OF_FLAVOR,
        ),
        'candidates.no_group_policy': Reason(
            f'{_REJECTED}it has request groups {{names}}, but no group_policy',
            advice='use a flavor with the extra spec group_policy=none or group_policy=isolate',
            for_owner=_OF_FLAVOR,
        ),
        'candidates.wrong_names': Reason(
            f'{_REJECTED}{{names}} is not the name of a trait or resource class',
            advice='use a flavor or image with a correct name',
            for_owner=_OF_FLAVOR,
        ),
        'candidates.conflicting_traits': Reason(
            f'{_REJECTED}trait {{names}} is both required and forbidden',
            advice='use another flavor or image',
            for_owner=_OF_FLAVOR,
        ),
        'candidates.unknown_traits': Reason(
            f'{_REJECTED}trait {{names}} does not exist',
            advice='correct the name; create a trait that is forbidden, and use a host with one '
            'that is required',
        ),
        'candidates.unknown_classes': Reason(
            f'{_REJECTED}resource class {{names}} does not exist',
            advice='correct the name, or use a host that offers the resource',
        ),
        'candidates.query_rejected': Reason(
            f'{_REJECTED}{{names}}', advice='use another flavor or image'
        ),
    }

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Return a REJECT with the kind of the rejection as code, or else :func:`_verdict`."""
        found = request.memo(candidate_query.rejection, cloud)
        if found is None:
            return request.memo(_verdict, cloud)
        flavor = '' if request.flavor is None else request.flavor.name
        return Verdict.rejected(f'candidates.{found.kind}', names=found.names, flavor=flavor)

    def caveats(self, request: Request, cloud: Cloud) -> Iterator[str | Caveat]:
        """Yield a phrase for ``candidates.cut``, and for forbidden traits that may not exist."""
        if request.memo(_verdict, cloud).code == 'candidates.cut':
            limit = f'{LIMIT.key} ({request.option(LIMIT)})'
            yield f'{limit} (filters may reject every host that Nova gets)'
        if names := candidate_query.uncertain_traits(request, cloud):
            text = f'forbidden traits that may not exist ({", ".join(names)})'
            yield Caveat('traits.uncertain', text)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield the change of the flavor, or of the traits, with which Placement may accept it.

        Nothing without known hosts: only an operator can make these changes.
        """
        cloud = scenario.cloud
        found = request.memo(candidate_query.rejection, cloud)
        if found is None or cloud.hosts is None:
            return
        if found.kind == candidate_query.NO_TRAITS and (
            names := candidate_query.creatable(request, cloud)
        ):
            words = f'trait {", ".join(names)} created'
            yield Change('created_traits', words, {'created_traits': [*names]})
        if found.kind == candidate_query.NO_POLICY:
            yield Change('group_policy', 'group_policy: none', {'set_extra_specs': _NO_POLICY})
        if found.extra_specs:
            words = f'flavor without {", ".join(found.extra_specs)}'
            data = {'removed_extra_specs': [*found.extra_specs]}
            size = request.count
            yield Change('extra_specs', words, data, size, Kind.GIVEN_UP)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield NO_SEGMENTS if Nova reads segments."""
        if request.option(ROUTED):
            yield NO_SEGMENTS


def _verdict(request: Request, cloud: Cloud) -> Verdict:
    """Return a SKIP ``all`` if hosts are pinned, or not more than ``max_placement_results``.

    Also if Nova passes no limit. Else ``enough`` if filters may reject fewer; else ``all`` if
    Placement may return no more; else ``cut``.
    """
    limit, hosts = request.option(LIMIT), cloud.hosts or ()
    if len(hosts) <= limit or request.is_pinned or _is_unlimited(request):
        return Verdict.skipped('candidates.all')
    if _most_rejected(request, cloud) < limit:
        return Verdict.skipped('candidates.enough', limit=limit)
    if np.count_nonzero(_offered(request, cloud)) <= limit:
        return Verdict.skipped('candidates.all')
    return Verdict.skipped('candidates.cut', limit=limit)


def _offered(request: Request, cloud: Cloud) -> Flags:
    """Return which hosts Placement may return: those in the zone, with free resources.

    A disabled host without the trait of one counts. Unknown resources and zones count; for the
    default zone, any zone.
    """
    zone, zones = request.memo(wanted_zone), cloud.zones
    columns, demand = Columns.of(cloud), demand_of(request)
    has_room = np.ones(len(columns.hosts), bool)
    for name, amount in ({} if demand is None else demand.amounts).items():
        has = columns.inventories(name)
        has_room &= has.is_listed & (has.free >= min(amount, INFINITE))
    is_known = columns.flags('has_some_resources', lambda host: bool(host.resources))
    offered = _is_open(columns) & (has_room | ~is_known | columns.flags('is_partial'))
    if zone in (None, zones.default):
        return offered
    carrying = zones.carried_by.get(zone or '', frozenset())
    places = columns.classes(('availability_zone', 'stale_aggregates'))
    is_here = [
        here in (zone, None) or not carrying.isdisjoint(stale) for here, stale in places.values
    ]
    offered &= np.array(is_here, bool)[places.of_host]
    return offered


def _is_open(columns: Columns) -> Flags:
    """Return which hosts no trait of a disabled service keeps from being offered."""
    return ~columns.flags('is_forbidden', is_forbidden)


def _is_unlimited(request: Request) -> bool:
    """Check whether a named host, or a hint, lets Nova consider all hosts."""
    is_hinted = not scheduler_hints.OF_SERVERS.keys().isdisjoint(request.scheduler_hints)
    has_group = request.server_group is not None or request.unknown_group is not None
    return is_hinted or request.is_forced or has_group


def _most_rejected(request: Request, cloud: Cloud) -> int:
    """Return the number of hosts that Placement may return, and filters may reject.

    All with a filter that is not ``_HARMLESS``; else those that ComputeFilter rejects.
    """
    if not set(request.settings.enabled_filters) <= {*_HARMLESS}:
        return len(cloud.hosts or ())
    if not is_filtered(request):
        return 0
    columns = Columns.of(cloud)
    is_idle = ~(columns.flags('enabled') & columns.flags('up'))
    return int(np.count_nonzero(is_idle & _is_open(columns)))
