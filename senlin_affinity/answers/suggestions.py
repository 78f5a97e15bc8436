"""Say what the requester could change, where the planner cannot tell what helps.

The hosts are not known, or Nova may reject more than the planner models. ``plan`` and ``server
explain`` call this module. A sentence never tells anything about hosts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine import scheduler_filters
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.engine.remedies import ProposalInput
from senlin_affinity.engine.what_if import WhatIf
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.proposal import Change, Kind, OneOf, RaisedNumber
from senlin_affinity.model.request import Request
from senlin_affinity.nova.alternatives import (
    CLOSE,
    HALF,
    all_smaller_flavors,
    asks_for_less,
    flavor_change,
    is_disk_large,
    part_kept,
    with_existing_flavor,
    without_properties,
    without_specs,
)
from senlin_affinity.nova.demand import is_placed
from senlin_affinity.nova.quotas import INSTANCES, quotas_of
from senlin_affinity.scenario.constraint import attributing
from senlin_affinity.scenario.scenario import Scenario

#: The codes of a boot from a volume, another zone, another flavor, and no scheduler hints.
_BOOT, _ZONE, _FLAVOR, _NO_HINTS = 'boot_from_volume', 'availability_zone', 'flavor', 'no_hints'
#: The name of the constraint.
_HINTS = 'scheduler_hints'
#: Extra specs that Placement checks begin with these.
_OF_PLACEMENT = ('resources', 'trait')
#: The zones, and the flavors, that are named.
_MOST = 3
#: The first rank (:func:`_rank`) of what gives up more than asking the operator.
_MUCH = 4
_NO_LESS = 'no flavor asks for less'
_ASK = 'ask the operator to enable or free a suitable host'
_OTHERWISE = 'delete own servers that are no longer needed, or wait'


def suggested(
    decision: Decision,
    request: Request,
    cloud: Cloud,
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
    now = evaluate(request, Scenario.of(cloud), constraints)
    found = _suggestions(now, is_by_filters)
    if decision.fits is not None:
        yield from (each.change for each in found)
        return
    at = bisect_left(found, _MUCH, key=lambda each: _rank(each, now))
    yield from (each.change for each in found[:at])
    if cloud.flavors and not asks_for_less(cloud.flavors, request.flavor):
        yield _NO_LESS
    yield f'{_ASK}{f" (give the id {server})" if server else ""}'
    yield from (each.change for each in found[at:])
    own = (quotas_of(request, cloud) or {}).get(INSTANCES)
    if own is None or own.used != 0:
        yield _OTHERWISE


def _is_of_filters(change: Change) -> bool:
    """Check whether only filters read what the change is about."""
    properties = change.data.get('removed_image_properties', ())
    is_of_image = bool(properties) and not any(map(is_placed, properties))
    return 'server_group' in change.data or change.code == _NO_HINTS or is_of_image


def _suggestions(now: Evaluation, is_by_filters: bool | None) -> tuple[Change, ...]:
    """Return each change that the requester could make, the most promising first.

    * Hosts not known: nothing says whether a change helps, but it does not leave a rejection of the
      request. A limit has no number: "a larger max_server_per_host".
    * It fits by an upper bound: only changes with which it certainly fits.

    What few hosts provide is given up first (:func:`_rank`). A boot from a volume is only for a
    flavor whose disk is large for its other amounts. Of smaller flavors, the largest is the first:
    it is the closest to what was requested. One of less than half the size is only suggested if no
    other change comes before the operator.
    """
    what_if, request = WhatIf(now), now.request
    less = [
        *_without_hints(request),
        *without_specs(request, what_if.cloud),
        *without_properties(request, scheduler_filters.properties_read(request)),
    ]
    every = less if now.fits else [*_proposed(now), *less]
    found = [each for each in every if not (is_by_filters is False and _is_of_filters(each))]
    if now.fits:
        return tuple(each for each in found if _is_certain(what_if.plan(each.data).after))
    if now.fits is False:
        found = [each for each in found if what_if.plan(each.data).after.fits is not False]
    first: dict[str, Change] = {}
    for each in found:
        first.setdefault(each.change, each)
    ranks = {each.change: _rank(each, now) for each in first.values()}
    most = 6 if min(ranks.values(), default=7) < _MUCH else 7  # a tiny flavor only without others
    found = [each for each in first.values() if ranks[each.change] <= most]
    found.sort(key=lambda each: (ranks[each.change], [*Kind].index(each.kind), each.size))
    likelier = ' (the smaller, the likelier)' if now.fits is None else ''
    return (*_joined(_joined(found, _ZONE), _FLAVOR, likelier),)


def _rank(change: Change, now: Evaluation) -> int:
    """Return how promising a change is; 0 is the most.

    0: other hosts, such as without hints, group or zone; 1: without what scheduler filters compare,
    in a close flavor; 2: a boot from a volume, which keeps all amounts; 3: a close flavor; 4:
    without traits and resources; 5: a flavor of at least half the size; 6: without a property that
    most hosts have; 7: a smaller flavor.
    """
    if change.code == _BOOT:
        return 2
    left = carry_out(change.data, now.request, now.scenario)[0]
    gone, kept = _given_up(now.request, left), part_kept(left.flavor, now.request.flavor)
    if not gone:
        if change.code != _FLAVOR:
            return 0
        return 3 if kept >= CLOSE else 5 if kept >= HALF else 7
    if all(map(scheduler_filters.is_usual, gone.values())):
        return 6
    if any(key.startswith(_OF_PLACEMENT) or is_placed(key) for key in gone):
        return 4
    return 1 if kept >= CLOSE else 5


def _given_up(request: Request, left: Request) -> Mapping[str, str]:
    """Return the extra specs and image properties that the changed request no longer has."""
    parts = (
        (request.extra_specs, left.extra_specs),
        (request.image_properties or {}, left.image_properties or {}),
    )
    return {key: each[key] for each, other in parts for key in each if key not in other}


def _is_certain(after: Evaluation) -> bool:
    return (after.total.bounds.lower or 0) >= after.request.count


def _without_hints(request: Request) -> Iterator[Change]:
    """Yield the request without its scheduler hints, if it has any."""
    if hints := sorted(request.scheduler_hints):
        words = f'without the scheduler hint{"s" * (len(hints) > 1)} {" and ".join(hints)}'
        data = {'given_up': [_HINTS]}
        yield Change(_NO_HINTS, words, data, 0, Kind.REQUESTER, for_tenant=True)


def _proposed(now: Evaluation) -> Iterator[Change]:
    """Yield the plain changes that the requester could make, and each flavor that is smaller."""
    request, cloud = now.request, now.scenario.cloud
    flavor, known = request.flavor, cloud.flavors or ()
    smaller = all_smaller_flavors(known, flavor)
    for other in smaller:
        yield replace(flavor_change(other), size=request.count, kind=Kind.REQUESTER)
    for constraint in now.constraints:
        with attributing(constraint, 'proposals'):
            evaluated = ProposalInput(now, constraint.name)
            for each in constraint.proposals(request, now.scenario, evaluated):
                if each.code == _BOOT and not (flavor and _is_disk_decisive(flavor, known)):
                    continue
                if each.kind is Kind.REQUESTER or each.for_tenant:
                    yield from _plain(now, each)


def _is_disk_decisive(flavor: Flavor, known: Sequence[Flavor]) -> bool:
    is_special = any(key.startswith('resources') for key in flavor.extra_specs)
    return not is_special and is_disk_large(known, flavor)


def _plain(now: Evaluation, change: Change) -> Iterator[Change]:
    """Yield the choices of a OneOf, or the change without its number."""
    if isinstance(change, OneOf):
        for each in change.choices:
            yield replace(each, size=change.size, kind=change.kind)
    elif isinstance(change, RaisedNumber):
        name, _number, rest = change.change.partition(': {number}')
        is_new = 'server_group' in change.data and now.request.is_group_optional
        new = 'a new server group with ' if is_new else ''  # Nova changes no group
        text = f'{new}a larger {name}{rest}'
        yield Change(change.code, text, change.data, change.size, change.kind)
    else:
        yield with_existing_flavor(now.request, now.scenario.cloud, change)


def _joined(changes: Sequence[Change], code: str, note: str = '') -> list[Change]:
    """Return the changes, but those with this code, at most three, as one: "flavor: a or b".

    :param note: what follows several names.
    """
    alike = [*dict.fromkeys(each for each in changes if each.code == code)][:_MOST]
    if not alike:
        return [*changes]
    names = ' or '.join(each.change.removeprefix(f'{code}: ') for each in alike)
    one = replace(alike[0], change=f'{code}: {names}{note if len(alike) > 1 else ""}')
    at = changes.index(alike[0])
    return [*changes[:at], one, *(each for each in changes[at:] if each.code != code)]
