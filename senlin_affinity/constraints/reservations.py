"""Keep servers off aggregates that are reserved, isolated by traits, or assigned to other tenants.

Source: the reservation flow of Placement's specification "Support filtering by forbidden aggregate
membership"; Nova's request filters ``isolate_aggregates`` and ``require_tenant_aggregate``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Cloud,
    Constraint,
    Data,
    Evaluated,
    Host,
    Kind,
    OpenAssumption,
    Reason,
    Request,
    Switch,
    Verdict,
)
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.verdict import Outcome
from senlin_affinity.nova import aggregates, queried_aggregates
from senlin_affinity.nova.alternatives import joining
from senlin_affinity.nova.candidate_query import placement_answer
from senlin_affinity.nova.options import ISOLATION, TENANT_AGGREGATE, TENANTS
from senlin_affinity.nova.queried_aggregates import (
    are_asked_by_nova,
    are_images_read,
    counting,
    reserved_prefixes,
)
from senlin_affinity.nova.reservations import (
    ENFORCED_BY,
    FLAVORS_ONLY,
    FORBIDDEN_PREFIXES,
    REQUIRED_PREFIX,
    carriers,
    constrain,
    reservations,
)
from senlin_affinity.scenario.scenario import Scenario

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
    """The requirement of one flow, with the codes of its rejections.

    ``opens`` names unknown data that might allow a forbidden host. ``is_mirrored``: the aggregates
    in Placement decide, because Nova sends the requirement there. A host that Placement grants for
    ``query`` is allowed.
    """

    member_of: MemberOf
    forbidden: str = ''
    required: str = ''
    opens: str = ''
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_mirrored: bool = False
    query: str | None = None

    def check(self, host: Host, cloud: Cloud) -> Verdict:
        """Return the verdict of this flow on a host.

        Unknown in a forbidden aggregate with ``opens``; PASS on a host that Placement grants;
        REJECT ``not_mirrored`` if Placement lacks a required aggregate of the host. Else REJECT
        ``forbidden`` or ``required``, or PASS ``admitted``.
        """
        enforced = aggregates.in_placement(host) if self.is_mirrored else host.aggregates
        if self.opens and not enforced.isdisjoint(self.member_of.forbidden):
            return Verdict.unknown(UNKNOWN, missing=self.opens)
        if self.query is not None and (self.query, True) in (host.granted or ()):
            return Verdict.passed(ADMITTED)
        required = self.member_of.required if self.is_mirrored else ()
        lost = [aggregates.unmirrored(host, any_of) for any_of in required]
        if any(lost):
            names = aggregates.names(cloud, frozenset().union(*lost))
            return Verdict.rejected(NOT_MIRRORED, aggregates=names)
        codes = ADMITTED, self.forbidden, self.required
        return aggregates.check(cloud, enforced, self.member_of, codes, **self.facts)


class ReservationsConstraint(Constraint):
    """Reserved, isolated and tenant aggregates."""

    name = 'reservations'
    order = 50
    summary = 'the request may use the reserved, isolated and tenant aggregates of the host'
    needs = ('aggregates', 'flavors', 'hosts')
    reads = ('aggregates', 'unmirrored', 'stale_aggregates', 'granted')
    is_unresolvable = True
    filters = ()
    options = (
        *(REQUIRED_PREFIX, FORBIDDEN_PREFIXES, FLAVORS_ONLY, ENFORCED_BY),
        *(ISOLATION, TENANTS, TENANT_AGGREGATE),
    )
    reasons: ClassVar[Mapping[str, Reason]] = {
        ADMITTED: Reason('is not reserved for others'),
        RESERVED: Reason(
            'is in aggregate {aggregates}, which is reserved',
            advice='use a flavor or an image with the reservation, or add a host that is not '
            'reserved',
            of_several='is in an aggregate that is reserved',
            of_host='{aggregates}',
        ),
        NOT_RESERVED: Reason(
            'is not in {aggregates}, which carries {reservation}',
            advice='add hosts to the aggregate of the reservation',
        ),
        NO_RESERVATION: Reason(
            'no aggregate carries the reservation {reservation}',
            advice='give an aggregate the key of the reservation, or remove the key from the '
            'flavor and the image',
        ),
        ISOLATED: Reason(
            'is in aggregate {aggregates}, which is isolated by traits that the request does not '
            'require',
            advice='use a flavor or an image that requires the traits, or add a host elsewhere',
            of_several='is in an aggregate that is isolated by traits that the request does not '
            'require',
            of_host='{aggregates}',
        ),
        OTHER_TENANT: Reason(
            'is in no aggregate that project {project} may use ({aggregates})',
            advice='add the host to an aggregate of the project',
        ),
        NOT_MIRRORED: Reason(
            'is in aggregate {aggregates} in Nova, but not in Placement',
            advice='run "nova-manage placement sync_aggregates"',
            is_state=True,
            of_several='is in an aggregate in Nova, but not in Placement',
            of_host='{aggregates}',
        ),
        **queried_aggregates.REASONS,
        UNKNOWN: Reason('reserved hosts cannot be determined without {missing}'),
        'reservations.none': Reason('no aggregate is reserved'),
    }

    def prepare(self, request: Request, cloud: Cloud) -> tuple[_Part | Verdict, ...] | Verdict:
        """Return the requirements of the enabled flows that may reject a host.

        SKIP ``reservations.none`` without any enabled flow. A Verdict if none depends on the host.
        """
        parts = _parts(request, cloud)
        if not parts:
            return Verdict.skipped('reservations.none')
        limiting = tuple(part for part in parts if isinstance(part, Verdict) or part.member_of)
        verdicts = [part for part in limiting if isinstance(part, Verdict)]
        return limiting if len(verdicts) < len(limiting) else _worst(verdicts)

    def check(self, asked: tuple[_Part | Verdict, ...], host: Host, cloud: Cloud) -> Verdict:
        """Return the worst verdict of the flows: REJECT, else SKIP (unknown), else PASS."""
        return _worst(
            part if isinstance(part, Verdict) else part.check(host, cloud) for part in asked
        )

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption | Switch]:
        """Yield NO_IMAGE_RESERVED if images may have reservations and the image is unknown.

        Then the assumptions that Nova's request filters are off, and their options, for those that
        nothing specifies and that would exclude a host.
        """
        if are_images_read(request.settings) and request.image_properties is None:
            yield NO_IMAGE_RESERVED
        yield from queried_aggregates.assumed(request, cloud)
        yield from queried_aggregates.unspecified(request, cloud)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield changes: hosts added to a required aggregate (not one that is kept for others).

        If no aggregate carries a reservation, also ``no_reservation``, without its keys.
        """
        cloud = scenario.cloud
        parts = [part for part in _parts(request, cloud) if isinstance(part, _Part)]
        own = frozenset().union(*(any_of for part in parts for any_of in part.member_of.required))
        yield from joining(cloud, evaluation.rejected, own, kept_for_others(request, cloud))
        if NO_RESERVATION in evaluation.codes:
            keys = reservations(_keys(request), request.option(REQUIRED_PREFIX))
            change, data = f'without the reservation {", ".join(keys)}', _removed(request, keys)
            yield Change('no_reservation', change, data, request.count, kind=Kind.GIVEN_UP)


def _removed(request: Request, keys: Collection[str]) -> Data:
    """Return ``removed_extra_specs`` and ``removed_image_properties``, without an empty list."""
    image = request.image_properties or {}
    held = {
        'removed_extra_specs': [key for key in keys if key in request.extra_specs],
        'removed_image_properties': [key for key in keys if key in image],
    }
    return {name: removed for name, removed in held.items() if removed}


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict, of equal ones the first; PASS ``admitted`` without any."""
    worst = (Outcome.REJECT, Outcome.SKIP, Outcome.PASS)
    return min(
        verdicts,
        key=lambda verdict: worst.index(verdict.outcome),
        default=Verdict.passed(ADMITTED),
    )


def kept_for_others(request: Request, cloud: Cloud) -> frozenset[str]:
    """Return the UUIDs of aggregates kept for others: reserved, isolated, or another tenant's.

    They have a reservation key that the request lacks, a trait that it does not require, or only
    other tenants; the last two even if Nova's options for them are off.
    """
    reserved = reserved_prefixes(request.settings)
    asked, image = _keys(request), request.image_properties
    traits = queried_aggregates.required_traits(request.extra_specs, image)
    return frozenset(
        each.uuid
        for each in cloud.aggregates or ()
        if any(key.startswith(reserved) and key not in asked for key in each.metadata)
        or not queried_aggregates.traits_in(each.metadata) <= traits
        or _is_of_others(queried_aggregates.tenants(each.metadata), request.project_id)
    )


def _is_of_others(tenants: Collection[str], project: str | None) -> bool:
    """Check whether there are tenants, and the project is none of them (or None)."""
    return bool(tenants) and project not in tenants


def _keys(request: Request) -> tuple[str, ...]:
    """Return the extra specs' keys and, without ``FLAVORS_ONLY``, those of image properties."""
    of_image = () if request.option(FLAVORS_ONLY) else request.image_properties or ()
    return (*request.extra_specs, *of_image)


def _parts(request: Request, cloud: Cloud) -> tuple[_Part | Verdict, ...]:
    """Return the requirement of each enabled flow, or a Verdict on every host."""
    flows = (
        (reserved_prefixes(request.settings), _reservations),
        (request.option(ISOLATION), _isolation),
        (request.option(TENANTS), _tenant),
    )
    return tuple(flow(request, cloud) for is_on, flow in flows if is_on)


def _reservations(request: Request, cloud: Cloud) -> _Part | Verdict:
    """Return the aggregates that the request's reservations require, and that others forbid.

    REJECT ``no_reservation`` if no aggregate carries one; unknown without flavor or aggregates.
    """
    flavor, known = request.flavor, cloud.aggregates
    if flavor is None or known is None:
        return _unknown(flavor=flavor, aggregates=known)
    required = request.option(REQUIRED_PREFIX)
    keys = counting(request)
    asked = reservations(keys, required)
    missing = [key for key in asked if not carriers(key, known)]
    if missing:
        return Verdict.rejected(NO_RESERVATION, reservation=', '.join(missing))
    forbidden = request.option(FORBIDDEN_PREFIXES)
    member_of = constrain(keys, known, required_prefix=required, forbidden_prefixes=forbidden)
    facts, is_mirrored = {'reservation': ', '.join(asked)}, are_asked_by_nova(request.settings)
    return _Part(member_of, RESERVED, NOT_RESERVED, facts=facts, is_mirrored=is_mirrored)


def _isolation(request: Request, cloud: Cloud) -> _Part | Verdict:
    """Return the aggregates that are forbidden because they require other traits.

    Unknown without flavor or aggregates; an unknown image ``opens`` the part. Placement may grant
    an isolated host, though its query excludes these.
    """
    flavor, known = request.flavor, cloud.aggregates
    if flavor is None or known is None:
        return _unknown(flavor=flavor, aggregates=known)
    image = request.image_properties
    traits = queried_aggregates.required_traits(flavor.extra_specs, image)
    opens = 'image' if image is None else ''
    asked = queried_aggregates.isolate(traits, known)
    query = None if image is None else request.memo(placement_answer, cloud).query
    return _Part(asked, forbidden=ISOLATED, opens=opens, is_mirrored=True, query=query)


def _tenant(request: Request, cloud: Cloud) -> _Part | Verdict:
    """Return the aggregates to which Nova restricts the project.

    If none names it: all, or REJECT ``no_tenant_aggregate`` if an option requires one. Unknown
    without project or aggregates.
    """
    known, project = cloud.aggregates, request.project_id
    if project is None or known is None:
        return _unknown(project=project, aggregates=known)
    is_required = request.option(TENANT_AGGREGATE)
    asked = queried_aggregates.limit_to_tenant(project, known, is_aggregate_required=is_required)
    if isinstance(asked, Verdict):
        return asked
    return _Part(asked, required=OTHER_TENANT, facts={'project': project}, is_mirrored=True)


def _unknown(**parts: object) -> Verdict:
    """Return an unknown verdict that names the None arguments: "flavor and aggregates"."""
    missing = ' and '.join(name for name, value in parts.items() if value is None)
    return Verdict.unknown(UNKNOWN, missing=missing)
