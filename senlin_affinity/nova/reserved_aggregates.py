"""Compute the aggregates of reservations that Nova requires or forbids, according to the options.

Nova does so if it runs this project's request filter (``reservations_enforced_by``). If it isolates
aggregates, it may implement reservations by isolation instead, and then requires less.
"""

from __future__ import annotations

from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import ResolvedRequest, Rules
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


def reserved_prefixes(rules: Rules) -> tuple[str, ...]:
    """Return the prefixes of the keys of reservations; () if none is set."""
    return tuple(filter(None, (rules.value(REQUIRED_PREFIX), *rules.value(FORBIDDEN_PREFIXES))))


def are_images_read(rules: Rules) -> bool:
    """Return whether the image can have the key of a reservation."""
    return bool(reserved_prefixes(rules)) and not rules.value(FLAVORS_ONLY)


def pins_reserved(rules: Rules) -> bool:
    """Return whether only the choice of every node's host enforces reservations."""
    return bool(reserved_prefixes(rules)) and rules.value(ENFORCED_BY) != NOVA


def reads_images(rules: Rules) -> bool:
    """Return whether image properties count in addition to the flavor's extra specs."""
    return are_images_read(rules) or bool(rules.value(ISOLATION))


def is_nova_keeping(rules: Rules) -> bool:
    """Return whether Nova itself enforces reservations, by a request filter or by isolation."""
    return bool(reserved_prefixes(rules)) and bool(rules.value(ENFORCED_BY) == NOVA)


def are_asked_by_nova(rules: Rules) -> bool:
    """Return whether Nova certainly adds the aggregates of reservations to its query.

    False if it also isolates aggregates.
    """
    return is_nova_keeping(rules) and not rules.value(ISOLATION)


def counting(resolved: ResolvedRequest) -> tuple[str, ...]:
    """Return the keys of the flavor and of the image that may be reservations.

    If Nova enforces reservations, the keys of an image are its required traits only.
    """
    specs = resolved.extra_specs
    if resolved.option(FLAVORS_ONLY):
        return (*specs,)
    image = resolved.image_properties or {}
    if resolved.option(ENFORCED_BY) == NOVA:
        image = {f'{TRAIT}{trait}': '' for trait in isolated_aggregates.traits_in(image)}
    return (*specs, *image)


def asked_by_nova(resolved: ResolvedRequest) -> MemberOf:
    """Return the aggregates of reservations in Nova's query.

    If the image is unknown, nothing is forbidden, because the image may have the key. Raise
    InvalidSpec if Nova rejects the request before it queries Placement.
    """
    if resolved.snapshot.aggregates is None or not are_asked_by_nova(resolved.rules):
        return MemberOf()
    is_image_known = not are_images_read(resolved.rules) or resolved.image_properties is not None
    return constrain(
        counting(resolved),
        resolved.snapshot.aggregates,
        required_prefix=resolved.option(REQUIRED_PREFIX),
        forbidden_prefixes=resolved.option(FORBIDDEN_PREFIXES) if is_image_known else (),
    )
