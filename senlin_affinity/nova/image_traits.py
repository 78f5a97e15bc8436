"""Translate the devices of an image into traits that a host must have.

Source: Nova's request filters ``require_image_type_support`` and ``transform_image_metadata``, off
by default. A property with a value that has no trait cancels the traits of all properties.
"""

from __future__ import annotations

from collections.abc import Mapping

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
