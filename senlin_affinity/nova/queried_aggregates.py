"""Compute the aggregates in Nova's query: isolated, of tenants, of reservations, and of zones.

Example::

    {'trait:CUSTOM_WIN': 'required'}      metadata of an isolated aggregate, and the extra spec or
                                          image property that servers need to run there
    {'filter_tenant_id2': '<project id>'} metadata of a tenant's aggregate

Source: Nova's request filters ``isolate_aggregates`` and ``require_tenant_aggregate``. Deviation:
traits that Nova derives from other extra specs (``hw:tpm_version``) count as required if the key is
present, so that nothing uncertain rejects a host.

Nova requires or forbids the aggregates of reservations if it runs this project's request filter
(``reservations_enforced_by``). If it isolates aggregates, it may implement reservations by
isolation instead, and then requires less.

The query uses the members of an aggregate in Placement; scheduler filters use those in Nova, which
copies each change. If the copy of an addition failed, Placement lacks a host (``Host.unmirrored``);
if that of a removal failed, Placement still has it (``Host.stale_aggregates``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.verdict import Assumption, Reason, Verdict
from senlin_affinity.nova.effective_zone import zones_held_to
from senlin_affinity.nova.options import ISOLATION, TENANT_AGGREGATE, TENANTS
from senlin_affinity.nova.reservations import (
    ENFORCED_BY,
    FLAVORS_ONLY,
    FORBIDDEN_PREFIXES,
    NOVA,
    REQUIRED_PREFIX,
    TRAIT,
    constrain,
)

REQUIRED = 'required'
TENANT = 'filter_tenant_id'

NO_TENANT_AGGREGATE = 'reservations.no_tenant_aggregate'
REASONS: Mapping[str, Reason] = {
    NO_TENANT_AGGREGATE: Reason(
        'no aggregate names project {project}, but Nova requires such an aggregate',
        advice=f'give an aggregate the metadata {TENANT}=<project id>, or switch '
        'placement_aggregate_required_for_tenants off',
    ),
}
NOT_ISOLATED = Assumption('reservations.isolation', f'no {ISOLATION.dest}')
NOT_LIMITED = Assumption('reservations.tenants', f'no {TENANTS.dest}')
NOT_REQUIRED = Assumption('reservations.tenant_aggregate', f'no {TENANT_AGGREGATE.dest}')
_ASSUMED: Mapping[str, Assumption] = {
    ISOLATION.key: NOT_ISOLATED,
    TENANTS.key: NOT_LIMITED,
    TENANT_AGGREGATE.key: NOT_REQUIRED,
}

#: A flavor may require traits in groups with a suffix; an image may not.
_IN_A_GROUP = re.compile(r'trait(?:[a-zA-Z0-9_-]{1,64})?:(.*)')
#: Keys of a flavor or an image, without their prefix, and the traits that Nova may derive.
_DERIVED: Mapping[str, str] = {
    'cpu_thread_policy': 'HW_CPU_HYPERTHREADING',
    'firmware_stateless': 'COMPUTE_SECURITY_STATELESS_FIRMWARE',
    'maxphysaddr_mode': 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH COMPUTE_ADDRESS_SPACE_EMULATED',
    'mem_encryption': 'HW_CPU_X86_AMD_SEV HW_CPU_X86_AMD_SEV_ES HW_CPU_X86_AMD_SEV_SNP '
    'HW_CPU_X86_INTEL_TDX',
    'pci_numa_affinity_policy': 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY',
    'secure_boot': 'COMPUTE_SECURITY_UEFI_SECURE_BOOT',
    'tpm_version': 'COMPUTE_SECURITY_TPM_1_2 COMPUTE_SECURITY_TPM_2_0 COMPUTE_SECURITY_TPM_CRB '
    'COMPUTE_SECURITY_TPM_TIS',
}
_PREFIXES = ('hw:', 'hw_', 'os:', 'os_')


def required_traits(
    extra_specs: Mapping[str, str], image_properties: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Return the traits that a server of this flavor and image requires, in any request group."""
    image = image_properties or {}
    matches = ((_IN_A_GROUP.fullmatch(key), value) for key, value in _items(extra_specs))
    of_flavor = {match[1] for match, value in matches if match and value == REQUIRED}
    derived = {
        trait
        for key, _ in (*_items(extra_specs), *_items(image))
        if key.startswith(_PREFIXES)
        for trait in _DERIVED.get(key[3:], '').split()
    }
    return traits_in(image) | of_flavor | derived


def isolate(traits: Collection[str], aggregates: Sequence[Aggregate]) -> MemberOf:
    """Return an expression that forbids every aggregate isolated by a trait not in ``traits``."""
    closed = (each.uuid for each in aggregates if not traits_in(each.metadata) <= set(traits))
    return MemberOf(forbidden=frozenset(closed))


def limit_to_tenant(
    project: str, aggregates: Sequence[Aggregate], *, is_aggregate_required: bool
) -> MemberOf | Verdict:
    """Return an expression that requires the project's own aggregates, or a rejection.

    For a project without one, reject the request if ``is_aggregate_required``, else allow any host.
    """
    own = own_aggregates(project, aggregates)
    if is_aggregate_required and not own:
        return Verdict.rejected(NO_TENANT_AGGREGATE, project=project)
    return MemberOf((own,) if own else ())


def own_aggregates(project: str, aggregates: Sequence[Aggregate]) -> frozenset[str]:
    """Return the aggregates whose metadata name the project."""
    return frozenset(
        aggregate.uuid
        for aggregate in aggregates
        if any(
            key.startswith(TENANT) and value == project for key, value in _items(aggregate.metadata)
        )
    )


def traits_in(metadata: Mapping[str, str]) -> frozenset[str]:
    """Return the traits that the metadata of an image or an isolated aggregate require."""
    return frozenset(
        key.removeprefix(TRAIT)
        for key, value in _items(metadata)
        if key.startswith(TRAIT) and value == REQUIRED
    )


def tenants(metadata: Mapping[str, str]) -> frozenset[str]:
    """Return the projects that an aggregate with this metadata is reserved for, split at commas."""
    texts = (str(value) for key, value in _items(metadata) if key.startswith(TENANT))
    return frozenset(one.strip() for text in texts for one in text.split(','))


def assumed(request: Request, cloud: Cloud) -> Iterator[Assumption]:
    """Yield the assumptions that the unspecified request filters are off."""
    return (_ASSUMED[option.key] for option in unspecified(request, cloud))


def unspecified(request: Request, cloud: Cloud) -> Iterator[Option]:
    """Yield the unspecified options of request filters that would exclude some host."""
    known, rules = cloud.aggregates, request.settings
    if known is None or request.flavor is None:
        return
    hosts = [aggregates for _zone, aggregates in cloud.places]
    if not rules.is_explicit(ISOLATION) and _is_key(cloud, TRAIT):
        traits = required_traits(request.flavor.extra_specs, request.image_properties)
        closed = isolate(traits, known).forbidden
        if closed and not all(map(closed.isdisjoint, hosts)):
            yield ISOLATION
    for option in _limiting(request, cloud, hosts):
        if not rules.is_explicit(option):
            yield option


def _limiting(request: Request, cloud: Cloud, hosts: Sequence[frozenset[str]]) -> Sequence[Option]:
    """Return the options that together exclude the project from some host.

    Without an aggregate of the project, both options are needed, and only metadata of another
    project's aggregate shows that Nova may isolate projects.
    """
    rules, project = request.settings, request.project_id
    is_shown = rules.value(TENANTS) or _is_key(cloud, TENANT)
    is_off = rules.is_explicit(TENANTS) and not rules.value(TENANTS)
    if is_off or not (is_shown and hosts):
        return ()
    if project is None:
        return (TENANTS,)
    if own := own_aggregates(project, cloud.aggregates or ()):
        return (TENANTS,) if any(map(own.isdisjoint, hosts)) else ()
    is_aggregate_needed = rules.value(TENANT_AGGREGATE) or not rules.is_explicit(TENANT_AGGREGATE)
    return (TENANTS, TENANT_AGGREGATE) if is_aggregate_needed else ()


def _is_key(cloud: Cloud, prefix: str) -> bool:
    """Check whether the metadata of any aggregate have a key with this prefix."""
    return any(str(key).startswith(prefix) for key in cloud.metadata_keys)


def _items(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return keys and values, without keys that are not strings."""
    return [(key, value) for key, value in metadata.items() if isinstance(key, str)]


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
        image = {f'{TRAIT}{trait}': '' for trait in traits_in(image)}
    return (*specs, *image)


def asked_by_nova(request: Request, cloud: Cloud) -> MemberOf:
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


def asked_of_placement(request: Request, cloud: Cloud) -> tuple[frozenset[str], ...]:
    """Return the sets of aggregates whose members Nova requires or forbids in its query.

    An aggregate of a zone without hosts is left out: Nova rejects a request for such a zone.
    """
    tenant = request.project_id
    known, with_hosts = cloud.aggregates or (), _union(each for _zone, each in cloud.places)
    carried_by = cloud.zones.carried_by
    of_zones = [carried_by.get(zone, frozenset()) for zone in zones_held_to(request, cloud)]
    found = [each for each in of_zones if not each.isdisjoint(with_hosts)]
    if tenant is not None and request.option(TENANTS):
        found.append(own_aggregates(tenant, known))
    with suppress(InvalidSpec):  # Nova rejects the request before it queries Placement
        kept = asked_by_nova(request, cloud)
        found += [*kept.required, kept.forbidden]
    if request.option(ISOLATION) and request.flavor is not None:
        specs, image = request.flavor.extra_specs, request.image_properties
        traits = required_traits(specs, image)
        found.append(isolate(traits, known).forbidden)
    return (*filter(None, dict.fromkeys(found)),)


def is_assumed(request: Request, cloud: Cloud) -> bool:
    """Check whether the answer depends on aggregates of which Placement was not asked."""
    if cloud.hosts is None:
        return False
    return not cloud.compared_aggregates.issuperset(asked_of_placement(request, cloud))


def marked(
    snapshot: Cloud,
    roots: Sequence[str],
    members: Mapping[frozenset[str], Collection[str]],
) -> Cloud:
    """Return the snapshot with the aggregates of each host that differ between the services.

    :param roots: the UUID of the root provider of each host.
    :param members: for each set of aggregates in a request to Placement, the UUIDs of the providers
        in at least one of them.
    """
    if snapshot.hosts is None:
        return snapshot
    return replace(
        snapshot,
        hosts=tuple(
            _marked(host, root, members) for host, root in zip(snapshot.hosts, roots, strict=True)
        ),
        compared_aggregates=snapshot.compared_aggregates | members.keys(),
    )


def _marked(host: Host, root: str, members: Mapping[frozenset[str], Collection[str]]) -> Host:
    without = _union(each for each, uuids in members.items() if root not in uuids)
    stale = _union(each for each in members if each.isdisjoint(host.aggregates)) - without
    lost = host.aggregates & without
    if not (stale or lost):
        return host
    return host.but(
        unmirrored=host.unmirrored | lost, stale_aggregates=host.stale_aggregates | stale
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
