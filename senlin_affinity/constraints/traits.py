"""Require the traits of the flavor and the image, and exclude hosts with forbidden traits.

Source: Nova's guides to flavors (``trait:NAME=required|forbidden``, also in numbered groups) and to
images (``trait:NAME=required``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    ChangedHosts,
    Constraint,
    Data,
    Evaluated,
    Host,
    Reason,
    ResolvedRequest,
    Switch,
    Verdict,
)
from senlin_affinity.model.flavor import Demand
from senlin_affinity.nova import root_traits
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.isolated_aggregates import REQUIRED
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES
from senlin_affinity.nova.placement_answer import placement_answer

_KEY = re.compile(r'trait[a-zA-Z0-9_-]{0,64}:')
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
_READ = ('traits', 'is_nested', 'is_partial', 'resources', 'grants')


class TraitsConstraint(Constraint):
    """The required and forbidden traits."""

    name = 'traits'
    order = 80
    summary = 'the host has the traits that the flavor and the image require'
    needs = ('hosts', 'flavors')
    is_host_specific = False
    uses_resources = False
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
            advice='use hosts with the traits that are missing, or another flavor',
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

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Check the required and forbidden traits of the flavor and the image.

        SKIP ``none`` without any; REJECT ``missing`` or ``forbidden``; ``unknown`` without flavor,
        if a missing or forbidden trait may be unlisted, and for a forbidden trait of a nested host.
        Otherwise, and with a grant, PASS ``present``: at most if the host is nested without a
        grant, or if Nova may require an unknown trait. PASS ``no_owner``, at most, if the host
        lacks OWNER_NOVA and Nova may require it.
        """
        verdict = self._of_traits(resolved, host)
        if verdict and verdict.bounds.is_known and root_traits.may_lack_owner(resolved, host):
            return Verdict.passed('traits.no_owner', is_at_most=True)
        return verdict

    def _of_traits(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return the verdict of ``check_host``, without regard to OWNER_NOVA."""
        asked = resolved.memo(_demand)
        if asked is None:
            return Verdict.unknown('traits.unknown')
        is_open = resolved.memo(root_traits.is_open)
        if not (asked.required or asked.forbidden or is_open):
            return Verdict.skipped('traits.none')
        required = ', '.join(sorted(asked.required)) or '(none)'
        if host.grant(resolved.memo(placement_answer).query) is not None:
            return Verdict.passed('traits.present', is_at_most=is_open, required=required)
        missing = asked.required - host.traits
        unwanted = asked.forbidden & host.traits
        if missing and not _may_have_more(asked, host):
            return Verdict.rejected('traits.missing', missing=', '.join(sorted(missing)))
        if unwanted and not host.is_nested:
            return Verdict.rejected('traits.forbidden', unwanted=', '.join(sorted(unwanted)))
        if missing or unwanted or (asked.forbidden and _may_have_more(asked, host)):
            return Verdict.unknown('traits.unknown')
        is_at_most = host.is_nested or is_open
        return Verdict.passed('traits.present', is_at_most=is_at_most, required=required)

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption | Switch]:
        """Yield an assumption and the option for each that would make Nova require a trait.

        Nothing for an explicit option, nor if all hosts have the traits.
        """
        hosts = resolved.snapshot.hosts or ()
        for option in self.options:
            traits = root_traits.of_image(resolved, option)
            is_open = traits and not resolved.rules.is_explicit(option)
            if is_open and not all(traits <= host.traits for host in hosts):
                yield from (_NOT_ASKED[option.key], option)

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return the fields; () without traits to check, and without hosts that have OWNER_NOVA."""
        asked, traits = resolved.memo(_demand), resolved.memo(root_traits.of_hosts)
        is_asked = asked is not None and (asked.required or asked.forbidden)
        return _READ if is_asked or root_traits.OWNER in traits else ()

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterator[Change]:
        """Yield one change to hosts that have all required custom traits, perhaps to none.

        A nested host, and one that lacks a standard trait, is left out.
        """
        asked = resolved.memo(_demand)
        required = frozenset() if asked is None else asked.required
        hosts = tuple(
            host
            for host in evaluation.rejected
            if not host.is_nested and all(map(_is_custom, required - host.traits))
        )
        traits = sorted(filter(_is_custom, required))
        yield ChangedHosts(
            'host_traits',
            f'{{hosts}} with {", ".join(traits)} {{are}} needed',
            {'host_traits': {'traits': traits, 'hosts': []}},
            hosts=hosts,
            lists=((('host_traits', 'hosts'), frozenset(host.host for host in hosts)),),
        )

    def without(self, resolved: ResolvedRequest) -> Data:
        """Return the change that removes the required traits from the flavor and the image.

        ``{'removed_extra_specs': ['trait:CUSTOM_A']}``, and ``removed_image_properties`` if any.
        """
        of_image = _asking(resolved.image_properties or {})
        data = {'removed_extra_specs': _asking(resolved.extra_specs)}
        return data | ({'removed_image_properties': of_image} if of_image else {})


def _demand(resolved: ResolvedRequest) -> Demand | None:
    """Return the demand, with the root provider's traits; None without a flavor."""
    asked = demand_of(resolved)
    return asked and replace(asked, required=asked.required | root_traits.required(resolved))


def _is_custom(trait: str) -> bool:
    return trait.startswith('CUSTOM_')


def _asking(values: Mapping[str, str]) -> list[str]:
    """Return the sorted keys with the value ``required``, such as ``trait:CUSTOM_A``."""
    return sorted(key for key in values if _KEY.match(key) and values[key] == REQUIRED)


def _may_have_more(demand: Demand, host: Host) -> bool:
    """Check whether the host may have unlisted traits.

    True without traits if it has no resources or is partial, and for a partial host with resources
    that lacks a requested class.
    """
    if not host.resources:
        return not host.traits
    return host.is_partial and (
        not host.traits or any(name not in host.resources for name in demand.amounts)
    )
