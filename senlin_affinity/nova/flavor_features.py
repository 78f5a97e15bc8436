"""Translate the features of a flavor or an image (a TPM, pinned CPUs) into resources and traits.

Example::

    {'hw:tpm_version': '2.0'}     COMPUTE_SECURITY_TPM_2_0 and COMPUTE_SECURITY_TPM_TIS
    {'hw:mem_encryption': '1'}    MEM_ENCRYPTION_CONTEXT: 1, and HW_CPU_X86_AMD_SEV
    {'hw:pmem': '4GB, 4GB'}       CUSTOM_PMEM_NAMESPACE_4GB: 2
    {'hw_disk_bus': 'virtio'}     COMPUTE_STORAGE_BUS_VIRTIO, of the root provider

An image property has an underscore in its name (``hw_tpm_version``). A value that Nova rejects
requests nothing, because no such server is created.

Source: nova-scheduler's own translation and its request filters (Nova 34). Those of the root
provider (``root_required``): accelerators, packed virtio rings, encrypted disks, sound, the owner
of a TPM's secret and, depending on nova.conf, the disk format and the devices of an image
(``require_image_type_support`` and ``transform_image_metadata``, off by default). Earlier releases
do not require the owner of a TPM's secret: it is required here if any host has such a trait. Nova
34 also requires ``OWNER_NOVA`` once every compute service is new enough to have it, which is not
visible. A property of a device with a value that has no trait cancels the traits of all properties.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import TRUE
from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES

DEDICATED, MIXED = 'dedicated', 'mixed'

_TPM_VERSIONS: Mapping[str, str] = {
    '1.2': 'COMPUTE_SECURITY_TPM_1_2',
    '2.0': 'COMPUTE_SECURITY_TPM_2_0',
}
_TPM_MODELS: Mapping[str, str] = {
    'tpm-tis': 'COMPUTE_SECURITY_TPM_TIS',
    'tpm-crb': 'COMPUTE_SECURITY_TPM_CRB',
}
_ENCRYPTED_MEMORY: Mapping[str, str] = {
    'amd-sev': 'HW_CPU_X86_AMD_SEV',
    'amd-sev-es': 'HW_CPU_X86_AMD_SEV_ES',
    'amd-sev-snp': 'HW_CPU_X86_AMD_SEV_SNP',
    'intel-tdx': 'HW_CPU_X86_INTEL_TDX',
}
#: A key, and the trait that one of its values requires.
_BY_VALUE: Mapping[tuple[str, str], str] = {
    ('os:secure_boot', 'required'): 'COMPUTE_SECURITY_UEFI_SECURE_BOOT',
    ('hw:maxphysaddr_mode', 'passthrough'): 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
    ('hw:maxphysaddr_mode', 'emulate'): 'COMPUTE_ADDRESS_SPACE_EMULATED',
    ('hw:pci_numa_affinity_policy', 'socket'): 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY',
}
_HYPERTHREADING = 'HW_CPU_HYPERTHREADING'
_ENCRYPTION = 'COMPUTE_EPHEMERAL_ENCRYPTION'
_FORMATS = ('plain', 'luks', 'luksv2')

_COVERED = """
    hw:tpm_version hw:tpm_model hw:tpm_secret_security hw:mem_encryption hw:mem_encryption_model
    hw:virtio_packed_ring hw:ephemeral_encryption hw:ephemeral_encryption_format hw:sound_model
    hw:firmware_stateless os:secure_boot
"""
#: The extra specs that Placement decides completely.
COVERED = frozenset(_COVERED.split())


@dataclass(frozen=True)
class Features:
    """The resources and traits of features, without the traits of the root provider."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


class Pinning(NamedTuple):
    """A CPU policy, with the amounts that replace the flavor's VCPU, and with its traits."""

    policy: str | None
    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]


class Asked:
    """The extra specs of a flavor and the properties of an image, read together.

    If the image is unknown (None), features that it could change are not requested.
    """

    def __init__(self, specs: Mapping[str, str], image: Mapping[str, str] | None) -> None:
        self.specs, self.properties, self.is_whole = specs, image or {}, image is not None

    def value(self, key: str) -> str:
        """Return the flavor's value, or else the image's, or else ''."""
        return self.specs.get(key) or self.of_image(key)

    def usual(self, value: str) -> str:
        """Return the given default, or '' if the image is unknown."""
        return value if self.is_whole else ''

    def of_image(self, key: str) -> str:
        """Return the image's property for an extra spec, or ''."""
        return self.properties.get(key.replace(':', '_')) or ''

    def is_on(self, key: str) -> bool:
        """Check whether the flavor or the image enables the feature."""
        return _is_true(self.specs.get(key)) or _is_true(self.of_image(key))


def read(asked: Asked) -> Features:
    """Return all features except for pinned CPUs and the traits of the root provider."""
    amounts: Counter[str] = Counter()
    for label in filter(None, map(str.strip, asked.specs.get('hw:pmem', '').split(','))):
        name = re.sub('[^0-9A-Za-z]+', '_', f'PMEM_NAMESPACE_{label}')
        amounts[f'CUSTOM_{name.upper()}'] += 1
    required = {trait for (key, value), trait in _BY_VALUE.items() if asked.value(key) == value}
    version = _TPM_VERSIONS.get(asked.value('hw:tpm_version'))
    model = _TPM_MODELS.get(asked.value('hw:tpm_model') or asked.usual('tpm-tis'))
    if version:
        required |= {version, model} if model else {version}
    if asked.is_on('hw:mem_encryption'):
        amounts['MEM_ENCRYPTION_CONTEXT'] = 1
        model = asked.value('hw:mem_encryption_model') or asked.usual('amd-sev')
        required |= {_ENCRYPTED_MEMORY[model]} if model in _ENCRYPTED_MEMORY else set()
    is_stateless = _is_true(asked.of_image('hw:firmware_stateless'))
    if is_stateless and asked.of_image('hw:firmware_type') == 'uefi':
        required.add('COMPUTE_SECURITY_STATELESS_FIRMWARE')
    return Features(amounts, frozenset(required))


def pinning(asked: Asked, vcpus: int) -> Pinning:
    """Return the CPU policy, its amounts (none unless it pins CPUs), and its traits."""
    none: frozenset[str] = frozenset()
    policy, threads = asked.value('hw:cpu_policy'), asked.value('hw:cpu_thread_policy')
    more = 1 if asked.specs.get('hw:emulator_threads_policy') == 'isolate' else 0
    amounts: dict[str, int] = {}
    if policy == DEDICATED:
        amounts = {'PCPU': vcpus + more}
    elif policy == MIXED:
        pinned = _pinned_of_mixed(asked, vcpus)
        # Without a valid mask, request no CPUs: any number could be too high.
        amounts = {'VCPU': 0} if not pinned else {'VCPU': vcpus - pinned, 'PCPU': pinned + more}
    trait = frozenset((_HYPERTHREADING,))
    required = trait if threads == 'require' else none
    forbidden = trait if threads == 'isolate' else none
    return Pinning(policy or None, amounts, required, forbidden)


def _pinned_of_mixed(asked: Asked, vcpus: int) -> int:
    """Return how many CPUs of a mixed server are pinned; 0 if the mask is malformed."""
    mask = asked.specs.get('hw:cpu_dedicated_mask', '')
    if _is_true(asked.specs.get('hw:cpu_realtime')):  # Nova rejects both
        key = 'hw:cpu_realtime_mask'
        mask = asked.of_image(key) or asked.usual(asked.specs.get(key) or f'0-{vcpus - 1}')
    return len(_cpus(mask, vcpus))


def _cpus(mask: str, vcpus: int) -> set[int]:
    """Return the CPUs of a mask such as ``0-3,^1``; ``^1`` means all CPUs but 1."""
    with_these: set[int] = set()
    without: set[int] = set()
    if mask.strip().startswith('^'):
        mask = f'0-{vcpus - 1},{mask}'
    for part in filter(None, map(str.strip, mask.split(','))):
        first, _to, last = part.removeprefix('^').partition('-')
        try:
            numbers = range(int(first), min(int(last or first), vcpus) + 1)
        except ValueError:
            return set()
        (without if part.startswith('^') else with_these).update(numbers)
    return with_these - without


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() in TRUE


#: The trait that nova-compute adds to its own provider.
OWNER = 'OWNER_NOVA'
_TPM_SECRET = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_'
#: The owners of a TPM's secret.
TPM_SECRETS = frozenset(f'{_TPM_SECRET}{owner}' for owner in ('USER', 'HOST', 'DEPLOYMENT'))


def root_required(request: Request, cloud: Cloud) -> frozenset[str]:
    """Return all traits that the root provider must have."""
    asked, secret = _asked(request), _tpm_secret(request)
    traits = set() if asked is None else _of_root(asked)
    if secret is not None and not TPM_SECRETS.isdisjoint(cloud.traits_of_hosts):
        traits.add(secret)
    for option in (IMAGE_TYPES, IMAGE_METADATA):
        if request.option(option):
            traits |= of_image(request, option)
    return frozenset(traits)


def of_image(request: Request, option: Option) -> set[str]:
    """Return the traits that the image requires if this option of nova.conf is on."""
    if option == IMAGE_TYPES:
        name = (disk_format(request) or '').upper()
        return {f'COMPUTE_IMAGE_TYPE_{name}'} if name in FORMATS else set()
    return of_properties(request.image_properties or {})


def disk_format(request: Request) -> str | None:
    """Return the image's disk format; '' for volume-booted servers, None if unknown."""
    image = request.image
    if request.is_volume_booted:
        return ''
    return None if image is None else image.disk_format


def is_open(request: Request, cloud: Cloud) -> bool:
    """Check whether Nova may require a trait that cannot be determined from a known image."""
    if is_tpm_secret_open(request, cloud):
        return True
    is_asked = request.image_properties is not None and request.option(IMAGE_TYPES)
    return bool(is_asked) and disk_format(request) is None


def is_tpm_secret_open(request: Request, cloud: Cloud) -> bool:
    """Check whether the flavor has a TPM, and it is unknown whether Nova requires its owner."""
    return TPM_SECRETS.isdisjoint(cloud.traits_of_hosts) and _tpm_secret(request) is not None


def _of_root(asked: Asked) -> set[str]:
    """Return the traits of features that the root provider must have."""
    required = set()
    if asked.specs.get('accel:device_profile'):
        required.add('COMPUTE_ACCELERATORS')
    if asked.is_on('hw:virtio_packed_ring'):
        required.add('COMPUTE_NET_VIRTIO_PACKED')
    if asked.value('hw:sound_model') == 'virtio':
        required.add('COMPUTE_SOUND_MODEL_VIRTIO')
    if asked.is_on('hw:ephemeral_encryption'):
        kind = asked.value('hw:ephemeral_encryption_format')
        required.add(_ENCRYPTION)
        if kind in _FORMATS:
            required.add(f'{_ENCRYPTION}_{kind.upper()}')
    return required


def _asked(request: Request) -> Asked | None:
    flavor = request.flavor
    return None if flavor is None else Asked(flavor.extra_specs, request.image_properties)


def _tpm_secret(request: Request) -> str | None:
    asked = _asked(request)
    if asked is None:
        return None
    owner = asked.specs.get('hw:tpm_secret_security') or 'user'
    return f'{_TPM_SECRET}{owner.upper()}' if asked.value('hw:tpm_version') else None


#: The disk formats with a trait.
FORMATS = frozenset(
    ('AKI', 'AMI', 'ARI', 'ISO', 'QCOW2', 'RAW', 'VDI', 'VHD', 'VHDX', 'VMDK', 'PLOOP')
)
_BUSES = 'FDC IDE LXC SATA SCSI UML USB VIRTIO XEN'
_NETWORK = """
    E1000 E1000E IGB LAN9118 NE2K_PCI NETFRONT PCNET RTL8139 SPAPR_VLAN SRIOV VIRTIO VMXNET VMXNET3
"""
_ARCHITECTURES = """
    AARCH64 ALPHA ARMV6 ARMV7 ARMV7B CRIS I686 IA64 LM32 M68K MICROBLAZE MICROBLAZEEL MIPS MIPS64
    MIPS64EL MIPSEL OPENRISC PARISC PARISC64 PPC PPC64 PPC64LE PPCEMB PPCLE S390 S390X SH4 SH4EB
    SPARC SPARC64 UNICORE32 X86_64 XTENSA XTENSAEB
"""
#: A property, the prefix of its traits, and the values with a trait. A virtual IOMMU has none: Nova
#: 34 expects COMPUTE_VIOMMU_, but the traits begin with COMPUTE_VIOMMU_MODEL_.
NAMED = (
    ('hw_cdrom_bus', 'COMPUTE_STORAGE_BUS', _BUSES),
    ('hw_disk_bus', 'COMPUTE_STORAGE_BUS', _BUSES),
    ('hw_video_model', 'COMPUTE_GRAPHICS_MODEL', 'BOCHS CIRRUS GOP NONE QXL VGA VIRTIO VMVGA XEN'),
    ('hw_vif_model', 'COMPUTE_NET_VIF_MODEL', _NETWORK),
    ('hw_architecture', 'HW_ARCH', _ARCHITECTURES),
    ('hw_emulation_architecture', 'COMPUTE_ARCH', 'AARCH64 MIPSEL PPC64LE RISCV64 S390X X86_64'),
    ('hw_viommu_model', 'COMPUTE_VIOMMU', ''),
)
#: Synonyms that Nova replaces.
_OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(('I386', 'I486', 'I586', 'X86_32', 'X86_32P'), 'I686'),
    'AMD64': 'X86_64',
    'VIRTUALE1000': 'E1000',
    'VIRTUALE1000E': 'E1000E',
    'VIRTUALPCNET32': 'PCNET',
    'VIRTUALSRIOVETHERNETCARD': 'SRIOV',
    'VIRTUALVMXNET': 'VMXNET',
    'VIRTUALVMXNET3': 'VMXNET3',
}


def of_properties(properties: Mapping[str, str]) -> set[str]:
    """Return the traits that the image's devices and architecture require.

    Example: ``{'hw_disk_bus': 'virtio'}`` requires COMPUTE_STORAGE_BUS_VIRTIO.
    """
    traits, given = set(), dict(properties)
    if 'architecture' in given:
        given.setdefault('hw_architecture', given['architecture'])
    if given.get('vmware_adaptertype'):
        given.setdefault('hw_disk_bus', 'ide' if given['vmware_adaptertype'] == 'ide' else 'scsi')
    for key, prefix, known in NAMED:
        if key in given:
            name = given[key].replace('-', '_').upper()
            name = _OTHER_NAMES.get(name, name)
            if name not in known.split():
                return set()
            traits.add(f'{prefix}_{name}')
    return traits
