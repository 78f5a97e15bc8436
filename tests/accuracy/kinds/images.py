"""Images with properties: traits, min_ram, architecture, hypervisor type, os_distro, CPU policy.

Source: nova.scheduler.filters.image_props_filter, aggregate_image_properties_isolation, and
nova.scheduler.utils (traits of images). The sandbox's hypervisors are x86_64 with KVM; most of them
have the traits of their architecture, which Nova's libvirt driver reports since its release 25.
"""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case
from tests.accuracy.kinds import parts

ISOLATION = 'AggregateImagePropertiesIsolation'
FAST = 'CUSTOM_FAST'
_ARCHITECTURE = ('HW_ARCH_X86_64', 'COMPUTE_ARCH_X86_64')
_SYSTEMS = ('linux', 'windows')


def case(seed: int) -> Case:
    dice = random.Random(f'images {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.5)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    aggregates = {
        f'agg-{number}': {
            'hosts': sorted(dice.sample(names, dice.randint(1, len(names)))),
            'metadata': {'os_distro': dice.choice([*_SYSTEMS, 'linux,windows'])},
        }
        for number in range(dice.choice([0, 1, 1, 2]))
    }
    is_isolating = bool(aggregates) and dice.random() < 0.7
    images = {name: _image(dice) for name in ('first', 'second')}
    specs = {'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'} if dice.random() < 0.1 else {}
    own = _ARCHITECTURE if dice.random() < 0.8 else ()
    return Case(
        'images',
        seed,
        parts.hosts(dice, names, servers=servers),
        {'asked': parts.flavor(**specs), 'plain': parts.PLAIN},
        parts.asks(dice, groups, {'image': 'first'}, {'image': 'second'}),
        aggregates,
        images,
        groups,
        servers,
        traits={name: (*own, *((FAST,) if dice.random() < 0.5 else ())) for name in names},
        filters=(*DEFAULT_FILTERS, *([ISOLATION] if is_isolating else [])),
    )


def _image(dice: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {},
        {f'trait:{FAST}': 'required'},
        {'min_ram': dice.choice([32, 64, 128])},
        {'min_disk': dice.choice([1, 2])},
        {'hw_architecture': dice.choice(['x86_64', 'x86_64', 'aarch64'])},
        {'img_hv_type': dice.choice(['qemu', 'kvm', 'vmware'])},
        {'hw_vm_mode': dice.choice(['hvm', 'xen'])},
        {'os_distro': dice.choice(_SYSTEMS)},
        {'hw_cpu_policy': 'dedicated'},
        {'os_distro': dice.choice(_SYSTEMS), f'trait:{FAST}': 'required'},
        {'hw_disk_bus': 'virtio', 'os_version': '12'},
    ]
    return dice.choice(choices)
