"""List the combinations of extra specs and image properties for which nova-api starts no server.

nova-api checks some settings of the guest together when it creates a server. A row of the table has
Nova's exception, the first release of Nova with this check (24: or older), the condition, the fixed
part of Nova's message, and what the requester changes. Nothing is claimed about older releases. The
rows have Nova's order, so the first one that holds gives Nova's exception.

Example::

    check(GuestRequest({'hw:cpu_policy': 'mixed'}, vcpus=2, ram=1024, image={}), 34)
    Answer(Rejection('mixed_without_mask', 'RequiredMixedOrRealtimeCPUMask', 400, ...), ())

A rule that needs an unknown value is not checked.

Source: ``create`` of ``nova/compute/api.py``, ``nova/virt/hardware.py`` and ``nova/pci/request.py``
(releases 24 to 34); ``tests/nova/test_combination_rules.py`` compares the table with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from senlin_affinity.nova import guest_conditions as conditions
from senlin_affinity.nova.guest_conditions import (
    AFFINITIES,
    AFFINITY,
    ENCRYPTION,
    EPHEMERAL,
    LOCKED,
    MODELS,
    MOST,
    MULTIQUEUE,
    NODES,
    POLICY,
    PORTS,
    PREFERRED,
    SOUND,
    STATELESS,
    THREADS,
)
from senlin_affinity.nova.guest_request import (
    ISOLATE,
    MIXED,
    POLICIES,
    PREFER,
    SHARED,
    THREAD_POLICIES,
    GuestRequest,
    InvalidMask,
    Unknown,
)

#: The oldest supported release of Nova, and the newest one that was compared.
OLDEST, NEWEST = 24, 34
#: The exceptions for which nova-api does not answer 400.
_STATUS: Mapping[str, int] = {
    'ImagePCINUMAPolicyForbidden': 403,
    **dict.fromkeys(('Invalid', 'InvalidPCINUMAAffinity', 'ValueError'), 500),
}
_EQUAL = 'an image that has the value of the flavor, or does not have the property'
#: The extra specs that rules read. Without any, only an image can break a rule.
_READ = re.compile(
    r'hw:|pci_passthrough:|resources([1-9][0-9]*)?:[VP]CPU|trait([1-9][0-9]*)?:HW_CPU_HYPERTHREADING'
)
_EMULATORS = 'hw:emulator_threads_policy share or isolate'
_RELEASE, _PARSED = 'the release of Nova', 'a value that Nova can parse'


@dataclass(frozen=True)
class Rejection:
    """A rule that a request breaks, and the ``settings`` concerned, as ``name=value``.

    ``message`` is the fixed part of Nova's message, ``change`` what the requester changes to.
    """

    rule: str
    exception: str
    status: int
    message: str
    change: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The first broken rule, or the unknown values and the settings that other rules need."""

    rejection: Rejection | None
    unknown: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


class Rule(NamedTuple):
    """A row of the table."""

    name: str
    exception: str
    since: int
    is_broken: Callable[[GuestRequest], bool]
    message: str
    change: str


def check(guest: GuestRequest, release: int | None = None) -> Answer:
    """Return the first rule that the request breaks in a release; None: any supported release."""
    unknown, unchecked = dict[str, None](), dict[str, None]()
    if guest.image is None and not any(map(_READ.match, guest.extra_specs)):
        return Answer(None)
    reader = replace(guest)
    for rule in RULES:
        reader.reads.clear()
        is_broken = False
        found = rule.exception, rule.message, rule.change
        try:
            is_broken = rule.is_broken(reader)
        except Unknown as missing:
            unknown |= dict.fromkeys([missing.what] if reader.reads else ())
            unchecked |= reader.reads
        except InvalidMask:
            is_broken, found = True, ('Invalid', 'Invalid', _PARSED)
        except ValueError:
            is_broken, found = True, ('ValueError', 'ValueError', _PARSED)
        if is_broken and release is None and rule.since > OLDEST:
            unknown, unchecked = unknown | {_RELEASE: None}, unchecked | reader.reads
        elif is_broken and rule.since <= (release or OLDEST):
            status, settings = _STATUS.get(found[0], 400), (*reader.reads,)
            return Answer(Rejection(rule.name, found[0], status, *found[1:], settings))
    return Answer(None, (*unknown,), (*unchecked,))


def _conflict(
    name: str, since: int, key: str, is_broken: Callable[[GuestRequest], bool] | None = None
) -> Rule:
    """Return the rule that flavor and image have no different values; for booleans by default."""
    message = f'{key} extra spec explicitly set to'
    differs = is_broken or (lambda guest: guest.differs(key))
    return Rule(f'{name}_of_image', 'FlavorImageConflict', since, differs, message, _EQUAL)


# fmt: off
RULES = (
    Rule('image_value', 'InvalidRequest', 24, conditions.is_image_invalid,
         'Invalid image metadata', 'a valid value of the image property'),
    Rule('policy', 'InvalidCPUAllocationPolicy', 24,
         lambda guest: (guest.spec(POLICY) or SHARED) not in POLICIES,
         'CPU policy requested from', 'hw:cpu_policy shared, dedicated or mixed'),
    Rule('policy_of_image', 'ImageCPUPinningForbidden', 24, conditions.is_policy_of_image_forbidden,
         "Image property 'hw_cpu_policy' is not permitted to override", _EQUAL),
    Rule('threads', 'InvalidCPUThreadAllocationPolicy', 24,
         lambda guest: (guest.spec(THREADS) or PREFER) not in THREAD_POLICIES,
         'CPU thread policy requested from', 'hw:cpu_thread_policy prefer, isolate or require'),
    Rule('threads_of_image', 'ImageCPUThreadPolicyForbidden', 24,
         conditions.is_threads_of_image_forbidden,
         "Image property 'hw_cpu_thread_policy' is not permitted to override", _EQUAL),
    Rule('realtime_mask', 'RealtimeMaskNotFoundOrInvalid', 24, conditions.is_realtime_mask_full,
         'Use of realtime CPUs requires either one or more non-realtime CPU(s)',
         'hw:cpu_realtime_mask with some, but not all CPUs of the flavor'),
    Rule('realtime_emulator', 'InvalidEmulatorThreadsPolicy', 24,
         lambda guest: guest.is_realtime and guest.emulator not in (None, 'share', ISOLATE),
         'CPU emulator threads option requested is invalid', _EMULATORS),
    Rule('realtime_subset', 'RealtimeMaskNotFoundOrInvalid', 24,
         lambda guest: guest.is_realtime and not guest.realtime_cpus <= guest.cpus,
         'that are not a subset of the vCPUs in the flavor',
         'hw:cpu_realtime_mask with CPUs of the flavor only'),
    Rule('dedicated_mask', 'InvalidMixedInstanceDedicatedMask', 24,
         lambda guest: guest.has_dedicated_mask and (
             not guest.dedicated_cpus or guest.dedicated_cpus >= guest.cpus),
         'Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU.',
         'hw:cpu_dedicated_mask with some, but not all CPUs of the flavor'),
    Rule('dedicated_subset', 'InvalidMixedInstanceDedicatedMask', 24,
         lambda guest: guest.has_dedicated_mask and not guest.dedicated_cpus <= guest.cpus,
         'Mixed instance dedicated vCPU(s) mask is not a subset of',
         'hw:cpu_dedicated_mask with CPUs of the flavor only'),
    Rule('emulator', 'InvalidEmulatorThreadsPolicy', 24,
         lambda guest: guest.emulator not in (None, 'share', ISOLATE),
         'CPU emulator threads option requested is invalid', _EMULATORS),
    Rule('policy_and_classes', 'InvalidRequest', 24,
         lambda guest: bool(guest.requested('VCPU') or guest.requested('PCPU'))
         and bool(guest.explicit_policy),
         "It is not possible to use the 'resources:VCPU' or 'resources:PCPU' extra specs in "
         "combination with the 'hw:cpu_policy' extra spec",
         'either a CPU policy, or the resource classes of CPUs'),
    Rule('both_classes', 'InvalidRequest', 24,
         lambda guest: bool(guest.requested('VCPU') and guest.requested('PCPU')),
         "It is not possible to specify both 'resources:VCPU' and 'resources:PCPU' extra specs",
         'either resources:VCPU or resources:PCPU'),
    Rule('pinned_cpus', 'InvalidRequest', 24,
         lambda guest: guest.requested('PCPU') not in (
             0, guest.size + (guest.emulator == ISOLATE)),
         'you must allocate exactly flavor.vcpus',
         'resources:PCPU with the CPUs of the flavor, and one more for isolated emulator threads'),
    Rule('threads_and_trait', 'InvalidRequest', 24,
         lambda guest: bool(guest.explicit_threads) and bool(guest.hyperthreading),
         "It is not possible to use the 'trait:HW_CPU_HYPERTHREADING' extra spec in combination",
         'either a thread policy, or the trait HW_CPU_HYPERTHREADING'),
    Rule('threads_unpinned', 'CPUThreadPolicyConfigurationInvalid', 24,
         lambda guest: guest.has_threads and not guest.is_pinned,
         'Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy',
         'hw:cpu_policy=dedicated, or no thread policy'),
    Rule('emulator_unpinned', 'BadRequirementEmulatorThreadsPolicy', 24,
         lambda guest: guest.emulator == ISOLATE and not guest.is_pinned,
         'An isolated CPU emulator threads option requires a dedicated CPU policy option.',
         'hw:cpu_policy=dedicated, or no hw:emulator_threads_policy'),
    Rule('dedicated_mask_unmixed', 'RequiredMixedInstancePolicy', 24,
         lambda guest: guest.has_dedicated_mask and guest.policy != MIXED,
         "Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy.",
         'hw:cpu_policy=mixed, or no hw:cpu_dedicated_mask'),
    Rule('realtime_unpinned', 'RealtimeConfigurationInvalid', 24,
         lambda guest: guest.is_realtime and not guest.is_pinned,
         'Cannot set realtime policy in a non dedicated cpu pinning policy',
         'hw:cpu_policy=dedicated, or no hw:cpu_realtime'),
    Rule('mixed_without_mask', 'RequiredMixedOrRealtimeCPUMask', 24,
         lambda guest: guest.has_dedicated_mask is guest.is_realtime and guest.policy == MIXED,
         "Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or "
         "'hw:cpu_realtime_mask' when using 'mixed' CPU policy",
         'either hw:cpu_dedicated_mask or hw:cpu_realtime with a mask, or another hw:cpu_policy'),
    Rule('nodes_of_image', 'ImageNUMATopologyForbidden', 24,
         lambda guest: bool(guest.spec(NODES)) and bool(guest.number_of_image(NODES)),
         "Image property 'hw_numa_nodes' is not permitted to override NUMA configuration",
         'an image without hw_numa_nodes, or a flavor without hw:numa_nodes'),
    Rule('nodes', 'InvalidNUMANodesNumber', 24, conditions.is_number_of_nodes_invalid,
         "The property 'numa_nodes' cannot be", 'a number of NUMA nodes of at least 1'),
    Rule('pages_of_image', 'MemoryPageSizeForbidden', 24, conditions.is_page_size_forbidden,
         'forbidden against', 'an image without hw_mem_page_size, or hw:mem_page_size=any'),
    Rule('pages', 'MemoryPageSizeInvalid', 24, conditions.is_page_size_invalid,
         'Invalid memory page size', 'a page size such as large, 2048 (KiB) or 1GB'),
    Rule('locked_of_image', 'FlavorImageLockedMemoryConflict', 26,
         lambda guest: guest.differs(LOCKED), 'locked_memory value in image', _EQUAL),
    Rule('locked_without_pages', 'LockMemoryForbidden', 26, conditions.is_locked_without_pages,
         'locked_memory value in image or flavor is forbidden when mem_page_size is not set.',
         'hw:mem_page_size with a page size, or no locked memory'),
    _conflict('encryption', 24, ENCRYPTION),
    _conflict('model', 32, 'hw:mem_encryption_model', conditions.is_model_of_image_other),
    Rule('model', 'Invalid', 34, lambda guest: conditions.model(guest) not in (None, *MODELS),
         'Invalid memory encryption model', f'hw:mem_encryption_model {", ".join(MODELS)}'),
    Rule('encryption_without_uefi', 'FlavorImageConflict', 24,
         lambda guest: guest.is_on(ENCRYPTION) and guest.of_image('hw:firmware_type') != 'uefi',
         "'hw_firmware_type' property set to 'uefi'", 'an image with hw_firmware_type=uefi'),
    Rule('encryption_without_q35', 'InvalidMachineType', 24, conditions.is_machine_type_invalid,
         'Machine type', 'an image with hw_machine_type=q35'),
    Rule('encryption_stateful', 'StatelessFirmwareRequired', 34,
         lambda guest: conditions.model(guest) in STATELESS
         and not guest.flag_of_image('hw:firmware_stateless'),
         'stateless firmware', 'an image with hw_firmware_stateless=true'),
    Rule('encryption_with_video', 'InvalidVideoMode', 34,
         lambda guest: conditions.model(guest) == 'intel-tdx'
         and guest.of_image('hw:video_model') != 'none',
         'is incompatible with an attached video device', 'an image with hw_video_model=none'),
    Rule('numa_cpus_of_both', 'ImageNUMATopologyForbidden', 24,
         lambda guest: guest.has_topology and guest.has_numa_cpus_twice,
         "Image property 'hw_numa_cpus' is not permitted to override NUMA configuration",
         'an image without hw_numa_cpus, or a flavor without hw:numa_cpus'),
    Rule('numa_memory_of_both', 'ImageNUMATopologyForbidden', 24,
         lambda guest: guest.has_topology and guest.has_numa_memory_twice,
         "Image property 'hw_numa_mem' is not permitted to override NUMA configuration",
         'an image without hw_numa_mem, or a flavor without hw:numa_mem'),
    Rule('asymmetric', 'ImageNUMATopologyAsymmetric', 24, conditions.is_asymmetric,
         'Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes.',
         'a number of NUMA nodes that divides the CPUs and the memory of the flavor'),
    Rule('incomplete', 'ImageNUMATopologyIncomplete', 24, conditions.is_incomplete,
         'CPU and memory allocation must be provided for all NUMA nodes',
         'the CPUs and the memory of each of the NUMA nodes'),
    Rule('numa_cpu_out_of_range', 'ImageNUMATopologyCPUOutOfRange', 24,
         lambda guest: any(cpu >= guest.size for cpu in conditions.numa_cpus(guest)),
         'is larger than max', 'CPUs of the flavor in hw:numa_cpus'),
    Rule('numa_cpu_twice', 'ImageNUMATopologyCPUDuplicates', 24,
         lambda guest: len(conditions.numa_cpus(guest)) > len({*conditions.numa_cpus(guest)}),
         'is assigned to two nodes', 'each CPU in one NUMA node only'),
    Rule('numa_cpu_unassigned', 'ImageNUMATopologyCPUsUnassigned', 24,
         lambda guest: conditions.is_manual(guest)
         and not guest.cpus <= {*conditions.numa_cpus(guest)}, 'is not assigned to any node',
         'each CPU of the flavor in a NUMA node'),
    Rule('numa_memory', 'ImageNUMATopologyMemoryOutOfRange', 24,
         lambda guest: conditions.is_manual(guest) and sum(guest.numa_memory) != guest.memory,
         'MB of memory assigned, but expected', 'NUMA nodes with all memory of the flavor'),
    Rule('affinity_of_image', 'ImagePCINUMAPolicyForbidden', 24,
         lambda guest: guest.conflicts(AFFINITY),
         "Image property 'hw_pci_numa_affinity_policy' is not permitted to override", _EQUAL),
    Rule('affinity', 'InvalidPCINUMAAffinity', 24,
         lambda guest: (guest.spec(AFFINITY) or 'legacy') not in AFFINITIES,
         'Invalid PCI NUMA affinity configured', f'{AFFINITY} {", ".join(AFFINITIES)}'),
    Rule('alias', 'PciRequestAliasNotDefined', 24, conditions.is_alias_undefined,
         'is not defined', 'an alias that [pci] alias of nova-api defines'),
    _conflict('ephemeral', 26, EPHEMERAL),
    _conflict('ephemeral_format', 26, f'{EPHEMERAL}_format',
              lambda guest: guest.conflicts(f'{EPHEMERAL}_format') and guest.is_on(EPHEMERAL)),
    _conflict('packed_ring', 29, 'hw:virtio_packed_ring'),
    _conflict('pmu', 25, 'hw:pmu'),
    Rule('ports', 'ImageSerialPortNumberInvalid', 24,
         lambda guest: bool(guest.spec(PORTS)) and conditions.is_no_number(guest, [PORTS]),
         'Number of serial ports specified in flavor is invalid', f'a number in {PORTS}'),
    Rule('ports_of_image', 'ImageSerialPortNumberExceedFlavorValue', 24,
         lambda guest: bool(guest.spec(PORTS))
         and guest.number_of_image(PORTS) > guest.number(PORTS) != 0,
         'Forbidden to exceed flavor value of number of serial ports',
         'an image with at most the serial ports of the flavor'),
    Rule('most_units', 'InvalidRequest', 24, lambda guest: conditions.is_no_number(guest, MOST),
         'Invalid flavor extra spec. Error', 'numbers of sockets, cores and threads'),
    Rule('most_units_of_image', 'ImageVCPULimitsRangeExceeded', 24, conditions.are_limits_exceeded,
         'exceeds the limits of the flavor', 'an image with at most the limits of the flavor'),
    Rule('units', 'InvalidRequest', 24, lambda guest: conditions.is_no_number(guest, PREFERRED),
         'Invalid flavor extra spec. Error', 'numbers of sockets, cores and threads'),
    Rule('units_of_image', 'ImageVCPUTopologyRangeExceeded', 24, conditions.are_units_too_many,
         'exceeds the limits of the flavor or image', 'an image with smaller numbers'),
    _conflict('multiqueue', 25, MULTIQUEUE,  # which Nova ignores for one CPU
              lambda guest: guest.differs(MULTIQUEUE) and guest.size > 1),
    _conflict('sound', 32, SOUND, lambda guest: guest.conflicts(SOUND)),
)
# fmt: on
