"""Generate flavors and images with one to four settings that nova-api checks together."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

_RARELY, _MOSTLY = 0.2, 0.7
#: Settings in one combination.
_MOST = 4

_MASKS = ('0', '0-1', '^0', '1-3', '0-7', '^0-3', '', '0,9', 'x', '3-1')
_GROUPS = {
    'cpus': {
        'hw:cpu_policy': ('shared', 'dedicated', 'mixed', 'other'),
        'hw:cpu_thread_policy': ('prefer', 'isolate', 'require', 'other'),
        'trait:HW_CPU_HYPERTHREADING': ('required', 'forbidden'),
        'hw:cpu_realtime_mask': _MASKS,
    },
    'nodes': {
        'hw:numa_nodes': ('0', '1', '2', '3', 'x'),
        'hw:numa_cpus.0': ('0', '0-1', '0-3', '0-1,9'),
        'hw:numa_cpus.1': ('1', '2-3', '1-3'),
        'hw:numa_mem.0': ('512', '1024', '2048', 'x'),
        'hw:numa_mem.1': ('512', '1024'),
    },
    'memory': {
        'hw:mem_page_size': ('small', 'large', 'any', '2048', '1GB', '1G', '2M', '0', '0KB'),
        'hw:locked_memory': ('true', 'no'),
        'hw:mem_encryption': ('true', 'False', '1'),
        'hw:mem_encryption_model': ('amd-sev', 'amd-sev-es', 'amd-sev-snp', 'intel-tdx'),
    },
    'devices': {
        'hw:pci_numa_affinity_policy': ('required', 'legacy', 'preferred', 'socket'),
        'hw:pmu': ('true', 'false'),
        'hw:serial_port_count': ('0', '1', '4', 'x', ''),
        'hw:cpu_sockets': ('1', '4', '8', 'x'),
        'hw:cpu_cores': ('1', '4'),
        'hw:cpu_max_sockets': ('1', '4', 'x'),
        'hw:cpu_max_threads': ('1', '2'),
        'hw:vif_multiqueue_enabled': ('true', 'false'),
        'hw:virtio_packed_ring': ('true', 'false'),
        'hw:sound_model': ('usb', 'virtio'),
        'hw:ephemeral_encryption': ('true', 'false'),
        'hw:ephemeral_encryption_format': ('luks', 'plain'),
    },
}
_OF_FLAVOR = {
    'cpus': {
        'hw:cpu_realtime': ('true', 'no'),
        'hw:cpu_dedicated_mask': _MASKS,
        'hw:emulator_threads_policy': ('share', 'isolate', 'other'),
        'resources:VCPU': ('1', '4'),
        'resources:PCPU': ('1', '4', '5', 'x'),
        'resources1:PCPU': ('2',),
        'trait1:HW_CPU_HYPERTHREADING': ('required',),
    },
    'nodes': {
        'hw:numa_cpus.0': ('x',),
        'hw:pmem': ('4GB', ' ,'),
        'hw:cpu_policy': ('dedicated',),
        'hw:mem_page_size': ('large',),
    },
    'memory': {'hw:mem_encryption_model': ('other',)},
    'devices': {
        'hw:pci_numa_affinity_policy': ('other',),
        'pci_passthrough:alias': ('gpu:1', 'nope:1', 'gpu:1, nic:2', 'gpu', 'gpu:x'),
    },
}
_OF_IMAGE = {
    'memory': {
        'hw:firmware_type': ('uefi', 'uefi', 'bios', 'other'),
        'hw:firmware_stateless': ('true', 'false'),
        'hw:machine_type': ('pc', 'pc-q35-6.2'),
        'hw:video_model': ('none', 'vga'),
    },
    'devices': {'os:type': ('linux',)},
}
#: An extra spec, its value, and whether it is a property of the image.
_Setting = tuple[str, str, bool]


def _settings(group: str) -> tuple[_Setting, ...]:
    of_flavor = {**_GROUPS[group], **_OF_FLAVOR.get(group, {})}
    of_image = {**_GROUPS[group], **_OF_IMAGE.get(group, {})}
    return (
        *((key, value, False) for key, values in of_flavor.items() for value in values),
        *((key, value, False) for key, values in _GROUPS[group].items() for value in values),
        *((key, value, True) for key, values in of_image.items() for value in values),
    )


#: Settings for which Nova has several rules.
_BASES: tuple[tuple[_Setting, ...], ...] = (
    (('hw:mem_encryption', 'true', False), ('hw:firmware_type', 'uefi', True)),
    (('hw:mem_encryption', 'true', False), ('hw:mem_encryption_model', 'intel-tdx', False),
     ('hw:firmware_type', 'uefi', True), ('hw:firmware_stateless', 'true', True)),
    (('hw:cpu_policy', 'dedicated', False), ('hw:numa_cpus.0', '0-1', False),
     ('hw:numa_mem.0', '1024', False)),
    (('hw:numa_nodes', '2', False), ('hw:numa_cpus.0', '0-1', False),
     ('hw:numa_cpus.1', '1', False), ('hw:numa_mem.0', '1024', False),
     ('hw:numa_mem.1', '1024', False)),
    (('hw:cpu_policy', 'mixed', False), ('hw:cpu_dedicated_mask', '0', False)),
    (('hw:cpu_policy', 'dedicated', False), ('hw:cpu_realtime', 'true', False)),
)  # fmt: skip
_ALL = tuple(setting for group in _GROUPS for setting in _settings(group))
_OF_GROUPS = (*map(_settings, _GROUPS), _ALL)


def _of_image(key: str) -> str:
    return key if key.startswith('trait:') else key.replace(':', '_', 1)


@dataclass(frozen=True)
class Combination:
    """The input of nova-api's checks; ``ram`` in MiB."""

    extra_specs: dict[str, str]
    image: dict[str, str]
    vcpus: int
    ram: int


def combination(random: Random) -> Combination:
    """Return one to four settings, often of one group, and often of flavor and image alike."""
    settings = random.choice(_OF_GROUPS)
    chosen = [*random.choice(_BASES)] if random.random() < _RARELY else [random.choice(settings)]
    for _number in range(random.randrange(max(1, _MOST - len(chosen) + 1))):
        key = random.choice(chosen)[0]
        alike = [each for each in _ALL if each[0] == key]
        chosen.append(random.choice(settings if random.random() < _MOSTLY else alike))
    return Combination(
        {key: value for key, value, is_of_image in chosen if not is_of_image},
        {_of_image(key): value for key, value, is_of_image in chosen if is_of_image},
        random.choice((1, 2, 4, 4, 8)),
        random.choice((1024, 2048)),
    )
