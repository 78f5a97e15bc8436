"""Filters that no constraint models, and requests that they reject: the sandbox's hypervisors have
neither NUMA nodes nor PCI devices.

Source: NUMATopologyFilter, PciPassthroughFilter, ComputeCapabilitiesFilter and JsonFilter.
"""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import DEVICE, Case
from tests.accuracy.kinds import parts

_NUMA = 'NUMATopologyFilter'
#: An extra spec, and the filter that rejects every host for it.
_SPECS = (
    ({'hw:mem_page_size': '1GB'}, _NUMA),
    ({'hw:numa_nodes': '1'}, _NUMA),
    ({'hw:cpu_policy': 'dedicated'}, _NUMA),
    ({'pci_passthrough:alias': f'{DEVICE}:1'}, 'PciPassthroughFilter'),
    ({'capabilities:hypervisor_type': 's== other'}, None),
    ({'capabilities:hypervisor_type': 's== fake'}, None),
    # Every filter of a case passes these.
    ({'hw:boot_menu': 'true'}, None),
    ({'hw:cpu_policy': 'shared'}, None),
)
_QUERIES = ('["=", "$host", "none"]', '["in", "$host", "cmp-1", "cmp-2"]')


def case(seed: int) -> Case:
    dice = random.Random(f'unmodelled {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    specs, reader = dice.choice(_SPECS)
    # Nova rejects an image that overrides the flavor's topology.
    image = 'numa' if reader != _NUMA and dice.random() < 0.3 else None
    hints = {'query': dice.choice(_QUERIES)} if dice.random() < 0.3 else {}
    filters = {reader, _NUMA if image else None, 'JsonFilter' if hints else None} - {None}
    more: dict[str, Any] = {'image': image, 'hints': hints}
    return Case(
        'unmodelled filters',
        seed,
        parts.hosts(dice, names, (4, 9), servers=servers),
        {'asked': parts.flavor(**specs), 'plain': parts.PLAIN},
        parts.asks(dice, groups, more),
        images={'numa': {'hw_numa_nodes': '1'}} if image else {},
        groups=groups,
        servers=servers,
        filters=(*DEFAULT_FILTERS, *sorted(filters)),
    )
