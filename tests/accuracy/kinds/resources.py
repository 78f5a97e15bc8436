"""Inventories with allocation ratios, reserved amounts and units, and custom classes."""

from __future__ import annotations

import random

from tests.accuracy.case import Case
from tests.accuracy.kinds import parts

_CLASS = 'CUSTOM_LICENSE'


def ratios(seed: int) -> Case:
    """Return a case with ratios, reserved amounts and max_unit for all three standard classes."""
    dice = random.Random(f'ratios {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.5)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    flavor = parts.flavor(64, dice.randint(1, 3), dice.randint(1, 3))
    hosts = {}
    for name in names:
        used = sum(server.host == name for server in servers)
        vcpus, disk = dice.randint(2, 5) + used, dice.randint(3, 6) + used
        ram = 64 * (used + dice.randint(2, 4))
        inventory = {
            'VCPU': {'total': vcpus, 'allocation_ratio': dice.choice([1.0, 1.5, 4.0])},
            'MEMORY_MB': {'total': ram, 'reserved': dice.choice([0, 0, 50, 64])},
            'DISK_GB': {'total': disk, 'allocation_ratio': dice.choice([0.7, 1.0, 2.5])},
        }
        if dice.random() < 0.3:
            inventory['VCPU']['max_unit'] = dice.randint(1, 3)
        if dice.random() < 0.2:
            inventory['DISK_GB']['reserved'] = 1
        size = {'vcpus': vcpus, 'memory_mb': ram, 'disk_gb': disk}
        hosts[name] = {**size, 'inventory': inventory}
    return Case(
        'ratios',
        seed,
        hosts,
        {'asked': flavor, 'plain': parts.PLAIN},
        parts.asks(dice, groups),
        groups=groups,
        servers=servers,
    )


def custom_classes(seed: int) -> Case:
    """Return a case with a custom class that has min_unit, max_unit and step_size."""
    dice = random.Random(f'custom classes {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    hosts = parts.hosts(dice, names, (6, 10), servers=servers)
    for host in hosts.values():
        inventory = {'total': dice.randint(1, 8)}
        if dice.random() < 0.5:
            inventory['min_unit'] = dice.randint(1, 2)
        if dice.random() < 0.5:
            inventory['step_size'] = dice.randint(1, 2)
        if dice.random() < 0.4:
            inventory['max_unit'] = dice.randint(1, 3)
        if dice.random() < 0.2:
            inventory['allocation_ratio'] = dice.choice([0.5, 2.0])
        if dice.random() < 0.8:
            host['inventory'] = {_CLASS: inventory}
    amounts = [str(dice.randint(1, 3)) for _ask in range(2)]
    flavors = {
        name: parts.flavor(**{f'resources:{_CLASS}': amount})
        for name, amount in zip(('asked', 'more'), amounts, strict=True)
    }
    return Case(
        'custom classes',
        seed,
        hosts,
        {**flavors, 'plain': parts.PLAIN},
        parts.asks(dice, groups, {'flavor': 'asked'}, {'flavor': 'more'}),
        groups=groups,
        servers=servers,
    )
