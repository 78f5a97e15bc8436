"""Translate a flavor and an image into the request groups of one server.

Example::

    Flavor(vcpus=2, ram=1024, disk=10, extra_specs={'resources:CUSTOM_GPU': '1',
                                                    'trait:HW_CPU_X86_AVX2': 'required'})
    Demand({'VCPU': 2, 'MEMORY_MB': 1024, 'DISK_GB': 10, 'CUSTOM_GPU': 1},
           frozenset({'HW_CPU_X86_AVX2'}))

Units: MEMORY_MB in MiB, DISK_GB in GiB (``swap``, in MiB, is rounded up). Extra specs that Nova
ignores with a warning (an invalid amount, an unknown class) are ignored.

Features that Placement does not decide (NUMA, devices) can only require more, so a number that
ignores them is an upper bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, PCPU, VCPU, Demand, Flavor, Group
from senlin_affinity.model.request import Request
from senlin_affinity.nova import flavor_features as features

_CLASSES = """
    VCPU MEMORY_MB DISK_GB PCI_DEVICE SRIOV_NET_VF NUMA_SOCKET NUMA_CORE NUMA_THREAD NUMA_MEMORY_MB
    IPV4_ADDRESS VGPU VGPU_DISPLAY_HEAD PCPU MEM_ENCRYPTION_CONTEXT FPGA PGPU
    NET_BW_EGR_KILOBIT_PER_SEC NET_BW_IGR_KILOBIT_PER_SEC NET_PACKET_RATE_KILOPACKET_PER_SEC
    NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC
"""
#: The standard resource classes (os-resource-classes 1.1).
STANDARD_CLASSES = frozenset(_CLASSES.split())
_CUSTOM = 'CUSTOM_'

_RESOURCES, _TRAIT = 'resources', 'trait'
_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)', re.DOTALL)

_SHAPING = """
    hw:boot_menu hw:cpu_cores hw:cpu_max_cores hw:cpu_max_sockets hw:cpu_max_threads hw:cpu_sockets
    hw:cpu_threads hw:hide_hypervisor_id hw:hypervisor_id hw:input_bus hw:rescue_bus
    hw:live_migration_completion_timeout hw:serial_port_count hw:vif_multiqueue_enabled
    hw:watchdog_action
    hw:cdrom_bus hw:disk_bus hw:disk_type hw:pointer_model hw:qemu_guest_agent hw:rescue_device
    hw:rng_model hw:scsi_model hw:time_hpet hw:video_model hw:video_ram hw:vif_model
"""
#: Extra specs with these prefixes can require more than this module translates ...
_ASKING = ('hw:', 'os:', 'pci_passthrough:', 'accel:')
#: ... except for these, which, like the image properties of these names, configure the guest.
_HARMLESS = frozenset(_SHAPING.split())
#: Image properties by which Nova chooses hosts ...
_CHOOSING = ('hw_', 'os_secure_boot')
#: ... except for these, which a constraint compares with the hypervisor.
_OF_HYPERVISOR = ('hw_architecture', 'hw_vm_mode')


def demand_of(request: Request) -> Demand | None:
    """Return the demand of one server, which is computed once; None if the flavor is unknown."""
    return request.memo(_demand_of)


def _demand_of(request: Request) -> Demand | None:
    if request.flavor is None:
        return None
    is_volume_booted = request.is_volume_booted
    return demand(request.flavor, request.image_properties, is_volume_booted=is_volume_booted)


def demand(
    flavor: Flavor,
    image_properties: Mapping[str, str] | None = None,
    *,
    is_volume_booted: bool = False,
) -> Demand:
    """Return the allocation request of one server; a root disk in a volume needs no DISK_GB."""
    specs = flavor.extra_specs
    asked = features.Asked(specs, image_properties)
    more, named = features.read(asked), tuple(_named(asked))
    is_policy_open = image_properties is None and 'hw:cpu_policy' not in specs
    # For an image that pins CPUs, Nova's second query has no traits of pinning.
    pins = None if is_policy_open else features.pinning(asked, flavor.vcpus)
    root = 0 if is_volume_booted else flavor.disk
    disk = root + flavor.ephemeral + -(-flavor.swap // 1024)
    own = {VCPU: flavor.vcpus, MEMORY_MB: flavor.ram, DISK_GB: disk}
    groups = _groups(named, own, more, pins)
    is_asked_twice = pins is not None and pins.policy == features.DEDICATED
    fallback = _groups(named, own, more, None) if is_asked_twice else ()
    least = _together(groups)
    if is_asked_twice:
        least = _in_both(least, _together(fallback))
    is_shared = not any(item.name in (VCPU, PCPU) for item in named)
    policy = specs.get('group_policy')
    return Demand(
        least.amounts,
        least.required,
        least.forbidden,
        tuple(_unmodelled(asked, named)),
        may_be_pinned=is_shared and is_policy_open,
        groups=groups,
        group_policy=policy if policy in ('none', 'isolate') else None,
        fallback=fallback,
        only_placement=tuple(_only_placement(asked, groups)),
    )


def is_placed(key: str) -> bool:
    """Check whether Placement chooses hosts by an image property, such as os_secure_boot."""
    return key.startswith('trait:') or key.replace('_', ':', 1) in features.COVERED


def parts_of(key: str) -> tuple[str, str, str]:
    """Return the kind (``resources`` or ``trait``), the suffix and the name of an extra spec.

    ``('', '', '')`` for any other extra spec.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        return '', '', ''
    kind, suffix, name = found.groups(default='')
    return kind, suffix, name


class _ResourceOrTrait(NamedTuple):
    """An extra spec that names a resource class or a trait; ``value``: its amount or its state."""

    kind: str
    suffix: str
    name: str
    value: int | str


def _named(asked: features.Asked) -> Iterator[_ResourceOrTrait]:
    """Yield the named classes and traits of the flavor, and the traits of the image."""
    for key, value in asked.specs.items():
        kind, suffix, name = parts_of(key)
        if kind == _TRAIT:
            yield _ResourceOrTrait(kind, suffix, name, value)
        elif kind and (name.startswith(_CUSTOM) or name in STANDARD_CLASSES):
            amount = _amount(value)
            if amount is not None:
                yield _ResourceOrTrait(kind, suffix, name, amount)
    for key, value in asked.properties.items():
        if key.startswith('trait:') and value == 'required':
            yield _ResourceOrTrait(_TRAIT, '', key.removeprefix('trait:'), value)


def _groups(
    named: Iterable[_ResourceOrTrait],
    own: Mapping[str, int],
    more: features.Features,
    pins: features.Pinning | None,
) -> tuple[Group, ...]:
    """Return the groups that are not empty, the one without a suffix first.

    :param own: the flavor's figures, for classes that no extra spec names.
    :param pins: None requests no pinned CPUs.
    """
    amounts: dict[str, dict[str, int]] = {'': {}}
    required: dict[str, set[str]] = {'': set(more.required)}
    forbidden: dict[str, set[str]] = {'': set()}
    traits = {'required': required, 'forbidden': forbidden}
    for _kind, suffix, name, value in named:
        if isinstance(value, int):
            amounts.setdefault(suffix, {})[name] = value
        elif value in traits:
            traits[value].setdefault(suffix, set()).add(name)
    bare = amounts['']
    if pins is not None:
        bare.update(pins.amounts)
        required[''] |= pins.required
        forbidden[''] |= pins.forbidden
    there = {name for group in amounts.values() for name in group}
    if PCPU in there:
        there.add(VCPU)
    bare.update((name, amount) for name, amount in own.items() if name not in there)
    bare.update(more.amounts)
    found = (
        Group(
            suffix,
            {name: amount for name, amount in amounts.get(suffix, {}).items() if amount},
            frozenset(required.get(suffix, ())),
            frozenset(forbidden.get(suffix, ())),
        )
        for suffix in sorted({*amounts, *required, *forbidden})
    )
    return tuple(group for group in found if group.amounts or group.required or group.forbidden)


def _together(groups: Iterable[Group]) -> Group:
    """Return one group with the sum of the amounts, and with the traits of all groups."""
    amounts: Counter[str] = Counter()
    required: frozenset[str] = frozenset()
    forbidden = required
    for group in groups:
        amounts.update(group.amounts)
        required |= group.traits.required
        forbidden |= group.traits.forbidden
    unnamed = frozenset(('',))
    return Group('', dict(amounts), required - unnamed, forbidden - unnamed)


def _in_both(one: Group, other: Group) -> Group:
    """Return the smaller amount of each shared resource class, and the shared traits."""
    least = Counter(one.amounts) & Counter(other.amounts)
    required, forbidden = one.required & other.required, one.forbidden & other.forbidden
    return Group('', dict(least), required, forbidden)


def _keys(asked: features.Asked) -> Iterator[tuple[str, str]]:
    """Yield the keys (as extra specs) that may affect the choice of hosts, and descriptions."""
    for key, value in sorted(asked.specs.items()):
        if key.startswith(_ASKING) and not _is_harmless(key, value):
            yield key, f'extra spec {key}'
    for key, value in sorted(asked.properties.items()):
        as_spec = key.replace('_', ':', 1)
        is_choosing = key.startswith(_CHOOSING) and key not in _OF_HYPERVISOR
        if is_choosing and not _is_harmless(as_spec, value):
            yield as_spec, f'image property {key}'


def _is_harmless(key: str, value: str) -> bool:
    return key in _HARMLESS or (key, value) == ('hw:cpu_policy', 'shared')


def _unmodelled(asked: features.Asked, named: Iterable[_ResourceOrTrait]) -> Iterator[str]:
    """Yield a description of each feature that Placement does not decide.

    The resource class PCPU is among them, because it implies a NUMA topology.
    """
    yield from (words for key, words in _keys(asked) if key not in features.COVERED)
    if any(item.name == PCPU and item.value and item.kind == _RESOURCES for item in named):
        yield f'resource class {PCPU}'


def _only_placement(asked: features.Asked, groups: Collection[Group]) -> Iterator[str]:
    """Yield a description of each feature that only Placement's answer decides exactly.

    A single numbered group is exact: it comes from the host, or from a tree whose capacity is an
    upper bound in any case.
    """
    yield from (words for key, words in _keys(asked) if key in features.COVERED)
    numbered = [group for group in groups if group.suffix]
    if len(numbered) > 1 or not all(group.amounts for group in numbered):
        yield 'numbered groups of resources and traits'


def _amount(value: str) -> int | None:
    """Parse an amount; return None for a value that Nova ignores."""
    try:
        amount = int(value)
    except ValueError:
        return None
    return amount if amount >= 0 else None
