"""The zone that Nova holds the servers of a request to: the one that is asked for, or its default.

Source: nova-api puts nova.conf's ``default_schedule_zone`` into every request that names no zone,
and refuses all of them where no enabled service is in that zone. A server that is sent to a host,
or into a zone of a spread, names the zone of its host.
"""

from __future__ import annotations

from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.options import Option
from senlin_affinity.core.spread import ZONE

DEFAULT_SCHEDULE_ZONE = Option(
    'default_schedule_zone',
    None,
    "The zone of servers that ask for none; as in nova.conf's [DEFAULT].",
    nova='DEFAULT',
)


def wanted_zone(resolved: ResolvedRequest) -> str | None:
    """The zone; None: the servers may go into any."""
    asked = resolved.request.availability_zone
    if asked is not None or is_of_host(resolved):
        return asked
    zone: str | None = resolved.option(DEFAULT_SCHEDULE_ZONE)
    return zone or None


def is_of_host(resolved: ResolvedRequest) -> bool:
    """Does every server name the zone of the host, or of the zones, that are planned for it?"""
    return resolved.rules.is_pinned or any(item.by == ZONE for item in resolved.request.spread)
