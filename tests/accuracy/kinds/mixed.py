"""Clouds with several kinds of hosts: virtual machines, pools of GPUs, and bare metal nodes.

Some requests name their host. An Ironic node that is not available has ``reserved`` = ``total``.

Source: nova.virt.ironic.driver (update_provider_tree), and the guide to bare metal flavors.
"""

from __future__ import annotations

import random
from typing import Any

from tests.accuracy.case import Case, Provider, Server
from tests.accuracy.kinds import parts
from tests.support.values import replace

VM, GPU, METAL = 'vm', 'gpu', 'metal'
_NODE = 'CUSTOM_BAREMETAL_GOLD'
_MODEL = 'CUSTOM_GPU_BIG'
_NO_STANDARD = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
#: An Ironic flavor has the size of the node, which is no request.
_OF_NODE = {'ram': 8192, 'vcpus': 8, 'disk': 80}
FLAVORS = {
    VM: parts.PLAIN,
    GPU: parts.flavor(**{'resources:VGPU': '1'}),
    'two gpus': parts.flavor(**{'resources:VGPU': '2'}),
    'big gpu': parts.flavor(**{'resources:VGPU': '1', f'trait:{_MODEL}': 'required'}),
    METAL: parts.flavor(**_OF_NODE, **{f'resources:{_NODE}': '1', **_NO_STANDARD}),
    # Such a flavor, from before Ironic's classes, also requests the standard ones.
    'old metal': parts.flavor(**_OF_NODE, **{f'resources:{_NODE}': '1'}),
}
_NOTES = ('', 'firmware, do not enable', 'disk failure')


def case(seed: int) -> Case:
    dice = random.Random(f'mixed hosts {seed}')
    names = parts.names(dice, 4, 6)
    kind_of = dict(zip(names, [VM, GPU, METAL, *dice.choices((VM, GPU, METAL), k=3)], strict=False))
    virtual = [name for name in names if kind_of[name] != METAL]
    groups = parts.policy(dice, 0.6)
    providers = [
        Provider(name, {'VGPU': {'total': dice.randint(1, 3)}}, _model(dice))
        for name in names
        if kind_of[name] == GPU
        for _card in range(dice.choice([1, 1, 2]))
    ]
    servers = [
        *parts.members(dice, virtual, groups),
        *parts.others(dice, virtual),
        *_on_gpus(dice, providers),
    ]
    hosts = parts.hosts(dice, names, (5, 10), servers=servers)
    for name in names:
        if kind_of[name] == METAL:
            hosts[name] = node(is_available=dice.random() < 0.6)
            if not hosts[name]['inventory'][_NODE]['reserved'] and dice.random() < 0.4:
                servers.append(Server(name, METAL))
    idle = [name for name in names if not any(name == server.host for server in servers)]
    for name in idle:
        if dice.random() < 0.2:
            hosts[name]['disabled'] = dice.choice(_NOTES) or True
    asks = parts.asks(dice, groups, *(_ask(dice, kind_of) for _number in range(3)))
    return Case(
        'mixed hosts',
        seed,
        hosts,
        {**FLAVORS, 'plain': parts.PLAIN},
        tuple(replace(ask, is_remedied=ask.is_complete) for ask in asks),
        groups=groups,
        servers=tuple(servers),
        providers=tuple(providers),
    )


def node(*, is_available: bool) -> dict[str, Any]:
    """Return a bare metal node; Ironic reserves one that is not available."""
    size = {'vcpus': 1, 'memory_mb': 1, 'disk_gb': 1, 'hypervisor_type': 'ironic'}
    none = {name: {'total': 0} for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    own = {'total': 1, 'reserved': int(not is_available), 'max_unit': 1}
    return {**size, 'inventory': {**none, _NODE: own}}


def _model(dice: random.Random) -> tuple[str, ...]:
    return (_MODEL,) if dice.random() < 0.5 else ()


def _on_gpus(dice: random.Random, providers: list[Provider]) -> list[Server]:
    """Return servers that use some of the GPUs, or all."""
    share = dice.choice([0, 0.5, 1])
    return [
        Server(provider.parent, GPU)
        for provider in providers
        for _gpu in range(provider.inventory['VGPU']['total'])
        if dice.random() < share
    ]


def _ask(dice: random.Random, kind_of: dict[str, str]) -> dict[str, Any]:
    """Return a flavor, and perhaps a host that the request names in one of Nova's two ways.

    Half of these hosts are of any kind.
    """
    flavor = dice.choice([*FLAVORS])
    kind = next(kind for kind in (METAL, GPU, VM) if kind in flavor or kind == VM)
    name = dice.choice([*kind_of, *[each for each in kind_of if kind_of[each] == kind] * 4])
    named: list[dict[str, Any]] = [{}, {}, {}, {'host': name}, {'zone': f'nova:{name}'}]
    return {'flavor': flavor, **dice.choice(named)}
