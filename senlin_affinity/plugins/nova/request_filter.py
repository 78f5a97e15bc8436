"""Add the aggregates of reservations to nova-scheduler's request to Placement.

Before Nova sends the request, :mod:`senlin_affinity.nova.reservations` derives the required and
forbidden aggregates from the keys of the flavor, the image and the aggregates. They go into the
request's destination, as from Nova's own request filters, and so into ``member_of``.

Example, in nova.conf; ``install`` returns host filters, here none::

    [filter_scheduler]
    available_filters = nova.scheduler.filters.all_filters
    available_filters = senlin_affinity.plugins.nova.request_filter.install

    [scheduler]
    placement_req_required_member_prefix = reservation:
    placement_req_default_forbidden_member_prefix = reservation:

Raises: PluginError at startup if this Nova lacks the required interfaces, because reserved hosts
would be open to everyone. A reservation that no aggregate carries fails with "No valid host" and
the reason.

Source: https://blueprints.launchpad.net/nova/+spec/negative-aggregate-membership, "Developer
impact". Deviation: of an image only the required traits count, since Nova drops other keys. Any
user may create such an image, but the specification lets an image carry a reservation.
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

from senlin_affinity.conf.oslo_options import as_oslo
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import InvalidSpec, PluginError, in_words
from senlin_affinity.nova.reservations import (
    FLAVORS_ONLY,
    FORBIDDEN_PREFIXES,
    REQUEST_FILTER_OPTIONS,
    REQUIRED_PREFIX,
    TRAIT,
    constrain,
)
from senlin_affinity.plugins import plain_log

LOG = plain_log.get('senlin_affinity.plugins.nova_request_filter')

OPTIONS = REQUEST_FILTER_OPTIONS


def install() -> list[type]:
    """Install the request filter, once per process, and return no host filters."""
    for option in OPTIONS:
        CONF.register_opt(as_oslo(option), group=option.group)
    required, forbidden = _prefixes()
    try:
        _probe()
        if required or forbidden:
            _aggregates(nova_context.get_admin_context(), (required, *forbidden))
    except (AttributeError, TypeError) as error:
        raise PluginError(
            f'reservations cannot be enforced: this Nova has other request filters ({error}). If '
            f'you remove {__name__} from available_filters, every server may use reserved hosts'
        ) from error
    if keep_reservations not in request_filter.ALL_REQUEST_FILTERS:
        request_filter.ALL_REQUEST_FILTERS.append(keep_reservations)
    if required or forbidden:
        LOG.info('reservations: required prefix %r, forbidden prefixes %r', required, forbidden)
    else:
        LOG.warning('reservations: no prefix is set in [scheduler], so nothing is reserved')
    if not _is_of_flavors() and any(map(_is_of_traits, (required, *forbidden))):
        LOG.warning(
            'reservations: a prefix matches traits, so any user who may create an image that '
            "requires such a trait can use reserved hosts. Protect these properties in Glance's "
            'property_protection_file, or set [%s] %s = true',
            FLAVORS_ONLY.group,
            FLAVORS_ONLY.dest,
        )
    return []


def keep_reservations(context: Any, spec: Any) -> bool:
    """Add required and forbidden aggregates to the destination of a request.

    :param spec: Nova's RequestSpec.
    :returns: whether a prefix is set, as Nova's own request filters return.
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
        raise RequestFilterFailed(reason=in_words(error)) from error
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
    """Return the required prefix ('' for none) and the forbidden ones."""
    values = CONF[REQUIRED_PREFIX.group]
    return values[REQUIRED_PREFIX.dest] or '', tuple(filter(None, values[FORBIDDEN_PREFIXES.dest]))


def _is_of_flavors() -> bool:
    """Check whether only the keys of flavors count."""
    return bool(CONF[FLAVORS_ONLY.group][FLAVORS_ONLY.dest])


def _is_of_traits(prefix: str) -> bool:
    """Check whether a key with this prefix can be a trait, which an image may require."""
    return bool(prefix) and (prefix.startswith(TRAIT) or TRAIT.startswith(prefix))


def _keys(spec: Any) -> list[str]:
    """Return the keys of the flavor, and the traits that the image requires if they count."""
    keys = list(spec.flavor.extra_specs)
    image = spec.image if 'image' in spec and not _is_of_flavors() else None
    if image is not None and 'properties' in image and 'traits_required' in image.properties:
        keys += [f'{TRAIT}{trait}' for trait in image.properties.traits_required]
    return keys


@database.context_manager.reader  # type: ignore[untyped-decorator]
def _aggregates(context: Any, prefixes: Sequence[str]) -> list[Aggregate]:
    """Return the aggregates that have a key with one of the prefixes, with these keys only.

    Nova's AggregateList also reads the hosts, which takes more than a second for 100 aggregates of
    100 hosts. The result is not cached, so that a new reservation applies to the next request.
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
    """Raise TypeError or AttributeError unless this Nova has the interfaces of this module."""
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
