"""Compute the aggregates that Nova's request filters require or forbid: isolated, and of tenants.

Example::

    {'trait:CUSTOM_WIN': 'required'}      metadata of an isolated aggregate, and the extra spec or
                                          image property that servers need to run there
    {'filter_tenant_id2': '<project id>'} metadata of a tenant's aggregate

Source: Nova's request filters ``isolate_aggregates`` and ``require_tenant_aggregate``. Deviation:
traits that Nova derives from other extra specs (``hw:tpm_version``) count as required if the key is
present, so that nothing uncertain rejects a host.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.assumption import Assumption
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.option import Option
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova.options import ISOLATION, TENANT_AGGREGATE, TENANTS
from senlin_affinity.nova.reservations import TRAIT

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


def assumed(request: Request, cloud: CloudSnapshot) -> Iterator[Assumption]:
    """Yield the assumptions that the unspecified request filters are off."""
    return (_ASSUMED[option.key] for option in unspecified(request, cloud))


def unspecified(request: Request, cloud: CloudSnapshot) -> Iterator[Option]:
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


def _limiting(
    request: Request, cloud: CloudSnapshot, hosts: Sequence[frozenset[str]]
) -> Sequence[Option]:
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


def _is_key(cloud: CloudSnapshot, prefix: str) -> bool:
    """Check whether the metadata of any aggregate have a key with this prefix."""
    return any(str(key).startswith(prefix) for key in cloud.metadata_keys)


def _items(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return keys and values, without keys that are not strings."""
    return [(key, value) for key, value in metadata.items() if isinstance(key, str)]
