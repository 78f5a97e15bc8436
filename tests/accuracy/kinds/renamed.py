"""Providers that do not have the names of their hypervisors, in zones and tenants' aggregates."""

from __future__ import annotations

import random
from typing import Any

from tests.accuracy.case import Case, Stale
from tests.accuracy.kinds import parts

_LIMIT = 'limit_tenants_to_placement_aggregate'
_ISOLATE = 'enable_isolated_aggregate_filtering'


def case(seed: int) -> Case:
    dice = random.Random(f'renamed {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0.5)
    servers = (*parts.members(dice, names, groups), *parts.others(dice, names))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    for host in hosts.values():
        host['availability_zone'] = dice.choice(['nova', 'az-1', 'az-1'])
    zones = sorted({host['availability_zone'] for host in hosts.values()})
    aggregates: dict[str, dict[str, Any]] = {
        'own': {'metadata': {'filter_tenant_id': '{admin}'}},
        'closed': {'metadata': {'trait:CUSTOM_CLOSED': 'required'}},
    }
    for aggregate in aggregates.values():
        aggregate['hosts'] = sorted(dice.sample(names, dice.randint(1, len(names) - 1)))
    chosen = dice.choice([{}, {_LIMIT: True}, {_LIMIT: True}, {_ISOLATE: True}])
    asks = parts.asks(dice, groups, {'zone': dice.choice(zones)}, {'zone': None})
    lost = tuple(dice.sample(names, dice.choice([0, 0, 1])))
    return Case(
        'renamed',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        asks,
        aggregates,
        groups=groups,
        servers=servers,
        stale=Stale(renamed=_names(dice, names), unmirrored=lost),
        nova_options={'scheduler': chosen},
    )


def _names(dice: random.Random, names: list[str]) -> dict[str, str]:
    """Return other names of some providers: new ones, or those of each other."""
    some = sorted(dice.sample(names, dice.randint(1, len(names))))
    if len(some) > 1 and dice.random() < 0.5:
        return dict(zip(some, [*some[1:], some[0]], strict=True))
    return {name: f'{name}.old' for name in some}
