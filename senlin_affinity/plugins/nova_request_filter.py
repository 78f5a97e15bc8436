"""Document 001's flow, for nova-scheduler: reservations in the request to Placement.

Data flow: before Nova asks Placement for hosts, the keys of flavor and image, and those of the
aggregates, go through :mod:`senlin_affinity.core.reservations`; what is required and forbidden goes
into the request's destination, as from Nova's own request filters, and so into ``member_of``.

Shapes, in nova.conf; ``install`` is a function that answers with host filters, and has none::

    [filter_scheduler]
    available_filters = nova.scheduler.filters.all_filters
    available_filters = senlin_affinity.plugins.nova_request_filter.install

    [scheduler]
    placement_req_required_member_prefix = reservation:
    placement_req_default_forbidden_member_prefix = reservation:

Errors: nova-scheduler does not start where Nova no longer has what this needs: reserved hosts would
be open to everybody. A reservation that no aggregate carries gets "No valid host", and the reason.

Source: document 001, "Developer impact"; ``nova/scheduler/request_filter.py`` of Nova 34. We differ
on purpose: of an image only the traits that it requires count, since Nova drops other keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from nova import context as nova_context
from nova import objects
from nova.conf import CONF
from nova.db.api import api as database
from nova.db.api import models
from nova.exception import RequestFilterFailed
from nova.scheduler import request_filter
from oslo_log import log as logging

from senlin_affinity.conf.opts import as_oslo
from senlin_affinity.constraints.reservations import FORBIDDEN_PREFIXES, REQUIRED_PREFIX
from senlin_affinity.core.aggregates.isolation import TRAIT
from senlin_affinity.core.errors import InvalidSpec, PluginError
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.reservations import constrain

LOG = logging.getLogger(__name__)

#: As the policy has them; nova.conf has no others of the same names.
OPTIONS = (REQUIRED_PREFIX, FORBIDDEN_PREFIXES)


def install() -> list[type]:
    """Have Nova keep reservations from now on; again is no error.

    :returns: no host filters, which is what Nova asks for.
    """
    for option in OPTIONS:
        CONF.register_opt(as_oslo(option), group=option.group)
    required, forbidden = _prefixes()
    try:
        _probe()
        if required or forbidden:
            _aggregates(nova_context.get_admin_context(), (required, *forbidden))
    except (AttributeError, TypeError) as error:
        raise PluginError(
            f'reservations cannot be kept: this Nova has other request filters ({error}); take '
            f'{__name__} out of available_filters, and reserved hosts are open to everybody'
        ) from error
    if keep_reservations not in request_filter.ALL_REQUEST_FILTERS:
        request_filter.ALL_REQUEST_FILTERS.append(keep_reservations)
    if required or forbidden:
        LOG.info('reservations: required prefix %r, forbidden prefixes %r', required, forbidden)
    else:
        LOG.warning('reservations: no prefix is set in [scheduler], so nothing is reserved')
    return []


def keep_reservations(context: Any, spec: Any) -> bool:
    """Put the aggregates that this request must, and must not, use into its destination.

    :param spec: Nova's RequestSpec.
    :returns: whether anything is kept for anybody, as Nova's own request filters do.
    """
    required, forbidden = _prefixes()
    if not (required or forbidden):
        return False
    try:
        member_of = constrain(
            _keys(spec),
            _aggregates(context, (required, *forbidden)),
            required_prefix=required,
            forbidden_prefixes=forbidden,
        )
    except InvalidSpec as error:
        raise RequestFilterFailed(reason=str(error)) from error
    if member_of:
        if 'requested_destination' not in spec or spec.requested_destination is None:
            spec.requested_destination = objects.Destination()
        for any_of in member_of.required:
            spec.requested_destination.require_aggregates(sorted(any_of))
        if member_of.forbidden:
            spec.requested_destination.append_forbidden_aggregates(set(member_of.forbidden))
    LOG.info('flavor %s: member_of=%s', spec.flavor.name, '&member_of='.join(member_of.to_query()))
    return True


def _prefixes() -> tuple[str, tuple[str, ...]]:
    """The required prefix and the forbidden ones; '' and () are none."""
    values = CONF[REQUIRED_PREFIX.group]
    return values[REQUIRED_PREFIX.dest] or '', tuple(filter(None, values[FORBIDDEN_PREFIXES.dest]))


def _keys(spec: Any) -> list[str]:
    """The keys of the flavor, and the traits that the image requires."""
    keys = list(spec.flavor.extra_specs)
    image = spec.image if 'image' in spec else None
    if image is not None and 'properties' in image and 'traits_required' in image.properties:
        keys += [f'{TRAIT}{trait}' for trait in image.properties.traits_required]
    return keys


@database.context_manager.reader  # type: ignore[untyped-decorator]
def _aggregates(context: Any, prefixes: Sequence[str]) -> list[Aggregate]:
    """The aggregates with a key that begins with one of the prefixes, with these keys only.

    Nova's AggregateList reads the hosts of all aggregates as well: 100 aggregates of 100 hosts take
    it more than a second, and this a few milliseconds. Not for keeping: a new reservation counts
    from the next request on.
    """
    carried, asked = models.AggregateMetadata, filter(None, prefixes)
    rows = (
        context.session.query(models.Aggregate.uuid, carried.key)
        .join(carried, carried.aggregate_id == models.Aggregate.id)
        .filter(reduce(or_, (carried.key.startswith(each, autoescape=True) for each in asked)))
    )
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for uuid, key in rows:
        found[uuid][key] = ''
    return [Aggregate(uuid, uuid, metadata=keys) for uuid, keys in found.items()]


def _probe() -> None:
    """Raise unless this Nova runs the filters in its list, and a destination takes aggregates."""
    asked: list[tuple[Any, Any]] = []
    listed = request_filter.ALL_REQUEST_FILTERS
    kept = list(listed)
    listed[:] = [lambda context, spec: asked.append((context, spec))]
    try:
        request_filter.process_reqspec('context', 'request')
    finally:
        listed[:] = kept
    if asked != [('context', 'request')]:
        raise TypeError('process_reqspec does not run ALL_REQUEST_FILTERS')
    destination = objects.Destination()
    destination.require_aggregates(['a'])
    destination.append_forbidden_aggregates({'b'})
    if (destination.aggregates, destination.forbidden_aggregates) != (['a'], {'b'}):
        raise TypeError('a destination takes no aggregates')
