"""Compute the traits that the root provider of a host must have.

Source: Nova's request filters (Nova 34), which add to ``root_required``: accelerators, packed
virtio rings, encrypted disks, sound, the owner of a TPM's secret and, depending on nova.conf, the
disk format and the devices of an image. Earlier releases do not require the owner of a TPM's
secret: it is required here if any host has such a trait. Nova 34 also requires ``OWNER_NOVA`` once
every compute service is new enough to have it, which is not visible.

The devices of an image: the request filters ``require_image_type_support`` and
``transform_image_metadata``, off by default. A property with a value that has no trait cancels the
traits of all properties.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.option import Option
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.flavor_features import Asked
from senlin_affinity.nova.options import IMAGE_METADATA, IMAGE_TYPES

#: The trait that nova-compute adds to its own provider.
OWNER = 'OWNER_NOVA'
_TPM_SECRET = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_'
#: The owners of a TPM's secret.
TPM_SECRETS = frozenset(f'{_TPM_SECRET}{owner}' for owner in ('USER', 'HOST', 'DEPLOYMENT'))


def required(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return all traits that the root provider must have."""
    asked, secret = demand_of(request), _tpm_secret(request)
    traits = set(asked.root_required if asked is not None else ())
    if secret is not None and not TPM_SECRETS.isdisjoint(request.memo(of_hosts, cloud)):
        traits.add(secret)
    for option in (IMAGE_TYPES, IMAGE_METADATA):
        if request.option(option):
            traits |= of_image(request, option)
    return frozenset(traits)


def of_hosts(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return the traits that any host has."""
    return cloud.traits_of_hosts


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


def is_open(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether Nova may require a trait that cannot be determined from a known image."""
    if is_tpm_secret_open(request, cloud):
        return True
    is_asked = request.image_properties is not None and request.option(IMAGE_TYPES)
    return bool(is_asked) and disk_format(request) is None


def is_tpm_secret_open(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether the flavor has a TPM, and it is unknown whether Nova requires its owner."""
    is_unknown = TPM_SECRETS.isdisjoint(request.memo(of_hosts, cloud))
    return is_unknown and _tpm_secret(request) is not None


def _tpm_secret(request: Request) -> str | None:
    if request.flavor is None:
        return None
    asked = Asked(request.flavor.extra_specs, request.image_properties)
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
