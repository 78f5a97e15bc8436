"""Records that are no longer as Nova would write them, which decide all the same."""

from __future__ import annotations

import random

from tests.accuracy.case import Case, Stale
from tests.accuracy.kinds import parts


def case(seed: int) -> Case:
    """The case of this number."""
    dice = random.Random(f'stale {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0.6)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    for host in hosts.values():
        host['availability_zone'] = dice.choice(['nova', 'az-1'])
    zoned = sorted(name for name in names if hosts[name]['availability_zone'] == 'az-1')
    chosen = dice.sample(('disabled', 'unmirrored', 'orphans'), dice.choice([1, 1, 2]))
    free = sorted(set(names) - {server.host for server in servers})
    stale = Stale(
        (dice.choice(names),) if 'disabled' in chosen else (),
        (dice.choice(zoned),) if 'unmirrored' in chosen and zoned else (),
        {dice.choice(free): _amounts(dice)} if 'orphans' in chosen and free else {},
    )
    zones = [{'zone': dice.choice([None, 'az-1' if zoned else 'nova'])}, {'zone': None}]
    return Case(
        'stale',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        parts.asks(dice, groups, *zones),
        groups=groups,
        servers=servers,
        stale=stale,
    )


def _amounts(dice: random.Random) -> dict[str, int]:
    return {'VCPU': dice.randint(1, 3), 'MEMORY_MB': dice.choice([1, 20, 32])}
