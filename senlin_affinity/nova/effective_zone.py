"""Determine the zone that Nova restricts a request to: its own, or the default of nova.conf.

A server that is sent to a host, or into a zone of a spread, names the zone of its host. Nova
rejects all requests for a zone without an enabled service.

An administrator may name a host: ``zone:host``, ``zone:host:node`` or ``zone::node``. Nova then
ignores another zone than that of the host (for a node alone, than the default one), and runs no
filter.

Source: nova-api's ``parse_availability_zone`` and ``_validate_host_availability_zone``.
"""

from __future__ import annotations

from typing import NamedTuple

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.spread import ZONE

DEFAULT_SCHEDULE_ZONE = Option(
    'default_schedule_zone',
    None,
    'The zone for requests without a zone. Use the value in section [DEFAULT] of nova.conf.',
    nova='DEFAULT',
)
DEFAULT_AVAILABILITY_ZONE = Option(
    'default_availability_zone',
    'nova',
    'The zone of hosts without a zone. Use the value in section [DEFAULT] of nova.conf.',
    nova='DEFAULT',
)
ZONE_QUERY = Option(
    'query_placement_for_availability_zone',
    True,
    'Whether Nova requests only hosts in the aggregates of the zone, as Nova 29 and later always '
    'do. Use the value in section [scheduler] of nova.conf.',
    nova='scheduler',
)
#: A filter of older releases of Nova, which compares the names of zones.
ZONE_FILTER = 'AvailabilityZoneFilter'


class Target(NamedTuple):
    """The zone, the host and the node (hypervisor) that a request names; None: any."""

    zone: str | None = None
    host: str | None = None
    node: str | None = None

    @classmethod
    def parse(cls, text: str | None) -> Target:
        """Split an ``availability_zone``; raise InvalidSpec for more than two colons.

        'az' is ('az', None, None), 'az:h' ('az', 'h', None), 'az::n' ('az', None, 'n').
        """
        parts = (text or '').split(':')
        if len(parts) > 3:
            words = f'must be ZONE, ZONE:HOST, ZONE:HOST:NODE or ZONE::NODE, not {text!r}'
            raise InvalidSpec(words, 'availability_zone')
        return cls(*(part or None for part in parts))

    @property
    def is_forced(self) -> bool:
        """Whether it names a host or a node."""
        return bool(self.host or self.node)


def wanted_zone(request: Request) -> str | None:
    """Return the zone of the request, or else the default; None if any zone is allowed."""
    asked = request.availability_zone
    if asked is not None or is_of_host(request) or request.is_forced:
        return asked
    zone: str | None = request.option(DEFAULT_SCHEDULE_ZONE)
    return zone or None


def is_of_host(request: Request) -> bool:
    """Check whether every server names the zone of its planned host, or of its planned spread."""
    return request.is_pinned or any(item.by == ZONE for item in request.spread)


def zones_held_to(request: Request, cloud: Cloud) -> tuple[str, ...]:
    """Return the zones that Nova may hold a server of the request to, sorted.

    One, if the request or nova.conf names it; all that aggregates carry, if each server names the
    zone of its host; else none.
    """
    wanted = wanted_zone(request)
    if wanted is not None:
        return (wanted,)
    return (*sorted(cloud.zones.carried_by),) if is_of_host(request) else ()


def is_hard_spread(request: Request) -> bool:
    """Check whether Nova chooses the hosts, each in the zone that a hard spread plans."""
    spread = any(item.by == ZONE and item.is_hard for item in request.spread)
    return spread and not request.is_pinned


def default_zone(request: Request, cloud: Cloud) -> str | None:
    """Return the zone for which Nova may use a host of any zone, or None if there is no such zone.

    No aggregate carries Nova's default zone, so Nova does not restrict a request for it. If the
    aggregates are unknown, its name is the value of the option. The result is None if the hosts are
    pinned, if a filter compares the names of zones, or if no other zone is available.
    """
    if request.is_pinned or request.is_enforced(ZONE_FILTER):
        return None
    zones = {zone for zone, _aggregates in cloud.places if zone is not None}
    zones |= cloud.availability_zones or set()
    name = cloud.zones.default
    if cloud.hosts is None or cloud.aggregates is None:
        name = str(request.option(DEFAULT_AVAILABILITY_ZONE))
    return name if name in zones and zones - cloud.unavailable_zones - {name} else None
