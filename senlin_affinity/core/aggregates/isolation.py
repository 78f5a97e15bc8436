"""Isolated aggregates, and those of a tenant: what Nova's own request filters ask of Placement.

Shapes::

    {'trait:CUSTOM_WIN': 'required'}      metadata of an isolated aggregate, and an extra spec or
                                          an image property that opens it
    {'filter_tenant_id2': '<project id>'} metadata of a tenant's aggregate

Source: Nova's request filters ``isolate_aggregates`` and ``require_tenant_aggregate``, off by
default in nova.conf's ``[scheduler]``. We differ on purpose: traits that Nova derives from other
extra specs (``hw:tpm_version``) count as required as soon as the key is there: what is not known
for sure refuses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.nova_options import ISOLATION, TENANTS
from senlin_affinity.core.objects import Aggregate, ResolvedRequest
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

TRAIT = 'trait:'
REQUIRED = 'required'
TENANT = 'filter_tenant_id'

NO_TENANT_AGGREGATE = 'reservations.no_tenant_aggregate'
REASONS: Mapping[str, Reason] = {
    NO_TENANT_AGGREGATE: Reason(
        'no aggregate is for project {project}, and every project needs one',
        advice=f'give an aggregate the metadata {TENANT}=<project id>, or switch '
        'placement_aggregate_required_for_tenants off',
    ),
}
NOT_ISOLATED = Assumption('reservations.isolation', f'no {ISOLATION.dest}')
NOT_LIMITED = Assumption('reservations.tenants', f'no {TENANTS.dest}')

#: A flavor may ask for traits in groups with a suffix, an image may not.
_IN_A_GROUP = re.compile(r'trait(?:[a-zA-Z0-9_-]{1,64})?:(.*)')
#: Keys of a flavor or an image, and the traits that Nova may derive from them.
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
    """The traits that a server of this flavor and image requires, in whatever request group."""
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
    """Every aggregate is forbidden that is isolated by a trait which is not among these."""
    closed = (each.uuid for each in aggregates if not traits_in(each.metadata) <= set(traits))
    return MemberOf(forbidden=frozenset(closed))


def limit_to_tenant(
    project: str, aggregates: Sequence[Aggregate], *, is_aggregate_required: bool
) -> MemberOf | Verdict:
    """Only the project's own aggregates; anywhere if it has none, or nowhere if it needs one."""
    own = frozenset(
        aggregate.uuid
        for aggregate in aggregates
        if any(
            key.startswith(TENANT) and value == project for key, value in _items(aggregate.metadata)
        )
    )
    if is_aggregate_required and not own:
        return Verdict.rejected(NO_TENANT_AGGREGATE, project=project)
    return MemberOf((own,) if own else ())


def traits_in(metadata: Mapping[str, str]) -> frozenset[str]:
    """The traits that an image, or an aggregate that they isolate, requires; mostly none."""
    return frozenset(
        key.removeprefix(TRAIT)
        for key, value in _items(metadata)
        if key.startswith(TRAIT) and value == REQUIRED
    )


def tenants(metadata: Mapping[str, str]) -> frozenset[str]:
    """The projects that an aggregate with this metadata is for, in either flow; mostly none."""
    texts = (str(value) for key, value in _items(metadata) if key.startswith(TENANT))
    return frozenset(one.strip() for text in texts for one in text.split(','))


def assumed(resolved: ResolvedRequest) -> Iterator[Assumption]:
    """The filters that nobody said run, where they would keep the servers off some host."""
    known, project, rules = resolved.snapshot.aggregates, resolved.project_id, resolved.rules
    hosts = [aggregates for _zone, aggregates in resolved.snapshot.places]
    if known is None or resolved.flavor is None:
        return
    if not rules.is_told(ISOLATION):
        traits = required_traits(resolved.flavor.extra_specs, resolved.image_properties)
        closed = isolate(traits, known).forbidden
        if closed and not all(map(closed.isdisjoint, hosts)):
            yield NOT_ISOLATED
    if not rules.is_told(TENANTS) and project is not None:
        asked = limit_to_tenant(project, known, is_aggregate_required=False)
        own = asked.required[0] if isinstance(asked, MemberOf) and asked.required else None
        if own is not None and any(map(own.isdisjoint, hosts)):
            yield NOT_LIMITED


def _items(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys and values, without a key that is no text."""
    return [(key, value) for key, value in metadata.items() if isinstance(key, str)]
