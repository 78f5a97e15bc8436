"""Scheduler hints: ``same_host`` and ``different_host`` of existing servers, and other hints.

Source: SameHostFilter, DifferentHostFilter, JsonFilter and SimpleCIDRAffinityFilter.
"""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Server
from tests.accuracy.kinds import parts

_FILTERS = {
    'same_host': 'SameHostFilter',
    'different_host': 'DifferentHostFilter',
    'query': 'JsonFilter',
    'build_near_host_ip': 'SimpleCIDRAffinityFilter',
}
_NOT_THERE = '12345678-1234-4234-8234-123456789abc'
_STATES = ('ACTIVE', 'ACTIVE', 'ACTIVE', 'SHUTOFF', 'ERROR', 'SHELVED_OFFLOADED', 'SOFT_DELETED')
_KEPT = 3600


def case(seed: int) -> Case:
    dice = random.Random(f'hints {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0.6)
    servers = [Server(dice.choice(names), state=dice.choice(_STATES)) for _number in range(3)]
    if dice.random() < 0.3:
        servers.append(Server(None, 'huge'))
    drawn = [_hints(dice, len(servers)) for _number in range(2)]
    filters = [name for name in _FILTERS.values() if dice.random() < 0.7]
    options = {'DEFAULT': {'reclaim_instance_interval': _KEPT}}
    return Case(
        'hints',
        seed,
        parts.hosts(dice, names, (4, 9), servers=servers),
        {'asked': parts.PLAIN, 'plain': parts.PLAIN, 'huge': parts.flavor(1 << 20)},
        parts.asks(dice, groups, *({'hints': hints} for hints in drawn)),
        groups=groups,
        servers=tuple(servers),
        filters=(*DEFAULT_FILTERS, *filters),
        nova_options=options,
    )


def _hints(dice: random.Random, servers: int) -> dict[str, Any]:
    """Return one or two hints, mostly of those that name servers."""
    draws = dice.sample([_same, _different, _different, _others], dice.choice([1, 1, 2]))
    return {key: value for draw in draws for key, value in draw(dice, servers).items()}


def _same(dice: random.Random, servers: int) -> dict[str, Any]:
    chosen = _chosen(dice, servers)
    return {'same_host': dice.choice([chosen, chosen[0], 'no id'])}


def _different(dice: random.Random, servers: int) -> dict[str, Any]:
    chosen = _chosen(dice, servers)
    return {'different_host': dice.choice([chosen, chosen[0]])}


def _others(dice: random.Random, _servers: int) -> dict[str, Any]:
    return dice.choice(
        [
            {'query': '[">=", "$vcpus_total", 1]'},
            {'query': '["=", "$host", "cmp-1"]'},
            {'build_near_host_ip': '127.0.0.1', 'cidr': '/8'},
            {'different_cell': 'cell-1'},
        ]
    )


def _chosen(dice: random.Random, servers: int) -> list[str]:
    names = [*(f'server {number}' for number in range(servers)), _NOT_THERE]
    return dice.sample(names, dice.choice([1, 1, 2, 3]))
