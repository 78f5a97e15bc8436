"""Compute the aggregates of reservations that Nova requires or forbids, according to the options.

Nova does so if it runs this project's request filter (``reservations_enforced_by``). If it isolates
aggregates, it may implement reservations by isolation instead, and then requires less.
"""

from __future__ import annotations

from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import isolated_aggregates
from senlin_affinity.nova.options import ISOLATION
from senlin_affinity.nova.reservations import (
    ENFORCED_BY,
    FLAVORS_ONLY,
    FORBIDDEN_PREFIXES,
    NOVA,
    REQUIRED_PREFIX,
    TRAIT,
    constrain,
)


def reserved_prefixes(settings: Settings) -> tuple[str, ...]:
    """Return the prefixes of the keys of reservations; () if none is set."""
    return tuple(
        filter(None, (settings.value(REQUIRED_PREFIX), *settings.value(FORBIDDEN_PREFIXES)))
    )


def are_images_read(settings: Settings) -> bool:
    """Return whether the image can have the key of a reservation."""
    return bool(reserved_prefixes(settings)) and not settings.value(FLAVORS_ONLY)


def pins_reserved(settings: Settings) -> bool:
    """Return whether only the choice of every node's host enforces reservations."""
    return bool(reserved_prefixes(settings)) and settings.value(ENFORCED_BY) != NOVA


def reads_images(settings: Settings) -> bool:
    """Return whether image properties count in addition to the flavor's extra specs."""
    return are_images_read(settings) or bool(settings.value(ISOLATION))


def is_nova_keeping(settings: Settings) -> bool:
    """Return whether Nova itself enforces reservations, by a request filter or by isolation."""
    return bool(reserved_prefixes(settings)) and bool(settings.value(ENFORCED_BY) == NOVA)


def are_asked_by_nova(settings: Settings) -> bool:
    """Return whether Nova certainly adds the aggregates of reservations to its query.

    False if it also isolates aggregates.
    """
    return is_nova_keeping(settings) and not settings.value(ISOLATION)


def counting(request: Request) -> tuple[str, ...]:
    """Return the keys of the flavor and of the image that may be reservations.

    If Nova enforces reservations, the keys of an image are its required traits only.
    """
    specs = request.extra_specs
    if request.option(FLAVORS_ONLY):
        return (*specs,)
    image = request.image_properties or {}
    if request.option(ENFORCED_BY) == NOVA:
        image = {f'{TRAIT}{trait}': '' for trait in isolated_aggregates.traits_in(image)}
    return (*specs, *image)


def asked_by_nova(request: Request, cloud: CloudSnapshot) -> MemberOf:
    """Return the aggregates of reservations in Nova's query.

    If the image is unknown, nothing is forbidden, because the image may have the key. Raise
    InvalidSpec if Nova rejects the request before it queries Placement.
    """
    if cloud.aggregates is None or not are_asked_by_nova(request.settings):
        return MemberOf()
    is_image_known = not are_images_read(request.settings) or request.image_properties is not None
    return constrain(
        counting(request),
        cloud.aggregates,
        required_prefix=request.option(REQUIRED_PREFIX),
        forbidden_prefixes=request.option(FORBIDDEN_PREFIXES) if is_image_known else (),
    )
