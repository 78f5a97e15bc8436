"""Requests that name a host: ``zone:host``, ``zone:host:node`` and ``zone::node``."""

from __future__ import annotations

import random

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Stale
from tests.accuracy.kinds import parts

_ZONES = ('nova', 'az-1', 'az-2')


def case(seed: int) -> Case:
    dice = random.Random(f'named hosts {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0.3)
    enabled = [name for name in names if dice.random() < 0.85]
    servers = (*parts.members(dice, enabled, groups), *parts.others(dice, enabled))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    for name, host in hosts.items():
        host['availability_zone'] = dice.choice(_ZONES)
        host['disabled'] = name not in enabled
        host['down'] = dice.random() < 0.15
    zoned = [name for name in names if hosts[name]['availability_zone'] != 'nova']
    lost = dice.sample(zoned, 1) if zoned and dice.random() < 0.3 else []
    used = {host['availability_zone'] for host in hosts.values() if not host['disabled']}
    options = {}
    if dice.random() < 0.3 and used:
        options = {'DEFAULT': {'default_schedule_zone': dice.choice(sorted(used))}}
    asks = parts.asks(
        dice,
        groups,
        {'zone': _named(dice, names)},
        {'zone': f'{hosts[names[0]]["availability_zone"]}:{names[0]}'},
        {'zone': _named(dice, names)},
    )
    return Case(
        'named hosts',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        asks,
        groups=groups,
        servers=servers,
        stale=Stale(unmirrored=tuple(lost)),
        filters=(*DEFAULT_FILTERS, *dice.sample(['NumInstancesFilter'], dice.choice([0, 1]))),
        nova_options=options,
    )


def _named(dice: random.Random, names: list[str]) -> str:
    """Return a host in its own zone, in another one, or in none; the node has the same name."""
    zone, host = dice.choice((*_ZONES, '')), dice.choice(names)
    form = dice.choice(['{}:{}', '{}:{}', '{}:{}:{}', '{}::{}'])
    return form.format(zone, host, host)
