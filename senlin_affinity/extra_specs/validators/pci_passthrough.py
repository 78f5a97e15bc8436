"""PCI devices of the host that a server gets for itself."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.validators.patterns import ALIASES

NAMESPACE = Namespace(
    name='pci_passthrough',
    title='PCI passthrough',
    summary='PCI devices of the host that the guest gets for itself.',
    validators=(
        ExtraSpecValidator(
            name='pci_passthrough:alias',
            description=(
                'Which devices, by the aliases that are configured in Nova, and how many of each: '
                '``gpu:1``, or ``gpu:1,nic:2``.'
            ),
            value={'type': str, 'description': 'An alias and a number.', 'pattern': ALIASES},
            drivers=('libvirt',),
        ),
    ),
)
