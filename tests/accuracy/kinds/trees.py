"""Resources of other providers than the host: child providers, granular groups, shared disk.

Source: Placement's documents on nested and sharing providers, and on granular requests.
"""

from __future__ import annotations

import random
from typing import Any

from tests.accuracy.case import Case, Provider
from tests.accuracy.kinds import parts

_VF, _GPU = 'CUSTOM_VF', 'CUSTOM_GPU_BIG'
_NETS = ('CUSTOM_PHYSNET_A', 'CUSTOM_PHYSNET_B')
_BANDWIDTH = 'NET_BW_EGR_KILOBIT_PER_SEC'
SHARES = 'MISC_SHARES_VIA_AGGREGATE'


def nested(seed: int) -> Case:
    """Return a case with physical GPUs, VFs with traits, and agents with unrequested bandwidth."""
    dice = random.Random(f'nested {seed}')
    names = parts.names(dice, 2, 4)
    kinds = dice.sample(('gpu', 'vf', 'agent'), dice.choice([1, 1, 2]))
    gpus = {'resources:VGPU': str(dice.choice([1, 1, 2]))}
    if dice.random() < 0.4:
        gpus[f'trait:{_GPU}'] = dice.choice(['required', 'required', 'forbidden'])
    vfs = {'resources1:CUSTOM_VF': str(dice.choice([1, 1, 2]))}
    if dice.random() < 0.7:
        vfs[f'trait1:{_NETS[0]}'] = dice.choice(['required', 'required', 'forbidden'])
    flavors = {'gpu': parts.flavor(**gpus), 'vf': parts.flavor(**vfs), 'agent': parts.PLAIN}
    chosen = [dice.choice(kinds), 'plain' if dice.random() < 0.3 else dice.choice(kinds)]
    providers = [
        provider
        for name in names
        for kind in kinds
        for _child in range(dice.choice([0, 1, 1, 2]))
        for provider in [_child_of(dice, name, kind)]
    ]
    return _case('nested', seed, dice, names, {**flavors, 'plain': parts.PLAIN}, chosen, providers)


def granular(seed: int) -> Case:
    """Return a case with two numbered groups of one class, of the same provider or of two."""
    dice = random.Random(f'granular {seed}')
    names = parts.names(dice, 2, 4)
    flavors = {}
    for name in ('first', 'second'):
        specs = {f'resources{number}:{_VF}': str(dice.choice([1, 1, 2])) for number in (1, 2)}
        specs['group_policy'] = dice.choice(['none', 'isolate'])
        for number in (1, 2):
            if dice.random() < 0.5:
                specs[f'trait{number}:{dice.choice(_NETS)}'] = 'required'
        if dice.random() < 0.2:
            specs['resources:VGPU'] = '1'
        flavors[name] = parts.flavor(**specs)
    providers = [
        _child_of(dice, name, kind)
        for name in names
        for kind, most in (('vf', 3), ('gpu', 1))
        for _child in range(dice.randint(0, most))
    ]
    flavors['plain'] = parts.PLAIN
    return _case('granular', seed, dice, names, flavors, ['first', 'second'], providers)


def _child_of(dice: random.Random, parent: str, kind: str) -> Provider:
    if kind == 'gpu':
        traits = (_GPU,) if dice.random() < 0.5 else ()
        return Provider(parent, {'VGPU': {'total': dice.randint(1, 3)}}, traits)
    if kind == 'vf':
        traits = tuple(net for net in _NETS if dice.random() < 0.5)
        return Provider(parent, {_VF: {'total': dice.randint(1, 4)}}, traits)
    return Provider(parent, {_BANDWIDTH: {'total': 10000}}, (dice.choice(_NETS),))


def _case(
    kind: str,
    seed: int,
    dice: random.Random,
    names: list[str],
    flavors: dict[str, Any],
    chosen: list[str],
    providers: list[Provider],
) -> Case:
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    known = list(dict.fromkeys(chosen))
    return Case(
        kind,
        seed,
        parts.hosts(dice, names, (5, 10), servers=servers),
        flavors,
        parts.asks(dice, groups, *({'flavor': name} for name in known)),
        groups=groups,
        servers=servers,
        providers=tuple(providers),
    )


def shared_disk(seed: int) -> Case:
    """Return a case with a provider that shares its disk with an aggregate; other hosts have a
    disk.
    """
    dice = random.Random(f'shared disk {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups, 2), *parts.others(dice, names, 1))
    sharing = {
        f'storage-{number}': sorted(dice.sample(names, dice.randint(1, len(names))))
        for number in range(dice.choice([1, 1, 1, 2]))
    }
    hosts = parts.hosts(dice, names, (6, 11), servers=servers)
    for name, host in hosts.items():
        if any(name in members for members in sharing.values()) and dice.random() < 0.85:
            host['inventory'] = {'DISK_GB': {'total': 0}}
        elif dice.random() < 0.4:
            host['disk_gb'] = 4 + sum(server.host == name for server in servers)
    used = len(servers)
    providers = [
        Provider(None, {'DISK_GB': {'total': used + dice.randint(2, 14)}}, (SHARES,), (name,))
        for name in sharing
    ]
    flavors = {'small': parts.flavor(disk=1), 'large': parts.flavor(disk=dice.randint(2, 4))}
    return Case(
        'shared disk',
        seed,
        hosts,
        # A server that is created on a given host gets no disk of another provider.
        {**flavors, 'plain': parts.flavor(disk=0)},
        parts.asks(dice, groups, {'flavor': 'large'}, {'flavor': 'small'}),
        {name: {'hosts': members} for name, members in sharing.items()},
        groups=groups,
        servers=servers,
        providers=tuple(providers),
    )
