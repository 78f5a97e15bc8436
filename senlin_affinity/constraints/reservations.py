"""Aggregates that are kept for some: reserved, isolated by a trait, or a tenant's own.

Source: document 001's flow, by this project's options, and Nova's request filters
``isolate_aggregates`` and ``require_tenant_aggregate``, where the options that mirror nova.conf say
that Nova runs them. What can not be met anywhere is said on every host.

An image that is not known may require any trait, and open an isolated host. A reserved one stays
closed: nobody behind this rule looks at the prefixes again, while Nova looks at the traits.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Data,
    Host,
    Kind,
    OpenAssumption,
    Reason,
    Replanner,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.core.aggregates import isolation
from senlin_affinity.core.aggregates import membership as aggregates
from senlin_affinity.core.aggregates.reserved import ENFORCED_BY as ENFORCED_BY
from senlin_affinity.core.aggregates.reserved import FORBIDDEN_PREFIXES as FORBIDDEN_PREFIXES
from senlin_affinity.core.aggregates.reserved import NOVA, are_asked_by_nova, are_kept, counting
from senlin_affinity.core.aggregates.reserved import REQUIRED_PREFIX as REQUIRED_PREFIX
from senlin_affinity.core.answered import answered
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.nova_options import ISOLATION as ISOLATION
from senlin_affinity.core.nova_options import TENANT_AGGREGATE as TENANT_AGGREGATE
from senlin_affinity.core.nova_options import TENANTS as TENANTS
from senlin_affinity.core.objects import Rules
from senlin_affinity.core.planning import more_hosts, other_flavors
from senlin_affinity.core.reservations import carriers, constrain, reservations
from senlin_affinity.core.verdict import Outcome

ADMITTED = 'reservations.admitted'
RESERVED = 'reservations.reserved'
NOT_RESERVED = 'reservations.not_reserved'
NO_RESERVATION = 'reservations.no_reservation'
ISOLATED = 'reservations.isolated'
OTHER_TENANT = 'reservations.other_tenant'
NOT_MIRRORED = 'reservations.not_mirrored'
UNKNOWN = 'reservations.unknown'

NO_IMAGE_RESERVED = OpenAssumption('reservations.image', 'an image without a reservation')


@dataclass(frozen=True)
class _Part:
    """What one of the three flows asks, and the codes of a host that does not keep to it.

    ``opens`` is what is not known, and might let the request in where it is forbidden;
    ``is_mirrored`` says that Nova asks Placement for what is required.
    """

    member_of: MemberOf
    forbidden: str = ''
    required: str = ''
    opens: str = ''
    facts: Mapping[str, str] = field(default_factory=dict)
    is_mirrored: bool = False

    def check(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Does a host keep to it? The aggregates are known here, and so are the host's."""
        if self.opens and self.member_of.forbidden & host.aggregates:
            return Verdict.unknown(UNKNOWN, missing=self.opens)
        if self.forbidden == ISOLATED and _is_granted(resolved, host):
            return Verdict.passed(ADMITTED)
        required = self.member_of.required if self.is_mirrored else ()
        lost = [aggregates.unmirrored(host, any_of) for any_of in required]
        if any(lost):
            names = aggregates.names(resolved, frozenset().union(*lost))
            return Verdict.rejected(NOT_MIRRORED, aggregates=names)
        codes = ADMITTED, self.forbidden, self.required
        return aggregates.check(resolved, host, self.member_of, codes, **self.facts)


class ReservationsConstraint:
    """Reservations by prefix, isolated aggregates, and aggregates of tenants."""

    name = 'reservations'
    order = 50
    summary = 'reserved, isolated and tenant aggregates only for those whom they are kept for'
    needs = ('aggregates', 'flavors', 'hosts')
    is_by_name = False
    is_by_resources = False
    is_lasting = True
    #: Nova's request filters are no scheduler filters: enabled_filters does not switch them.
    filters: tuple[str, ...] = ()
    options = REQUIRED_PREFIX, FORBIDDEN_PREFIXES, ENFORCED_BY, ISOLATION, TENANTS, TENANT_AGGREGATE
    reasons: ClassVar[Mapping[str, Reason]] = {
        ADMITTED: Reason('is kept for nobody else'),
        RESERVED: Reason(
            'is in {aggregates}, which is reserved',
            advice='use a flavor or an image with the reservation, or add a host that is not '
            'reserved',
        ),
        NOT_RESERVED: Reason(
            'is not in {aggregates}, which is what {reservation} reserves',
            advice='add hosts to the aggregate of the reservation',
        ),
        NO_RESERVATION: Reason(
            'no aggregate carries the reservation {reservation}',
            advice='give an aggregate the key of the reservation, or take the key out of the '
            'flavor and the image',
        ),
        ISOLATED: Reason(
            'is in {aggregates}, which is isolated by traits that the request does not require',
            advice='use a flavor or an image that requires the traits, or add a host elsewhere',
        ),
        OTHER_TENANT: Reason(
            'is not in {aggregates}, and project {project} may use nothing else',
            advice='add the host to an aggregate of the project',
        ),
        NOT_MIRRORED: Reason(
            'is in {aggregates}, and Placement does not have it there',
            advice='run "nova-manage placement sync_aggregates"',
        ),
        **isolation.REASONS,
        UNKNOWN: Reason('what is kept for whom can not be told: {missing} not known'),
        'reservations.none': Reason('no aggregate is kept for anybody'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        verdicts = [
            part if isinstance(part, Verdict) else part.check(resolved, host)
            for part in resolved.once(_parts)
        ]
        if not verdicts:
            return Verdict.skipped('reservations.none')
        # What is not known may not hide a refusal.
        worst = (Outcome.REJECT, Outcome.SKIP, Outcome.PASS)
        return min(verdicts, key=lambda verdict: worst.index(verdict.outcome))

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('aggregates', 'unmirrored', 'grants') if resolved.once(_parts) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The aggregates that are kept for somebody, as far as the host is in them."""
        parts = resolved.once(_parts)
        asked = [part.member_of for part in parts if isinstance(part, _Part)]
        shape = aggregates.shape(resolved, host, *asked) if asked else None
        if resolved.option(ISOLATION) and host.aggregates:
            shape = shape, _is_granted(resolved, host)
        return (shape, host.unmirrored) if host.unmirrored else shape

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """That an image which is not known has no reservation: one could open hosts as well.

        And what nobody told of Nova's request filters.
        """
        if are_kept(resolved.rules) and resolved.image_properties is None:
            yield NO_IMAGE_RESERVED
        yield from isolation.assumed(resolved)

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts put into an aggregate of those who ask, or none of a reservation that is nobody's.

        Whatever is kept for others stays theirs.
        """
        resolved = planner.resolved
        parts = [part for part in resolved.once(_parts) if isinstance(part, _Part)]
        own = frozenset().union(*(any_of for part in parts for any_of in part.member_of.required))
        found = more_hosts.joined(planner, self.name, own, kept_for_others(resolved))
        if found is not None:
            yield planner.change('aggregate_hosts', found[0], *found[1])
        if any(row.code == NO_RESERVATION for row in planner.now.table.used):
            keys = reservations(_keys(resolved), resolved.option(REQUIRED_PREFIX))
            data, flavor = other_flavors.named(resolved, _removed(resolved, keys))
            change = f'without the reservation {", ".join(keys)}{flavor}'
            size, then = planner.wanted, planner.plan(data)
            yield planner.change('no_reservation', change, size, then, kind=Kind.GIVEN_UP)


def _removed(resolved: ResolvedRequest, keys: Collection[str]) -> Data:
    """What takes these keys out of the flavor and the image that have them."""
    specs = {} if resolved.flavor is None else resolved.flavor.extra_specs
    held = {
        'removed_extra_specs': [key for key in keys if key in specs],
        'removed_image_properties': [
            key for key in keys if key in (resolved.image_properties or ())
        ],
    }
    return {name: found for name, found in held.items() if found}


def _is_granted(resolved: ResolvedRequest, host: Host) -> bool:
    """Does Placement, which was asked to leave out what is isolated, answer with the host?"""
    if host.grants is None or resolved.image_properties is None:
        return False
    grant = host.grant(resolved.once(answered).query)
    return grant is not None and grant.room > 0


def kept_for_others(resolved: ResolvedRequest) -> frozenset[str]:
    """The aggregates that are not for those who ask: reserved, isolated, or another tenant's."""
    prefixes = (resolved.option(REQUIRED_PREFIX), *resolved.option(FORBIDDEN_PREFIXES))
    reserved = tuple(prefix for prefix in prefixes if prefix)
    asked, specs = _keys(resolved), {} if resolved.flavor is None else resolved.flavor.extra_specs
    traits = isolation.required_traits(specs, resolved.image_properties)
    return frozenset(
        each.uuid
        for each in resolved.snapshot.aggregates or ()
        if any(key.startswith(reserved) and key not in asked for key in each.metadata)
        or not isolation.traits_in(each.metadata) <= traits
        or _is_of_others(isolation.tenants(each.metadata), resolved.project_id)
    )


def _is_of_others(tenants: Collection[str], project: str | None) -> bool:
    """Is an aggregate for some projects, and this is none of them?"""
    return bool(tenants) and project not in tenants


def _keys(resolved: ResolvedRequest) -> tuple[str, ...]:
    specs = {} if resolved.flavor is None else resolved.flavor.extra_specs
    return (*specs, *(resolved.image_properties or ()))


def pins_reserved(rules: Rules) -> bool:
    """Are there reservations, which nothing but a chosen host keeps to?"""
    return are_kept(rules) and rules.value(ENFORCED_BY) != NOVA


def reads_images(rules: Rules) -> bool:
    """Do the properties of the image count, beside the extra specs of the flavor?"""
    return are_kept(rules) or bool(rules.value(ISOLATION))


def _parts(resolved: ResolvedRequest) -> tuple[_Part | Verdict, ...]:
    """What the flows that are switched on ask of every host; a Verdict is about all of them."""
    flows = (
        (are_kept(resolved.rules), _reservations),
        (resolved.option(ISOLATION), _isolation),
        (resolved.option(TENANTS), _tenant),
    )
    return tuple(flow(resolved) for is_on, flow in flows if is_on)


def _reservations(resolved: ResolvedRequest) -> _Part | Verdict:
    flavor, known = resolved.flavor, resolved.snapshot.aggregates
    if flavor is None or known is None:
        return _unknown(flavor=flavor, aggregates=known)
    required = resolved.option(REQUIRED_PREFIX)
    keys = counting(resolved)
    asked = reservations(keys, required)
    missing = [key for key in asked if not carriers(key, known)]
    if missing:
        return Verdict.rejected(NO_RESERVATION, reservation=', '.join(missing))
    forbidden = resolved.option(FORBIDDEN_PREFIXES)
    member_of = constrain(keys, known, required_prefix=required, forbidden_prefixes=forbidden)
    facts, is_mirrored = {'reservation': ', '.join(asked)}, are_asked_by_nova(resolved.rules)
    return _Part(member_of, RESERVED, NOT_RESERVED, facts=facts, is_mirrored=is_mirrored)


def _isolation(resolved: ResolvedRequest) -> _Part | Verdict:
    flavor, known = resolved.flavor, resolved.snapshot.aggregates
    if flavor is None or known is None:
        return _unknown(flavor=flavor, aggregates=known)
    image = resolved.image_properties
    traits = isolation.required_traits(flavor.extra_specs, image)
    opens = 'image' if image is None else ''
    return _Part(isolation.isolate(traits, known), forbidden=ISOLATED, opens=opens)


def _tenant(resolved: ResolvedRequest) -> _Part | Verdict:
    known, project = resolved.snapshot.aggregates, resolved.project_id
    if project is None or known is None:
        return _unknown(project=project, aggregates=known)
    is_required = resolved.option(TENANT_AGGREGATE)
    asked = isolation.limit_to_tenant(project, known, is_aggregate_required=is_required)
    if isinstance(asked, Verdict):
        return asked
    return _Part(asked, required=OTHER_TENANT, facts={'project': project}, is_mirrored=True)


def _unknown(**parts: object) -> Verdict:
    """Nothing can be told, since some of these parts of the question are None."""
    missing = ' and '.join(name for name, value in parts.items() if value is None)
    return Verdict.unknown(UNKNOWN, missing=missing)
