"""Reservations as Nova keeps them: the options of this project, and what is asked of Placement.

Nova asks by them where this project's request filter runs (``reservations_enforced_by``). Where it
isolates aggregates, it may keep them by those instead, and asks for less.

Source: document 001, "Developer impact", and :mod:`senlin_affinity.core.reservations`.
"""

from __future__ import annotations

from senlin_affinity.core.aggregates import isolation
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.nova_options import ISOLATION
from senlin_affinity.core.objects import ResolvedRequest, Rules
from senlin_affinity.core.options import Option
from senlin_affinity.core.reservations import constrain

_GROUP = 'scheduler'
REQUIRED_PREFIX = Option(
    'required_member_prefix',
    None,
    'How the metadata keys of reservations begin. A flavor or an image with such a key '
    'goes only to hosts of an aggregate that carries the same key.',
    'placement_req_required_member_prefix',
    _GROUP,
)
FORBIDDEN_PREFIXES = Option(
    'forbidden_member_prefixes',
    (),
    'How the metadata keys begin that keep an aggregate free of every server whose '
    'flavor and image have no key that begins like that.',
    'placement_req_default_forbidden_member_prefix',
    _GROUP,
)
PINNING, NOVA = 'pinning', 'nova'
ENFORCED_BY = Option(
    'reservations_enforced_by',
    PINNING,
    'Who keeps servers off the hosts of a reservation that is not theirs: pinning, where the '
    'policy chooses the host of every node, or nova, where nova-scheduler does so for every server '
    'of the cloud, by the request filter of senlin-affinity or by isolated aggregates.',
    pattern=f'^({PINNING}|{NOVA})$',
)


def are_kept(rules: Rules) -> bool:
    """Are there reservations?"""
    return bool(rules.value(REQUIRED_PREFIX) or any(rules.value(FORBIDDEN_PREFIXES)))


def are_asked_by_nova(rules: Rules) -> bool:
    """Does Nova ask Placement for the aggregates of reservations?

    Where it isolates aggregates as well, those may be all that it asks for.
    """
    return are_kept(rules) and rules.value(ENFORCED_BY) == NOVA and not rules.value(ISOLATION)


def counting(resolved: ResolvedRequest) -> tuple[str, ...]:
    """The keys of flavor and image that count; Nova drops those of an image but its traits."""
    specs = {} if resolved.flavor is None else resolved.flavor.extra_specs
    image = resolved.image_properties or {}
    if resolved.option(ENFORCED_BY) == NOVA:
        image = {f'{isolation.TRAIT}{trait}': '' for trait in isolation.traits_in(image)}
    return (*specs, *image)


def asked_by_nova(resolved: ResolvedRequest) -> MemberOf:
    """What Nova asks Placement for; an image that is not known may open what is forbidden.

    Errors: InvalidSpec, for what Nova refuses before it asks.
    """
    if resolved.snapshot.aggregates is None or not are_asked_by_nova(resolved.rules):
        return MemberOf()
    is_image_known = resolved.image_properties is not None
    return constrain(
        counting(resolved),
        resolved.snapshot.aggregates,
        required_prefix=resolved.option(REQUIRED_PREFIX),
        forbidden_prefixes=resolved.option(FORBIDDEN_PREFIXES) if is_image_known else (),
    )
