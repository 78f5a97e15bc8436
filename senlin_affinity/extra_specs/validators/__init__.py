"""Declare the extra specs of Nova and of this project; each module declares ``VALIDATORS``."""

from __future__ import annotations

from functools import cache

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.validators import devices, hw, placement, quota, scheduling

_MODULES = (devices, hw, placement, quota, scheduling)

#: The title and the summary of each namespace.
_NAMESPACES = {
    '': (
        'Without a namespace',
        'Old and general names, which belong to no namespace.',
    ),
    'accel': ('Accelerators', 'Accelerators (such as GPUs and FPGAs) that Cyborg manages.'),
    'aggregate_instance_extra_specs': (
        'Metadata of aggregates',
        "Metadata that a host's aggregates must have. Checked by the scheduler filters "
        '``AggregateInstanceTypeFilter`` (part of senlin-affinity) and '
        '``AggregateInstanceExtraSpecsFilter`` (part of Nova).',
    ),
    'capabilities': (
        'Capabilities',
        'The required state of the host, for the scheduler filter ``ComputeCapabilitiesFilter``.',
    ),
    'hw': (
        'Virtual hardware',
        'The CPUs, memory and devices that the guest sees, and where they come from.',
    ),
    'hw_rng': ('Random numbers', 'The device that gives random numbers of the host to the guest.'),
    'hw_video': ('Video', 'The video card that the guest sees.'),
    'os': ('Operating system', 'What the operating system of the guest needs.'),
    'pci_passthrough': (
        'PCI passthrough',
        'PCI devices of the host that the guest gets for itself.',
    ),
    'quota': ('Quotas', "How much of a host's CPU, memory, disk and network a server may use."),
    'reservation': (
        'Reservations',
        'Hosts that are reserved for some flavors, by a metadata key of an aggregate.',
    ),
    'resources': (
        'Resources',
        'Amounts of resource classes, which replace or extend the amounts of the flavor itself.',
    ),
    'trait': ('Traits', 'Traits that the resource provider of a server must or must not have.'),
    'vmware': ('VMware', 'Extra specs that only VMware has.'),
}


@cache
def namespaces() -> tuple[Namespace, ...]:
    """Return every namespace of this project, sorted by name."""
    defined: dict[str, list[ExtraSpecValidator]] = {name: [] for name in _NAMESPACES}
    for module in _MODULES:
        for validator in module.VALIDATORS:
            defined[validator.namespace].append(validator)
    return tuple(
        Namespace(name, *words, tuple(defined[name])) for name, words in _NAMESPACES.items()
    )
