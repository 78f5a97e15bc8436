"""Only hosts with the traits that the flavor and the image require, and without the forbidden ones.

Source: the user guide of flavors (``trait:NAME=required|forbidden``, also in numbered groups) and
of images (``trait:NAME=required``). Placement enforces them, whatever filters run. In a tree of
several providers a forbidden trait may be that of a provider which gives nothing: not known.

Not known, either: what a host lacks where nothing says what it has (its resources are not known, or
it answered to none of the snapshot's queries), or where a provider that is not seen may give a part
of what the flavor asks for, with traits of its own. A trait that is listed there counts. Where
Placement itself grants what is asked for, the traits are there. At most: where Nova may require a
trait that is not known (the owner of a TPM's secret, an image's disk format).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    Data,
    Host,
    Reason,
    Replanner,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.core import root_traits
from senlin_affinity.core.aggregates.isolation import REQUIRED
from senlin_affinity.core.answered import answered
from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.flavor import Demand
from senlin_affinity.core.nova_options import IMAGE_METADATA, IMAGE_TYPES
from senlin_affinity.core.planning import more_hosts

_KEY = re.compile(r'trait[a-zA-Z0-9_-]{0,64}:')
NO_TYPES = Assumption(
    'traits.image_types', "a Nova that does not ask for hosts with the image's disk format"
)
NO_METADATA = Assumption(
    'traits.image_metadata',
    "a Nova that does not ask for hosts with the image's devices and architecture",
)
_NOT_ASKED = (IMAGE_TYPES, NO_TYPES), (IMAGE_METADATA, NO_METADATA)
_READ = ('traits', 'is_nested', 'is_partial', 'resources', 'grants')


class TraitsConstraint:
    """The traits of the flavor and the image."""

    name = 'traits'
    order = 80
    summary = 'only a host with the traits that the flavor and the image require'
    needs = ('hosts', 'flavors')
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = False
    is_in_placement = True
    may_be_given_up = True
    options = IMAGE_TYPES, IMAGE_METADATA
    reasons: ClassVar[Mapping[str, Reason]] = {
        'traits.present': Reason(
            'has the traits {required}',
            doubt='which provider has a trait, or what else Nova requires, is not known',
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
        'traits.none': Reason('no traits are asked for'),
        'traits.unknown': Reason('what the flavor requires here is not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        asked = resolved.once(_demand)
        if asked is None:
            return Verdict.unknown('traits.unknown')
        is_open = resolved.once(root_traits.is_open)
        if not (asked.required or asked.forbidden or is_open):
            return Verdict.skipped('traits.none')
        required = ', '.join(sorted(asked.required)) or '(none)'
        if host.grant(resolved.once(answered).query) is not None:
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

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """That Nova does not look at the image more closely, where some host could not take it."""
        hosts = resolved.snapshot.hosts or ()
        for option, assumption in _NOT_ASKED:
            traits = root_traits.of_image(resolved, option)
            is_open = traits and not resolved.rules.is_told(option)
            if is_open and not all(traits <= host.traits for host in hosts):
                yield assumption

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        asked = resolved.once(_demand)
        return _READ if asked is not None and (asked.required or asked.forbidden) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """Those of the traits that are asked about."""
        asked = resolved.once(_demand)
        if asked is None or not (asked.required or asked.forbidden):
            return None
        named = host.traits & (asked.required | asked.forbidden)
        is_granted = host.grant(resolved.once(answered).query) is not None
        return (named, host.is_nested, _may_have_more(asked, host), is_granted)

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts that are given the traits which are missing, if these are not a driver's."""
        asked = planner.resolved.once(_demand)
        required = frozenset() if asked is None else asked.required
        hosts = [
            host
            for host in more_hosts.refused(planner, self.name)
            if not host.is_nested and all(map(_is_custom, required - host.traits))
        ]
        traits = frozenset(filter(_is_custom, required))
        found = more_hosts.fewest(
            planner,
            hosts,
            lambda host: host.but(traits=host.traits | traits),
            lambda names: {'host_traits': {'traits': sorted(traits), 'hosts': names}},
        )
        if found is not None:
            change = f'{found.hosts} given {", ".join(sorted(traits))}'
            yield planner.change('host_traits', change, *found)

    def without(self, resolved: ResolvedRequest) -> Data:
        """What gives the rule up: a flavor, and an image, that require no trait.

        A forbidden one keeps hosts for others, such as licensed ones, and stays.
        """
        specs = {} if resolved.flavor is None else resolved.flavor.extra_specs
        of_image = _asking(resolved.image_properties or {})
        data = {'removed_extra_specs': _asking(specs)}
        return data | ({'removed_image_properties': of_image} if of_image else {})


def _demand(resolved: ResolvedRequest) -> Demand | None:
    """What is asked for, with the traits of the host itself."""
    asked = resolved.demand
    return asked and replace(asked, required=asked.required | root_traits.required(resolved))


def _is_custom(trait: str) -> bool:
    """All others are what Nova and the driver see on a host."""
    return trait.startswith('CUSTOM_')


def _asking(known: Mapping[str, str]) -> list[str]:
    """The keys that require traits."""
    return sorted(key for key in known if _KEY.match(key) and known[key] == REQUIRED)


def _may_have_more(asked: Demand, host: Host) -> bool:
    """May the host, or what gives it its resources, have traits that are not listed?"""
    if not host.resources:
        return not host.traits
    return host.is_partial and (
        not host.traits or any(name not in host.resources for name in asked.amounts)
    )
