"""Zones in which no compute service is enabled, and spreads over zones, racks and halls.

In both, some hosts may be in the default zone, for which Nova takes a host of any zone.
"""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.spread import HARD, SOFT, ZONE, Spread
from tests.accuracy.case import Ask, Case, Stale
from tests.accuracy.kinds import parts

_ZONES = ('nova', 'az-1', 'az-2')
#: The maximum number of created servers; every case has room for fewer.
_MOST = 16


def closed(seed: int) -> Case:
    """Return a case with a zone in which all hosts are disabled."""
    dice = random.Random(f'closed zones {seed}')
    names = parts.names(dice, 3, 5)
    groups = parts.policy(dice)
    zones = dice.sample(_ZONES, 2)
    zone_of = {name: zones[number % 2] for number, name in enumerate(names)}
    zone = dice.choice([*zones, zones[0], None])
    is_default = zone is not None and dice.random() < 0.3
    hosts = parts.hosts(dice, names)
    for name, host in hosts.items():
        host['availability_zone'] = zone_of[name]
        host['disabled'] = zone_of[name] == zones[0] or dice.random() < 0.1
    return Case(
        'closed zones',
        seed,
        hosts,
        {'asked': parts.flavor(), 'plain': parts.PLAIN},
        parts.asks(
            dice,
            groups,
            {'zone': None if is_default else zone},
            {'zone': None, 'is_remedied': True},
        ),
        groups=groups,
        nova_options={'DEFAULT': {'default_schedule_zone': zone}} if is_default else {},
    )


def spread(seed: int) -> Case:
    """Return a case with a spread by one to three criteria, in any order.

    In some cases, Nova and Placement differ about the hosts of a zone.
    """
    dice = random.Random(f'spread {seed}')
    names = parts.names(dice, 3, 6)
    groups = {
        'asked': {'policy': dice.choice(['anti-affinity', 'soft-anti-affinity']), 'rules': {}}
    }
    if groups['asked']['policy'] == 'anti-affinity':
        groups['asked']['rules'] = {'max_server_per_host': dice.randint(1, 3)}
    open_hosts = names if dice.random() < 0.6 else names[1:]
    servers = tuple(parts.members(dice, open_hosts, groups))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    for name, host in hosts.items():
        host['availability_zone'] = dice.choice(_ZONES)
        host['disabled'] = name not in open_hosts
    keys = dice.sample(('rack', 'hall'), dice.choice([0, 0, 1, 2]))
    aggregates: dict[str, dict[str, Any]] = {}
    for key in keys:
        for name in names:
            value = f'{key}-{dice.randint(1, 2)}'
            empty: dict[str, Any] = {'hosts': [], 'metadata': {key: value}}
            aggregates.setdefault(value, empty)['hosts'].append(name)
    modes = [HARD, *(dice.choice([HARD, SOFT]) for _key in keys)]
    chosen = [Spread(by, dice.randint(1, 2), mode=mode)
              for by, mode in zip([ZONE, *keys], modes, strict=True)]  # fmt: skip
    dice.shuffle(chosen)
    zoned = [name for name in names if hosts[name]['availability_zone'] != _ZONES[0]]
    stale = Stale()
    if zoned and dice.random() < 0.4:
        stale = Stale(unmirrored=(dice.choice(zoned),))
    elif zoned and dice.random() < 0.4:
        zone = hosts[dice.choice(zoned)]['availability_zone']
        others = [name for name in names if hosts[name]['availability_zone'] != zone]
        stale = Stale(removed={name: [zone] for name in others[:1]})
    return Case(
        'spread',
        seed,
        hosts,
        {'asked': parts.flavor(), 'plain': parts.PLAIN},
        (Ask(_MOST, group='asked', spread=tuple(chosen)),),
        aggregates,
        groups=groups,
        servers=servers,
        stale=stale,
    )
