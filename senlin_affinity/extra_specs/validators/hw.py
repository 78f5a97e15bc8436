"""The virtual hardware of a server: CPUs, memory and devices that the guest sees."""

from __future__ import annotations

from typing import Any

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.validators.patterns import CPU_MAP, NAMES, PAGE_SIZE
from senlin_affinity.extra_specs.values import Value

_FLAG, _COUNT = Value(bool), Value(int, min=1)
_CPUS = Value(str, 'A map of guest CPUs.', pattern=CPU_MAP)
_NODE = Parameter('num', r'\d+', 'The NUMA node of the guest, from 0.')


def _enum(words: str) -> Value:
    return Value(str, enum=tuple(words.split()))


def _flavors(
    key: str, description: str, value: Value, needs: str = '', **more: Any
) -> ExtraSpecValidator:
    """What only a flavor can ask for."""
    depends_on = [f'hw:{each}' for each in needs.split()]
    return ExtraSpecValidator(
        f'hw:{key}', description, value, drivers=('libvirt',), depends_on=depends_on, **more
    )


def _spec(*given: Any, **more: Any) -> ExtraSpecValidator:
    """What an image can ask for, too."""
    return _flavors(*given, image_property=f'hw_{given[0]}', **more)


_CPU = (
    _spec(
        'cpu_policy',
        'How the CPUs of the guest share those of the host. ``shared`` lets them float over all '
        'host CPUs that are for sharing, ``dedicated`` gives each a host CPU of its own, and '
        '``mixed`` does the one or the other, as a mask says.',
        _enum('dedicated shared mixed'),
    ),
    _spec(
        'cpu_thread_policy',
        'How dedicated CPUs use hosts with hardware threads. ``prefer`` takes such a host if there '
        'is one, ``require`` takes no other, ``isolate`` never lets two guest CPUs meet on one '
        'core.',
        _enum('prefer isolate require'),
        'cpu_policy',
    ),
    _flavors(
        'cpu_dedicated_mask',
        'Which guest CPUs get a host CPU of their own; the others share.',
        _CPUS,
        'cpu_policy',
    ),
    _flavors(
        'emulator_threads_policy',
        'Where the threads of the emulator itself run: on a host CPU of their own (``isolate``), '
        'or on the pool of shared ones (``share``).',
        _enum('isolate share'),
        'cpu_policy',
    ),
    _flavors(
        'cpu_realtime',
        'Run the guest CPUs with real-time priority.',
        _FLAG,
        'cpu_policy cpu_realtime_mask',
    ),
    _spec(
        'cpu_realtime_mask',
        'Which guest CPUs run in real time; those behind a caret do not.',
        _CPUS,
        'cpu_realtime',
    ),
)

_TOPOLOGY = tuple(
    _spec(f'{name}_{key}', words.format(what), _COUNT)
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
    _spec(
        'numa_nodes',
        'How many NUMA nodes the guest has. Each is put on another one of the host.',
        _COUNT,
    ),
    _spec(
        'numa_cpus.{num}',
        'Which guest CPUs belong to the guest NUMA node ``{num}``, where they are not spread '
        'evenly.',
        _CPUS,
        'numa_nodes numa_mem.{num}',
        parameters=[_NODE],
    ),
    _spec(
        'numa_mem.{num}',
        'How much of its memory the guest NUMA node ``{num}`` has, where it is not spread evenly.',
        Value(int, 'Memory in MB.', min=1),
        'numa_nodes numa_cpus.{num}',
        parameters=[_NODE],
    ),
    _spec(
        'pci_numa_affinity_policy',
        'How near PCI devices must be to the NUMA nodes of the guest. ``required``: on one of '
        'them. ``socket``: at the same host socket. ``preferred``: wherever there is one. '
        '``legacy``: on one of them, if the device tells its node at all.',
        _enum('required preferred legacy socket'),
    ),
)

_MEMORY = (
    _spec(
        'mem_page_size',
        'The size of the memory pages behind the guest: ``small``, ``large``, ``any``, or a size '
        'such as ``2MB``.',
        Value(str, 'KiB where there is no unit.', pattern=PAGE_SIZE),
    ),
    _spec(
        'locked_memory',
        'Keep the memory of the guest from being swapped out.',
        _FLAG,
        'mem_page_size',
    ),
    _spec('mem_encryption', 'Encrypt the memory of the guest.', _FLAG),
    _spec(
        'mem_encryption_model',
        'The feature of the CPU that encrypts the memory.',
        _enum('amd-sev amd-sev-es amd-sev-snp intel-tdx'),
        'mem_encryption',
    ),
    _flavors(
        'pmem',
        'Persistent memory, by the labels that are configured on the hosts.',
        Value(str, 'Labels, with commas.', pattern=NAMES),
    ),
)

_DEVICES = (
    _spec('boot_menu', 'Show a boot menu when the guest starts.', _FLAG),
    _spec('ephemeral_encryption', 'Encrypt the local disks of the guest.', _FLAG),
    _spec(
        'ephemeral_encryption_format',
        'The format in which local disks are encrypted.',
        _enum('plain luks luksv2'),
        'ephemeral_encryption',
    ),
    _flavors('hide_hypervisor_id', 'Hide from the guest which hypervisor it runs on.', _FLAG),
    _spec('pmu', 'Show the guest a unit that counts the events of its CPUs (for ``perf``).', _FLAG),
    _spec(
        'redirected_usb_ports',
        'How many USB ports the guest has whose devices come over the network.',
        Value(int, min=0, max=15),
        'usb_model',
    ),
    _spec(
        'serial_port_count',
        'How many serial ports the guest has. An image may ask for fewer.',
        Value(int, min=0),
    ),
    _spec(
        'sound_model',
        'The kind of sound card. Without it, there is none.',
        _enum('sb16 es1370 pcspk ac97 ich6 ich9 usb virtio'),
    ),
    _spec('tpm_model', 'The kind of virtual TPM.', _enum('tpm-tis tpm-crb')),
    _flavors(
        'tpm_secret_security',
        'Who may read the secret of the virtual TPM: its ``user``, the ``host``, or every host of '
        'the ``deployment``.',
        _enum('user host deployment'),
        'tpm_version',
    ),
    _spec('tpm_version', 'The version of the virtual TPM.', _enum('1.2 2.0')),
    _spec(
        'usb_model',
        'The kind of USB controller. Without it, there is none.',
        _enum('none nec-xhci qemu-xhci'),
    ),
    _spec('vif_multiqueue_enabled', 'Give virtio network cards a queue for each guest CPU.', _FLAG),
    _spec('viommu_model', 'The kind of virtual IOMMU.', _enum('intel smmuv3 virtio auto')),
    _spec('virtio_packed_ring', 'Let the guest use the packed form of virtio queues.', _FLAG),
    _spec(
        'watchdog_action',
        'What happens to the guest when its watchdog is not fed.',
        _enum('none pause poweroff reset disabled'),
    ),
)

_OLD = ExtraSpecValidator(
    'hide_hypervisor_id',
    'Hide from the guest which hypervisor it runs on.',
    _FLAG,
    deprecated=True,
    replaced_by='hw:hide_hypervisor_id',
    drivers=('libvirt',),
)

VALIDATORS = (*_CPU, *_TOPOLOGY, *_NUMA, *_MEMORY, *_DEVICES, _OLD)
