"""Declare the extra specs for devices of the host, firmware and storage."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.validators.patterns import ALIASES
from senlin_affinity.extra_specs.values import Value

_LIBVIRT, _VMWARE = ('libvirt',), ('vmwareapi',)

VALIDATORS = (
    ExtraSpecValidator(
        'accel:device_profile',
        'The device profile of Cyborg that defines the accelerators of a server.',
        Value(str, 'The name of a device profile.'),
    ),
    ExtraSpecValidator(
        'hw_rng:allowed',
        'Whether a guest gets the device if its image requests it.',
        Value(bool),
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        'hw_rng:rate_bytes',
        'How much the guest may read in one period.',
        Value(int, 'Bytes.', min=0),
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        'hw_rng:rate_period',
        'How long a period is.',
        Value(int, 'Milliseconds.', min=0),
        drivers=_LIBVIRT,
        depends_on=('hw_rng:rate_bytes',),
    ),
    ExtraSpecValidator(
        'hw_video:ram_max_mb',
        'The maximum video memory that an image may request with ``hw_video_ram``.',
        Value(int, 'Memory in MB.', min=0),
    ),
    ExtraSpecValidator(
        'os:secure_boot',
        'Whether the firmware of the guest starts signed software only.',
        Value(str, enum=('disabled', 'required')),
        image_property='os_secure_boot',
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        'pci_passthrough:alias',
        'The aliases of devices in the configuration of Nova, and the number of each: ``gpu:1``, '
        'or ``gpu:1,nic:2``.',
        Value(str, 'An alias and a number.', pattern=ALIASES),
        drivers=_LIBVIRT,
    ),
    ExtraSpecValidator(
        'vmware:hw_version',
        'The version of the virtual hardware, which determines the hosts that can run it.',
        Value(str, 'Such as ``vmx-13``.'),
        drivers=_VMWARE,
    ),
    ExtraSpecValidator(
        'vmware:storage_policy',
        'The storage policy of the server. It has an effect only if the configuration of Nova '
        'enables storage policies.',
        Value(str, 'The name of a storage policy.'),
        drivers=_VMWARE,
    ),
)
