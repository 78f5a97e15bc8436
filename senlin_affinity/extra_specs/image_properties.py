"""Define the image properties that Nova reads, as extra specs are defined.

An entry of the table is ``name: value; by DRIVERS``, followed by its effect. The value is a key of
``_VALUES``, or the words of an enumeration. A property that is not in the table, but is the
``image_property`` of an extra spec (``hw_cpu_policy``), takes its definition from there.

Source: Nova 34's ``ImageMetaProps``. Deviations: a trait must be ``required``, because Nova ignores
every other value; ``img_mappings`` is invalid, because Nova reads only ``mappings`` from an image
(``img_block_device_mapping`` likewise).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from packaging.version import Version

from senlin_affinity.extra_specs.base import (
    IMAGE_PROPERTY,
    PLACEHOLDER,
    ExtraSpecValidator,
    Namespace,
    Parameter,
)
from senlin_affinity.extra_specs.registry import Registry, own
from senlin_affinity.extra_specs.values import BOOLEANS, Value
from senlin_affinity.model.errors import quoted
from senlin_affinity.nova.image_fields import OLD_NAMES


@dataclass(frozen=True)
class ImageValue(Value):
    """A value as Nova converts it: any text is a boolean.

    ``aliases`` are other spellings of the words of ``enum``; if they are not None, upper case is
    allowed as well.
    """

    aliases: tuple[str, ...] | None = None

    def _takes(self, text: str) -> bool:
        word = text if self.aliases is None else text.lower()
        return self.type is bool or word in (self.aliases or ()) or super()._takes(word)


class ImageProperty(ExtraSpecValidator):
    """The definition of an image property, or of a family of image properties."""

    kind: ClassVar[str] = IMAGE_PROPERTY

    def note(self, value: object) -> str | None:
        """Return that Nova reads an unknown boolean as false; None for other values."""
        is_odd = self.value.type is bool and str(value).strip().lower() not in BOOLEANS
        return f'Nova reads {quoted(value)} as false: write true or false' if is_odd else None


def _check_cpus(text: str) -> None:
    for part in filter(None, map(str.strip, text.split(','))):
        numbers = [int(each.strip()) for each in part.removeprefix('^').split('-', 1)]
        if numbers[0] > numbers[-1]:
            raise ValueError(f'must not have the range {quoted(part)}: its end is below its start')


def _check_versions(text: str) -> None:
    for part in text.split(','):
        found = re.fullmatch(r'\s*(?:[<>]=?|[!=]=)\s*(\S+)\s*', part)
        if found is None:
            raise ValueError(f'must be comparisons such as >=1.2,<2, not {quoted(text)}')
        Version(found[1])


def _check_mappings(text: str) -> None:
    found = json.loads(text)
    is_list = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    if not is_list or any(isinstance(x, list | dict) for each in found for x in each.values()):
        raise ValueError('must be a list of mappings of names to texts, in JSON')


def _check_adapter(text: str) -> None:
    if text.lower() == 'ide' != text:
        raise ValueError("must be 'ide' in lower case")


def _refuse(instead: str) -> Callable[[str], None]:
    def check(_text: str) -> None:
        raise ValueError(f'Nova does not read this property from an image: set {instead}')

    return check


_CHECKS: Mapping[str, Callable[[str], None]] = {
    'block_device_mapping': _check_mappings,
    'hw_numa_cpus.{num}': _check_cpus,
    'img_block_device_mapping': _refuse('block_device_mapping'),
    'img_hv_requested_version': _check_versions,
    'img_mappings': _refuse('mappings'),
    'mappings': _check_mappings,
    'vmware_adaptertype': _check_adapter,
}
_NAMESPACES: Mapping[str, tuple[str, str]] = {
    'hw': ('Virtual hardware', 'The CPUs, memory and devices that the image needs.'),
    'img': ('Image', 'The hypervisor that the image needs, and how Nova handles the image.'),
    'os': ('Operating system', 'The operating system in the image.'),
    'other': ('Other names', 'Names without a prefix. Most of them are old names.'),
    'trait': ('Traits', 'Traits that the resource provider of a server must have.'),
}
_PARAMETERS: Mapping[str, Parameter] = {
    'num': Parameter('num', '[0-9]|[1-9][0-9]|1[01][0-9]|12[0-7]', 'The guest NUMA node, from 0.'),
    'trait': Parameter('trait', '[A-Z0-9_]+', 'The name of the trait.'),
}


def _words(words: str, aliases: str | None = None) -> ImageValue:
    others = None if aliases is None else tuple(aliases.split())
    return ImageValue(str, enum=tuple(words.split()), aliases=others)


_SCSI_ALIASES = 'lsilogicsas paravirtual'
_SCSI = 'buslogic ibmvscsi lsilogic lsisas1068 lsisas1078 virtio-scsi vmpvscsi'
_VALUES: Mapping[str, ImageValue] = {
    'adapter': ImageValue(str, enum=('ide', *_SCSI.split()), aliases=('', *_SCSI_ALIASES.split())),
    'architecture': _words(
        'alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips '
        'mipsel mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x '
        'sh4 sh4eb sparc sparc64 unicore32 x86_64 xtensa xtensaeb',
        'i386 i486 i586 x86_32 x86_32p amd64',
    ),
    'bus': _words('fdc ide sata scsi usb virtio xen lxc uml'),
    'flag': ImageValue(bool),
    'hypervisor': _words(
        'baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp qemu '
        'test uml vbox vz vmware xen zvm prsm',
        'xapi',
    ),
    'JSON': ImageValue(str, 'A list of mappings, in JSON.'),
    'key': _words(
        'DSA ECC_SECP384R1 ECC_SECP521R1 ECC_SECT409K1 ECC_SECT409R1 ECC_SECT571K1 ECC_SECT571R1 '
        'RSA-PSS'
    ),
    'number': ImageValue(int),
    'SCSI': _words(_SCSI, _SCSI_ALIASES),
    'system': _words('linux windows', ''),
    'text': ImageValue(str),
    'VIF': _words(
        'virtio ne2k_pci pcnet rtl8139 e1000 e1000e netfront spapr-vlan lan9118 sriov vmxnet '
        'vmxnet3 igb',
        'virtuale1000 virtuale1000e virtualpcnet32 virtualsriovethernetcard virtualvmxnet '
        'virtualvmxnet3',
    ),
    'VM mode': _words('hvm xen uml exe', 'pv hv baremetal'),
}
_ENTRY = re.compile(r'(\S+): ([^;\n]+)(?:; by ([^\n]+))?((?:\n +.*)+)\n')
_TABLE = """
auto_disk_config: text
    Whether Nova may resize the partition of the root disk. ``disabled`` prevents it.
bdm_v2: flag
    Whether ``block_device_mapping`` has the second version of the format.
block_device_mapping: JSON
    The block devices of servers that boot from this image. Nova writes it into snapshots.
hw_architecture: architecture
    The architecture of the CPU that the software in the image needs.
hw_cdrom_bus: bus; by libvirt
    The bus of CD-ROM drives.
hw_cpu_max_cores: number; by libvirt
    The largest number of cores in each socket that the guest may see.
hw_cpu_max_sockets: number; by libvirt
    The largest number of CPU sockets that the guest may see.
hw_cpu_max_threads: number; by libvirt
    The largest number of threads in each core that the guest may see.
hw_disk_bus: bus; by libvirt, vmwareapi
    The bus of disks.
hw_disk_type: text; by vmwareapi
    The format of the VMDK disk: ``sparse``, ``preallocated`` or ``streamOptimized``.
hw_emulation_architecture: architecture; by libvirt
    The architecture of the CPU that QEMU emulates, if it differs from the host's.
hw_firmware_stateless: flag; by libvirt
    Give each start of the guest a fresh copy of the UEFI variables.
hw_firmware_type: uefi bios; by libvirt, vmwareapi
    The firmware that starts the guest.
hw_floppy_bus: bus; by libvirt
    The bus of floppy drives.
hw_input_bus: usb virtio; by libvirt
    The bus of the keyboard and the pointer.
hw_machine_type: text; by libvirt
    The machine that QEMU emulates, such as ``q35``.
hw_maxphysaddr_bits: number; by libvirt
    The number of bits of a physical address in the guest, if ``hw_maxphysaddr_mode`` is
    ``emulate``.
hw_maxphysaddr_mode: passthrough emulate; by libvirt
    Where the size of physical addresses in the guest comes from: the CPU of the host, or
    ``hw_maxphysaddr_bits``.
hw_numa_cpus.{num}: text; by libvirt
    The CPUs of the guest NUMA node ``{num}``, such as ``0-3,^1``. Nova ignores the property if a
    lower node lacks it.
hw_numa_mem.{num}: number; by libvirt
    The memory of the guest NUMA node ``{num}`` in MB. Nova ignores the property if a lower node
    lacks it.
hw_pointer_model: usbtablet; by libvirt
    The kind of pointer device.
hw_qemu_guest_agent: flag; by libvirt
    Whether the guest runs the QEMU guest agent, which Nova then uses.
hw_rescue_bus: bus; by libvirt
    The bus of the rescue disk, if this image is used to rescue a server.
hw_rescue_device: cdrom disk floppy fs lun; by libvirt
    The kind of the rescue disk, if this image is used to rescue a server.
hw_rng_model: virtio; by libvirt
    The kind of random number generator. The flavor must allow it.
hw_scsi_model: SCSI; by libvirt, vmwareapi
    The SCSI controller of disks on the bus ``scsi``.
hw_serial_port_count: number; by libvirt
    The number of serial ports of the guest, up to the number in the flavor.
hw_time_hpet: flag; by libvirt
    Whether the guest has a high precision event timer.
hw_video_model: cirrus qxl vga vmvga xen virtio gop none bochs; by libvirt
    The kind of video card.
hw_video_ram: number; by libvirt, vmwareapi
    The video memory in MB, up to the number in the flavor.
hw_vif_model: VIF; by libvirt, vmwareapi
    The kind of network card.
hw_vm_mode: VM mode
    The interface between guest and hypervisor.
img_config_drive: optional mandatory
    Whether every server of this image gets a config drive.
img_hide_hypervisor_id: flag; by libvirt
    Hide from the guest which hypervisor it runs on.
img_hv_requested_version: text
    The supported versions of the hypervisor, such as ``>=1.2,<2``.
img_hv_type: hypervisor
    The type of hypervisor that the image can run on.
img_linked_clone: flag; by vmwareapi
    Whether servers share the cached disk of the image instead of copying it.
img_signature: text
    The signature of the image, in base64, which Nova verifies if it is configured to.
img_signature_certificate_uuid: text
    The UUID of the certificate of the signature, in the key manager.
img_signature_hash_method: SHA-224 SHA-256 SHA-384 SHA-512
    The hash that was signed.
img_signature_key_type: key
    The type of the key that signed the image.
kernel_id: text
    The image with the kernel; ``nokernel`` means none.
mappings: JSON
    The names of block devices; Nova reads the name of the root device from it.
os_admin_user: text; by libvirt
    The user whose password Nova changes on request.
os_command_line: text; by libvirt
    Arguments of the kernel, for an image with ``kernel_id``.
os_distro: text; by libvirt, vmwareapi, zvm
    The distribution, by its short name in libosinfo, or by the guest type of VMware.
os_require_quiesce: flag; by libvirt
    Whether a snapshot fails if the file systems of the guest cannot be frozen.
os_secure_boot: required disabled optional; by libvirt
    Whether the firmware of the guest starts signed software only. ``optional``: only on
    hosts that support this.
os_shutdown_timeout: number
    How many seconds Nova waits for the guest to shut down before it powers off the server.
os_type: system
    The family of the operating system, which determines the clock and the file systems.
ramdisk_id: text
    The image with the initial RAM disk.
root_device_name: text
    The name of the root device, such as ``/dev/vda``.
trait:{trait}: required
    A trait that the resource provider must have.
"""
#: Properties that no driver reads, with their values.
_UNUSED = """
    hw_device_id=number hw_ephemeral_encryption_secret_uuid=text hw_ipxe_boot=flag
    img_bittorrent=flag img_cache_in_nova=flag img_compression_level=number img_owner_id=text
    img_use_agent=flag img_version=number os_skip_agent_inject_files_at_boot=flag
    os_skip_agent_inject_ssh=flag
"""


def _define(name: str, description: str, value: Value, **more: Any) -> ImageProperty:
    parameters = [_PARAMETERS[each] for each in PLACEHOLDER.findall(name)]
    check = _CHECKS.get(name) or _CHECKS.get(OLD_NAMES.get(name, ''))
    return ImageProperty(name, description, value, parameters, check=check, **more)


def _like_extra_specs() -> Iterator[ImageProperty]:
    specs = {each.name: each for each in own().validators}
    for spec in specs.values():
        if spec.image_property and not PLACEHOLDER.search(spec.image_property):
            value = ImageValue(spec.value.type, spec.value.description, enum=spec.value.enum)
            needs = [specs[each].image_property or each for each in spec.depends_on]
            more = {'drivers': spec.drivers, 'depends_on': needs}
            yield _define(spec.image_property, spec.description, value, **more)


def _of_table() -> Iterator[ImageProperty]:
    for name, value, drivers, description in _ENTRY.findall(_TABLE):
        kind = _VALUES.get(value) or _words(value)
        words = ' '.join(description.split())
        yield _define(name, words, kind, drivers=drivers.split(', ') if drivers else ())
    for name, _is, value in (each.partition('=') for each in _UNUSED.split()):
        yield _define(name, 'Without effect in Nova 34.', _VALUES[value], deprecated=True)


def _renamed(known: Mapping[str, ImageProperty]) -> Iterator[ImageProperty]:
    for old, new in OLD_NAMES.items():
        if old in known:
            words, name, instead = f'Nova writes this name, but reads only ``{old}``.', new, old
        else:
            words, name, instead = f'An old name of ``{new}``.', old, new
        more = {'deprecated': True, 'replaced_by': instead, 'drivers': known[instead].drivers}
        yield _define(name, words, known[instead].value, **more)
    words = 'An old name of ``hw_scsi_model``, which also sets ``hw_disk_bus``.'
    more = {'deprecated': True, 'replaced_by': 'hw_scsi_model', 'drivers': ('vmwareapi',)}
    yield _define('vmware_adaptertype', words, _VALUES['adapter'], **more)


@cache
def registry() -> Registry:
    """Return the definitions of all image properties, in a namespace for each prefix."""
    found = {each.name: each for each in (*_like_extra_specs(), *_of_table())}
    found |= {each.name: each for each in _renamed(found)}
    defined: dict[str, list[ImageProperty]] = {name: [] for name in _NAMESPACES}
    for each in found.values():
        prefix = re.split('[_:]', each.name)[0]
        defined[prefix if prefix in defined else 'other'].append(each)
    namespaces = (
        Namespace(name, *words, tuple(defined[name]), IMAGE_PROPERTY)
        for name, words in _NAMESPACES.items()
    )
    return Registry(namespaces, kind=IMAGE_PROPERTY)
