"""The virtual hardware of a server."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.validators.patterns import CPU_MAP, NAMES, PAGE_SIZE

_LIBVIRT = ('libvirt',)
_NODE = {'name': 'num', 'type': int, 'description': 'The NUMA node of the guest, from 0.'}

_CPUS = (
    ExtraSpecValidator(
        name='hw:cpu_policy',
        description=(
            'How the CPUs of the guest share those of the host. ``shared`` lets them float over '
            'all host CPUs that are for sharing, ``dedicated`` gives each a host CPU of its own, '
            'and ``mixed`` does the one or the other, as a mask says.'
        ),
        value={'type': str, 'enum': ['dedicated', 'shared', 'mixed']},
        image_property='hw_cpu_policy',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:cpu_thread_policy',
        description=(
            'How dedicated CPUs use hosts with hardware threads. ``prefer`` takes such a host if '
            'there is one, ``require`` takes no other, ``isolate`` never lets two guest CPUs meet '
            'on one core.'
        ),
        value={'type': str, 'enum': ['prefer', 'isolate', 'require']},
        image_property='hw_cpu_thread_policy',
        drivers=_LIBVIRT,
        depends_on=('hw:cpu_policy',),
    ),
    ExtraSpecValidator(
        name='hw:cpu_dedicated_mask',
        description='Which guest CPUs get a host CPU of their own; the others share.',
        value={'type': str, 'description': 'A map of guest CPUs.', 'pattern': CPU_MAP},
        drivers=_LIBVIRT,
        depends_on=('hw:cpu_policy',),
    ),
    ExtraSpecValidator(
        name='hw:emulator_threads_policy',
        description=(
            'Where the threads of the emulator itself run: on a host CPU of their own '
            '(``isolate``), or on the pool of shared ones (``share``).'
        ),
        value={'type': str, 'enum': ['isolate', 'share']},
        drivers=_LIBVIRT,
        depends_on=('hw:cpu_policy',),
    ),
    ExtraSpecValidator(
        name='hw:cpu_realtime',
        description='Run the guest CPUs with real-time priority.',
        value={'type': bool},
        drivers=_LIBVIRT,
        depends_on=('hw:cpu_policy', 'hw:cpu_realtime_mask'),
    ),
    ExtraSpecValidator(
        name='hw:cpu_realtime_mask',
        description='Which guest CPUs run in real time; those behind a caret do not.',
        value={'type': str, 'description': 'A map of guest CPUs.', 'pattern': CPU_MAP},
        image_property='hw_cpu_realtime_mask',
        drivers=_LIBVIRT,
        depends_on=('hw:cpu_realtime',),
    ),
)


_TOPOLOGY = tuple(
    ExtraSpecValidator(
        name=f'hw:{name}_{key}',
        description=words.format(what),
        value={'type': int, 'min': 1},
        image_property=f'hw_{name}_{key}',
        drivers=_LIBVIRT,
    )
    for name, words in (
        ('cpu', 'How many {} the guest sees.'),
        ('cpu_max', 'The most {} that an image may ask for.'),
    )
    for key, what in (
        ('sockets', 'CPU sockets'),
        ('cores', 'cores in each socket'),
        ('threads', 'threads in each core'),
    )
)

_NUMA = (
    ExtraSpecValidator(
        name='hw:numa_nodes',
        description='How many NUMA nodes the guest has. Each is put on another one of the host.',
        value={'type': int, 'min': 1},
        image_property='hw_numa_nodes',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:numa_cpus.{num}',
        description=(
            'Which guest CPUs belong to the guest NUMA node ``{num}``, where they are not spread '
            'evenly.'
        ),
        parameters=[_NODE],
        value={'type': str, 'description': 'A map of guest CPUs.', 'pattern': CPU_MAP},
        image_property='hw_numa_cpus.{num}',
        drivers=_LIBVIRT,
        depends_on=('hw:numa_nodes', 'hw:numa_mem.{num}'),
    ),
    ExtraSpecValidator(
        name='hw:numa_mem.{num}',
        description=(
            'How much of its memory the guest NUMA node ``{num}`` has, where it is not spread '
            'evenly.'
        ),
        parameters=[_NODE],
        value={'type': int, 'description': 'Memory in MB.', 'min': 1},
        image_property='hw_numa_mem.{num}',
        drivers=_LIBVIRT,
        depends_on=('hw:numa_nodes', 'hw:numa_cpus.{num}'),
    ),
    ExtraSpecValidator(
        name='hw:pci_numa_affinity_policy',
        description=(
            'How near PCI devices must be to the NUMA nodes of the guest. ``required``: on one of '
            'them. ``socket``: at the same host socket. ``preferred``: wherever there is one. '
            '``legacy``: on one of them, if the device tells its node at all.'
        ),
        value={'type': str, 'enum': ['required', 'preferred', 'legacy', 'socket']},
        image_property='hw_pci_numa_affinity_policy',
        drivers=_LIBVIRT,
    ),
)

_MEMORY = (
    ExtraSpecValidator(
        name='hw:mem_page_size',
        description=(
            'The size of the memory pages behind the guest: ``small``, ``large``, ``any``, or a '
            'size such as ``2MB``.'
        ),
        value={'type': str, 'description': 'KiB where there is no unit.', 'pattern': PAGE_SIZE},
        image_property='hw_mem_page_size',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:locked_memory',
        description='Keep the memory of the guest from being swapped out.',
        value={'type': bool},
        image_property='hw_locked_memory',
        drivers=_LIBVIRT,
        depends_on=('hw:mem_page_size',),
    ),
    ExtraSpecValidator(
        name='hw:mem_encryption',
        description='Encrypt the memory of the guest.',
        value={'type': bool},
        image_property='hw_mem_encryption',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:mem_encryption_model',
        description='The feature of the CPU that encrypts the memory.',
        value={'type': str, 'enum': ['amd-sev', 'amd-sev-es', 'amd-sev-snp', 'intel-tdx']},
        image_property='hw_mem_encryption_model',
        drivers=_LIBVIRT,
        depends_on=('hw:mem_encryption',),
    ),
    ExtraSpecValidator(
        name='hw:pmem',
        description='Persistent memory, by the labels that are configured on the hosts.',
        value={'type': str, 'description': 'Labels, with commas.', 'pattern': NAMES},
        drivers=_LIBVIRT,
    ),
)


_SWITCHES = tuple(
    ExtraSpecValidator(
        name=f'hw:{key}',
        description=words,
        value={'type': bool},
        image_property=f'hw_{key}',
        drivers=_LIBVIRT,
    )
    for key, words in (
        ('boot_menu', 'Show a boot menu when the guest starts.'),
        ('ephemeral_encryption', 'Encrypt the local disks of the guest.'),
        ('pmu', 'Show the guest a unit that counts the events of its CPUs (for ``perf``).'),
        ('vif_multiqueue_enabled', 'Give virtio network cards a queue for each guest CPU.'),
        ('virtio_packed_ring', 'Let the guest use the packed form of virtio queues.'),
    )
)

_MODELS = tuple(
    ExtraSpecValidator(
        name=f'hw:{key}',
        description=words,
        value={'type': str, 'enum': models.split()},
        image_property=f'hw_{key}',
        drivers=_LIBVIRT,
    )
    for key, words, models in (
        (
            'sound_model',
            'The kind of sound card. Without it, there is none.',
            'sb16 es1370 pcspk ac97 ich6 ich9 usb virtio',
        ),
        ('tpm_model', 'The kind of virtual TPM.', 'tpm-tis tpm-crb'),
        ('tpm_version', 'The version of the virtual TPM.', '1.2 2.0'),
        (
            'usb_model',
            'The kind of USB controller. Without it, there is none.',
            'none nec-xhci qemu-xhci',
        ),
        ('viommu_model', 'The kind of virtual IOMMU.', 'intel smmuv3 virtio auto'),
        (
            'watchdog_action',
            'What happens to the guest when its watchdog is not fed.',
            'none pause poweroff reset disabled',
        ),
    )
)

_DEVICES = (
    ExtraSpecValidator(
        name='hw:hide_hypervisor_id',
        description='Hide from the guest which hypervisor it runs on.',
        value={'type': bool},
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:serial_port_count',
        description='How many serial ports the guest has. An image may ask for fewer.',
        value={'type': int, 'min': 0},
        image_property='hw_serial_port_count',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        name='hw:redirected_usb_ports',
        description='How many USB ports the guest has whose devices come over the network.',
        value={'type': int, 'min': 0, 'max': 15},
        image_property='hw_redirected_usb_ports',
        drivers=_LIBVIRT,
        depends_on=('hw:usb_model',),
    ),
    ExtraSpecValidator(
        name='hw:tpm_secret_security',
        description=(
            'Who may read the secret of the virtual TPM: its ``user``, the ``host``, or every host '
            'of the ``deployment``.'
        ),
        value={'type': str, 'enum': ['user', 'host', 'deployment']},
        drivers=_LIBVIRT,
        depends_on=('hw:tpm_version',),
    ),
    ExtraSpecValidator(
        name='hw:ephemeral_encryption_format',
        description='The format in which local disks are encrypted.',
        value={'type': str, 'enum': ['plain', 'luks', 'luksv2']},
        image_property='hw_ephemeral_encryption_format',
        drivers=_LIBVIRT,
        depends_on=('hw:ephemeral_encryption',),
    ),
)

NAMESPACE = Namespace(
    name='hw',
    title='Virtual hardware',
    summary='The CPUs, memory and devices that the guest sees, and where they come from.',
    validators=_CPUS + _TOPOLOGY + _NUMA + _MEMORY + _SWITCHES + _MODELS + _DEVICES,
)
