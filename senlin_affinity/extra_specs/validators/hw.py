"""Declare the extra specs for virtual hardware: CPUs, memory and devices of the guest.

An entry of the table is ``key: value; needs KEYS; flavors only``, followed by its effect. The value
is a key of ``_VALUES``, or the words of an enumeration. Without "flavors only", an image may also
request it.
"""

from __future__ import annotations

import re

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.validators.patterns import CPU_MAP, NAMES, PAGE_SIZE
from senlin_affinity.extra_specs.values import Value

_VALUES = {
    'flag': Value(bool),
    'count': Value(int, min=1),
    'cpus': Value(str, 'A map of guest CPUs.', pattern=CPU_MAP),
    'memory': Value(int, 'Memory in MB.', min=1),
    'pages': Value(str, 'KiB where there is no unit.', pattern=PAGE_SIZE),
    'labels': Value(str, 'Labels, with commas.', pattern=NAMES),
    'number from 0': Value(int, min=0),
    'number from 0 to 15': Value(int, min=0, max=15),
}
_NODE = Parameter('num', r'\d+', 'The NUMA node of the guest, from 0.')
#: Those of other names.
_IMAGE_PROPERTIES = {'hide_hypervisor_id': 'img_hide_hypervisor_id'}
_ENTRY = re.compile(r'(\S+): ([^;\n]+)(?:; needs ([^;\n]+))?(; flavors only)?((?:\n +.*)+)\n')

_TABLE = """
cpu_policy: dedicated shared mixed
    How guest CPUs use host CPUs. ``shared``: they float over the shared host CPUs. ``dedicated``:
    each guest CPU is pinned to its own host CPU. ``mixed``: a mask selects the dedicated CPUs.
cpu_thread_policy: prefer isolate require; needs cpu_policy
    How dedicated CPUs use hardware threads. ``prefer``: thread siblings are used if the host has
    them. ``require``: the host must have them. ``isolate``: no two guest CPUs share a core.
cpu_dedicated_mask: cpus; needs cpu_policy; flavors only
    The guest CPUs that are dedicated; the others are shared.
emulator_threads_policy: isolate share; needs cpu_policy; flavors only
    Where the emulator threads run: on a separate host CPU (``isolate``), or on the shared host
    CPUs (``share``).
cpu_realtime: flag; needs cpu_policy cpu_realtime_mask; flavors only
    Run the guest CPUs with real-time priority.
cpu_realtime_mask: cpus; needs cpu_realtime
    The guest CPUs with real-time priority; a caret excludes CPUs.
cpu_sockets: count
    How many CPU sockets the guest sees.
cpu_cores: count
    How many cores in each socket the guest sees.
cpu_threads: count
    How many threads in each core the guest sees.
cpu_max_sockets: count
    The maximum number of CPU sockets that an image may request.
cpu_max_cores: count
    The maximum number of cores in each socket that an image may request.
cpu_max_threads: count
    The maximum number of threads in each core that an image may request.
numa_nodes: count
    The number of NUMA nodes of the guest. Each guest node is placed on a different host node.
numa_cpus.{num}: cpus; needs numa_nodes numa_mem.{num}
    The CPUs of the guest NUMA node ``{num}``, if CPUs are not distributed evenly.
numa_mem.{num}: memory; needs numa_nodes numa_cpus.{num}
    The memory of the guest NUMA node ``{num}``, if memory is not distributed evenly.
pci_numa_affinity_policy: required preferred legacy socket
    The NUMA affinity of PCI devices. ``required``: on a NUMA node of the guest. ``socket``: on the
    same host socket. ``preferred``: on any node. ``legacy``: as ``required``, for devices that
    report their node.
mem_page_size: pages
    The size of the guest's memory pages: ``small``, ``large``, ``any``, or a size such
    as ``2MB``.
locked_memory: flag; needs mem_page_size
    Keep the memory of the guest from being swapped out.
mem_encryption: flag
    Encrypt the memory of the guest.
mem_encryption_model: amd-sev amd-sev-es amd-sev-snp intel-tdx; needs mem_encryption
    The feature of the CPU that encrypts the memory.
pmem: labels; flavors only
    Persistent memory, by the labels that are configured on the hosts.
boot_menu: flag
    Show a boot menu when the guest starts.
ephemeral_encryption: flag
    Encrypt the local disks of the guest.
ephemeral_encryption_format: plain luks luksv2; needs ephemeral_encryption
    The format in which local disks are encrypted.
hide_hypervisor_id: flag; flavors only
    Hide from the guest which hypervisor it runs on.
pmu: flag
    Give the guest a performance monitoring unit (for ``perf``).
redirected_usb_ports: number from 0 to 15; needs usb_model
    The number of USB ports for devices that are redirected over the network.
serial_port_count: number from 0
    The number of serial ports of the guest. An image may request fewer.
sound_model: sb16 es1370 pcspk ac97 ich6 ich9 usb virtio
    The model of the sound card; no sound card by default.
tpm_model: tpm-tis tpm-crb
    The kind of virtual TPM.
tpm_secret_security: user host deployment; needs tpm_version; flavors only
    Who may read the secret of the virtual TPM: its ``user``, the ``host``, or every host of the
    ``deployment``.
tpm_version: 1.2 2.0
    The version of the virtual TPM.
usb_model: none nec-xhci qemu-xhci
    The model of the USB controller.
vif_multiqueue_enabled: flag
    Give virtio network cards a queue for each guest CPU.
viommu_model: intel smmuv3 virtio auto
    The kind of virtual IOMMU.
virtio_packed_ring: flag
    Let the guest use the packed form of virtio queues.
watchdog_action: none pause poweroff reset disabled
    What happens to the guest when its watchdog expires.
"""


def _read(table: str) -> tuple[ExtraSpecValidator, ...]:
    return tuple(
        ExtraSpecValidator(
            f'hw:{key}',
            ' '.join(description.split()),
            _VALUES.get(value) or Value(str, enum=tuple(value.split())),
            [_NODE] if '{num}' in key else (),
            image_property=_IMAGE_PROPERTIES.get(key, None if flavors_only else f'hw_{key}'),
            drivers=('libvirt',),
            depends_on=[f'hw:{each}' for each in needs.split()],
        )
        for key, value, needs, flavors_only, description in _ENTRY.findall(table)
    )


VALIDATORS = (
    *_read(_TABLE),
    ExtraSpecValidator(
        'hide_hypervisor_id',
        'Hide from the guest which hypervisor it runs on.',
        _VALUES['flag'],
        deprecated=True,
        replaced_by='hw:hide_hypervisor_id',
        drivers=('libvirt',),
    ),
)
