"""What one server of a flavor asks of Placement: amounts of resource classes, and traits.

Shapes::

    Flavor(vcpus=2, ram=1024, disk=10, extra_specs={'resources:CUSTOM_GPU': '1',
                                                    'trait:HW_CPU_X86_AVX2': 'required'})
    Demand({'VCPU': 2, 'MEMORY_MB': 1024, 'DISK_GB': 10, 'CUSTOM_GPU': 1},
           frozenset({'HW_CPU_X86_AVX2'}))

Units: MEMORY_MB in MiB, DISK_GB in GiB (``swap``, in MiB, is rounded up); an amount is 1 or more.
What Nova ignores with a warning (an amount that is no number, an unknown class) is ignored here.

Source: the user guide of flavors ("resources", "traits required"), and nova-scheduler's own
translation, with which a test compares. What is not translated here (pinned CPUs, NUMA, devices) is
named in ``unmodelled``: it can only ask for more, so that a number counted without it is "at most".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

VCPU, PCPU, MEMORY_MB, DISK_GB = 'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB'
#: The classes of which every virtual machine asks one; snapshots are taken by them.
UNIT_CLASSES = (VCPU, MEMORY_MB, DISK_GB)

_CLASSES = """
    VCPU MEMORY_MB DISK_GB PCI_DEVICE SRIOV_NET_VF NUMA_SOCKET NUMA_CORE NUMA_THREAD NUMA_MEMORY_MB
    IPV4_ADDRESS VGPU VGPU_DISPLAY_HEAD PCPU MEM_ENCRYPTION_CONTEXT FPGA PGPU
    NET_BW_EGR_KILOBIT_PER_SEC NET_BW_IGR_KILOBIT_PER_SEC NET_PACKET_RATE_KILOPACKET_PER_SEC
    NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC
"""
#: The resource classes that are not CUSTOM_ (os-resource-classes 1.1; a test compares).
STANDARD_CLASSES = frozenset(_CLASSES.split())
_CUSTOM = 'CUSTOM_'

_KEY = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)', re.DOTALL)

_SHAPING = """
    hw:boot_menu hw:cpu_cores hw:cpu_max_cores hw:cpu_max_sockets hw:cpu_max_threads hw:cpu_sockets
    hw:cpu_threads hw:hide_hypervisor_id hw:hypervisor_id hw:input_bus hw:rescue_bus
    hw:live_migration_completion_timeout hw:serial_port_count hw:vif_multiqueue_enabled
    hw:watchdog_action
"""
#: Extra specs below these prefixes can ask for more than is translated here ...
_ASKING = ('hw:', 'os:', 'pci_passthrough:', 'accel:')
#: ... but for those that only shape the guest.
_HARMLESS = frozenset(_SHAPING.split())
_PINNED = ('dedicated', 'mixed')
#: Properties of an image by which Nova chooses hosts.
_CHOOSING = ('hw_', 'img_hv_', 'os_secure_boot', 'architecture', 'hypervisor_', 'vm_mode')


@dataclass(frozen=True)
class Flavor:
    """A flavor; ``swap`` in MiB, ``disk`` and ``ephemeral`` in GiB."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0
    swap: int = 0
    extra_specs: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Demand:
    """What one server asks for; ``unmodelled`` names what may ask for more, in words.

    ``may_be_pinned`` says that an image which nobody has read could make PCPU of its VCPU.
    """

    amounts: Mapping[str, int] = field(default_factory=dict, hash=False)
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    unmodelled: tuple[str, ...] = ()
    may_be_pinned: bool = False


def demand(
    flavor: Flavor,
    image_properties: Mapping[str, str] | None = None,
    *,
    is_volume_booted: bool = False,
) -> Demand:
    """What one server of the flavor asks for; a root disk in a volume asks no host for space."""
    by_group: dict[tuple[str, str], int] = {}
    traits: dict[str, set[str]] = {'required': set(), 'forbidden': set()}
    of_traits: set[str] = set()
    for found, value in ((_KEY.fullmatch(key), value) for key, value in flavor.extra_specs.items()):
        if found is None:
            continue
        kind, suffix, name = found.groups(default='')
        is_class = name.startswith(_CUSTOM) or name in STANDARD_CLASSES
        if kind == 'trait':
            traits.get(value, set()).add(name)
            of_traits.add(suffix)
        elif is_class and (amount := _amount(value)) is not None:
            by_group[suffix, name] = amount
    amounts: Counter[str] = Counter()
    for (_suffix, name), amount in by_group.items():
        amounts[name] += amount
    properties = image_properties or {}
    traits['required'] |= {
        key.removeprefix('trait:')
        for key, value in properties.items()
        if key.startswith('trait:') and value == 'required'
    }
    policies = {flavor.extra_specs.get('hw:cpu_policy'), properties.get('hw_cpu_policy')}
    is_derived = policies.isdisjoint(_PINNED) and VCPU not in amounts and PCPU not in amounts
    if is_derived:
        amounts[VCPU] = flavor.vcpus
    amounts.setdefault(MEMORY_MB, flavor.ram)
    root = 0 if is_volume_booted else flavor.disk
    amounts.setdefault(DISK_GB, root + flavor.ephemeral + -(-flavor.swap // 1024))
    return Demand(
        {name: amount for name, amount in amounts.items() if amount},
        frozenset(traits['required']),
        frozenset(traits['forbidden']),
        tuple(_unmodelled(flavor.extra_specs, properties, by_group, of_traits - {''})),
        may_be_pinned=is_derived and image_properties is None and policies == {None},
    )


def _unmodelled(
    specs: Mapping[str, str],
    properties: Mapping[str, str],
    amounts: Mapping[tuple[str, str], int],
    of_traits: Collection[str],
) -> Iterable[str]:
    """What may ask for more.

    Pinned CPUs have a NUMA topology; numbered groups are added up, as if one provider gave all. One
    group is no matter: it can only come from the host, or from a tree that is "at most" anyway.
    """
    for key, value in sorted(specs.items()):
        is_harmless = key in _HARMLESS or (key, value) == ('hw:cpu_policy', 'shared')
        if key.startswith(_ASKING) and not is_harmless:
            yield f'extra spec {key}'
    for key in sorted(properties):
        if key.startswith(_CHOOSING):
            yield f'image property {key}'
    if any(name == PCPU and amount for (_suffix, name), amount in amounts.items()):
        yield f'resource class {PCPU}'
    numbered = {suffix for (suffix, _name), amount in amounts.items() if suffix and amount}
    if len(numbered) > 1 or not numbered.issuperset(of_traits):
        yield 'numbered groups of resources and traits'


def _amount(value: str) -> int | None:
    """An amount, as Nova reads it; None for what it passes over."""
    try:
        amount = int(value)
    except ValueError:
        return None
    return amount if amount >= 0 else None
