"""Allocations of consumers that are no servers, on hosts with and without servers.

They stay after a failed deletion or evacuation. Those of a server with a GPU are on two providers.
"""

from __future__ import annotations

import random

from tests.accuracy.case import Case, Provider, Server, Stale
from tests.accuracy.kinds import parts
from tests.support.values import replace

_GPU = parts.flavor(**{'resources:VGPU': '1'})


def case(seed: int) -> Case:
    """Return a case in which leftovers use up to the whole memory of some hosts."""
    dice = random.Random(f'leftovers {seed}')
    names = parts.names(dice, 2, 5)
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names, 3))
    hosts = parts.hosts(dice, names, (1, 4), servers=servers)
    orphans = {}
    for name in dice.sample(names, dice.randint(1, len(names))):
        amount = parts.RAM * dice.randint(1, 3) - dice.choice([0, 0, 1])
        hosts[name]['memory_mb'] += amount
        orphans[name] = {'MEMORY_MB': amount, 'VCPU': dice.randint(1, 15 - _number(servers, name))}
    providers = tuple(_with_gpus(dice, name, name in orphans) for name in names)
    asks = parts.asks(dice, groups, {'flavor': dice.choice(['asked', 'gpu'])}, {'flavor': 'asked'})
    return Case(
        'leftovers',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN, 'gpu': _GPU},
        # More servers than fit on most of these clouds.
        tuple(replace(ask, count=dice.randint(4, 12), is_remedied=ask.is_complete) for ask in asks),
        groups=groups,
        servers=servers,
        providers=tuple(each for each in providers if each is not None),
        stale=Stale(orphans=orphans),
    )


def _number(servers: tuple[Server, ...], name: str) -> int:
    return sum(server.host == name for server in servers)


def _with_gpus(dice: random.Random, name: str, has_orphan: bool) -> Provider | None:
    """Return the GPUs of a host, if any; a consumer that is no server may have some."""
    total = dice.choice([0, 0, 1, 2])
    used = dice.randint(0, total) if has_orphan else 0
    orphaned = {'VGPU': used} if used else {}
    return Provider(name, {'VGPU': {'total': total}}, orphaned=orphaned) if total else None
