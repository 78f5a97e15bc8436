"""Translate the features of a flavor or an image (a TPM, pinned CPUs) into resources and traits.

Example::

    {'hw:tpm_version': '2.0'}   COMPUTE_SECURITY_TPM_2_0 and COMPUTE_SECURITY_TPM_TIS
    {'hw:mem_encryption': '1'}  MEM_ENCRYPTION_CONTEXT: 1, and HW_CPU_X86_AMD_SEV
    {'hw:pmem': '4GB, 4GB'}     CUSTOM_PMEM_NAMESPACE_4GB: 2

An image property has an underscore in its name (``hw_tpm_version``). A value that Nova rejects
requests nothing, because no such server is created.

Source: nova-scheduler's own translation and its request filters (Nova 34).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from senlin_affinity.model.numbers import TRUE

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
    """The resources and traits of features; the root provider must have ``root_required``."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    root_required: frozenset[str] = frozenset()


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
    """Return all features except for pinned CPUs."""
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
    return Features(amounts, frozenset(required), frozenset(_of_root(asked)))


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


def _of_root(asked: Asked) -> set[str]:
    """Return the traits that the root provider must have."""
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
