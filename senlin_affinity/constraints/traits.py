"""Require the traits of the flavor and the image, and exclude hosts with forbidden traits.

Source: Nova's guides to flavors (``trait:NAME=required|forbidden``, also in numbered groups) and to
images (``trait:NAME=required``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    ChangedHosts,
    Cloud,
    Constraint,
    Data,
    Evaluated,
    Host,
    Reason,
    Request,
    Switch,
    Verdict,
)
from senlin_affinity.nova import flavor_features
from senlin_affinity.nova.candidate_query import placement_answer
from senlin_affinity.nova.demand import demand_of, parts_of
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES
from senlin_affinity.nova.queried_aggregates import REQUIRED
from senlin_affinity.scenario.scenario import Scenario

NO_TYPES = Assumption(
    'traits.image_types', "a Nova that does not require hosts with the image's disk format"
)
NO_METADATA = Assumption(
    'traits.image_metadata',
    "a Nova that does not require hosts with the image's devices and architecture",
)
_NOT_ASKED: Mapping[str, Assumption] = {
    IMAGE_TYPES.key: NO_TYPES,
    IMAGE_METADATA.key: NO_METADATA,
}


class _Asked(NamedTuple):
    """The traits that a request requires and forbids, and its resource classes.

    ``is_open``: Nova may require a trait that is not known. ``may_need_owner``: it may require
    OWNER_NOVA. ``query`` is the query that Placement answered.
    """

    required: frozenset[str]
    forbidden: frozenset[str]
    classes: frozenset[str]
    is_open: bool
    may_need_owner: bool
    query: str | None

    @property
    def is_any(self) -> bool:
        """Return whether any trait is required or forbidden, except perhaps OWNER_NOVA."""
        return bool(self.required or self.forbidden or self.is_open)


class TraitsConstraint(Constraint):
    """The required and forbidden traits."""

    name = 'traits'
    order = 80
    summary = 'the host has the traits that the flavor and the image require'
    needs = ('hosts', 'flavors')
    reads = ('traits', 'is_nested', 'is_partial', 'resource_classes', 'granted')
    enforced_by_placement = True
    is_waivable = True
    options = IMAGE_TYPES, IMAGE_METADATA
    reasons: ClassVar[Mapping[str, Reason]] = {
        'traits.present': Reason(
            'has the traits {required}',
            caveat='which provider has a trait, or what else Nova requires, is not known',
        ),
        'traits.missing': Reason(
            'lacks {missing}',
            advice='use hosts with the traits that are missing, or another flavor or image',
            detail='missing',
        ),
        'traits.forbidden': Reason(
            'has {unwanted}, which the flavor forbids',
            advice='use hosts without the unwanted traits',
            detail='unwanted',
        ),
        'traits.no_owner': Reason(
            'lacks OWNER_NOVA, which other hosts have',
            caveat='it is not known whether Nova requires OWNER_NOVA, which a host lacks',
        ),
        'traits.none': Reason('neither the flavor nor the image requires or forbids traits'),
        'traits.unknown': Reason('it is not known whether the host has the required traits'),
    }

    def prepare(self, request: Request, cloud: Cloud) -> _Asked | Verdict:
        """Return the traits of the flavor and the image.

        About every host: ``unknown`` without flavor; SKIP ``none`` if Nova can require no trait.
        """
        demand = demand_of(request)
        if demand is None:
            return Verdict.unknown('traits.unknown')
        asked = _Asked(
            _required(request, cloud),
            demand.forbidden,
            frozenset(demand.amounts),
            is_open=flavor_features.is_open(request, cloud),
            may_need_owner=flavor_features.OWNER in cloud.traits_of_hosts,
            query=request.memo(placement_answer, cloud).query,
        )
        return asked if asked.may_need_owner or asked.is_any else Verdict.skipped('traits.none')

    def check(self, asked: _Asked, host: Host, cloud: Cloud) -> Verdict:
        """Check the required and forbidden traits of the flavor and the image.

        Without a grant: REJECT ``missing`` or ``forbidden``; ``unknown`` if a missing or forbidden
        trait may be unlisted, and for a forbidden trait of a nested host. Otherwise: PASS
        ``no_owner``, at most, if the host lacks OWNER_NOVA and Nova may require it; SKIP ``none``
        without any traits; PASS ``present``, at most if the host is nested without a grant, or if
        Nova may require an unknown trait.
        """
        is_granted = any(query == asked.query for query, _has_room in host.granted or ())
        if not is_granted:
            missing, unwanted = asked.required - host.traits, asked.forbidden & host.traits
            may_have_more = _may_have_more(asked, host)
            if missing and not may_have_more:
                return Verdict.rejected('traits.missing', missing=', '.join(sorted(missing)))
            if unwanted and not host.is_nested:
                return Verdict.rejected('traits.forbidden', unwanted=', '.join(sorted(unwanted)))
            if missing or unwanted or (asked.forbidden and may_have_more):
                return Verdict.unknown('traits.unknown')
        if asked.may_need_owner and host.traits and flavor_features.OWNER not in host.traits:
            return Verdict.passed('traits.no_owner', is_at_most=True)
        if not asked.is_any:
            return Verdict.skipped('traits.none')
        is_at_most = asked.is_open or (host.is_nested and not is_granted)
        required = ', '.join(sorted(asked.required)) or '(none)'
        return Verdict.passed('traits.present', is_at_most=is_at_most, required=required)

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption | Switch]:
        """Yield an assumption and the option for each that would make Nova require a trait.

        Nothing for an explicit option, nor if all hosts have the traits.
        """
        hosts = cloud.hosts or ()
        for option in self.options:
            traits = flavor_features.of_image(request, option)
            is_open = traits and not request.settings.is_explicit(option)
            if is_open and not all(traits <= host.traits for host in hosts):
                yield from (_NOT_ASKED[option.key], option)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield one change to hosts that have all required custom traits, perhaps to none.

        A nested host, and one that lacks a standard trait, is left out.
        """
        required = _required(request, scenario.cloud)
        hosts = tuple(
            host
            for host in evaluation.rejected
            if not host.is_nested and all(map(_is_custom, required - host.traits))
        )
        traits = sorted(filter(_is_custom, required))
        yield ChangedHosts(
            'host_traits',
            f'{{hosts}} with {", ".join(traits)} {{are}} needed (an existing host may get the '
            'trait only if it has the hardware)',
            {'host_traits': {'traits': traits, 'hosts': []}},
            hosts=hosts,
            lists=((('host_traits', 'hosts'), frozenset(host.host for host in hosts)),),
        )

    def without(self, request: Request) -> Data:
        """Return the change that removes the required traits from the flavor and the image.

        ``{'removed_extra_specs': ['trait:CUSTOM_A']}``, and ``removed_image_properties`` if any.
        """
        of_image = _asking(request.image_properties or {})
        data = {'removed_extra_specs': _asking(request.extra_specs)}
        return data | ({'removed_image_properties': of_image} if of_image else {})


def _required(request: Request, cloud: Cloud) -> frozenset[str]:
    """Return the required traits, with those of the root provider; none without a flavor."""
    demand = demand_of(request)
    return (
        frozenset()
        if demand is None
        else demand.required | flavor_features.root_required(request, cloud)
    )


def _is_custom(trait: str) -> bool:
    return trait.startswith('CUSTOM_')


def _asking(values: Mapping[str, str]) -> list[str]:
    """Return the sorted keys with the value ``required``, such as ``trait:CUSTOM_A``."""
    return sorted(key for key in values if parts_of(key)[0] == 'trait' and values[key] == REQUIRED)


def _may_have_more(asked: _Asked, host: Host) -> bool:
    """Check whether the host may have unlisted traits.

    True without traits if it has no resources or is partial, and for a partial host with resources
    that lacks a requested class.
    """
    if not host.resource_classes:
        return not host.traits
    return host.is_partial and not (host.traits and asked.classes.issubset(host.resource_classes))
