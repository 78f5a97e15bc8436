"""Outdated records in Nova and Placement, which the scheduler still uses."""

from __future__ import annotations

import random

from tests.accuracy.case import Case, Stale
from tests.accuracy.kinds import parts
from tests.support.values import replace


def case(seed: int) -> Case:
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
        disabled=(dice.choice(names),) if 'disabled' in chosen else (),
        unmirrored=(dice.choice(zoned),) if 'unmirrored' in chosen and zoned else (),
        orphans={dice.choice(free): _amounts(dice)} if 'orphans' in chosen and free else {},
    )
    zones = [{'zone': dice.choice([None, 'az-1' if zoned else 'nova'])}, {'zone': None}]
    made = Case(
        'stale',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        parts.asks(dice, groups, *zones),
        groups=groups,
        servers=servers,
        stale=stale,
    )
    return _with_differences(dice, made)


def _with_differences(dice: random.Random, made: Case) -> Case:
    """Return the case, perhaps with hosts that differ between Nova and Placement.

    Nova has removed them from the aggregates of a zone, of a tenant, or of an isolated trait, or
    their providers lack the trait that nova-compute gives them.
    """
    names = sorted(made.hosts)
    zoned = [name for name in names if made.hosts[name]['availability_zone'] == 'az-1']
    removed, options = {}, {}
    own, *others = dice.sample(names, 2)
    closed = dice.random() < 0.3
    aggregates = {
        'own': {'hosts': [own], 'metadata': {'filter_tenant_id': '{admin}'}},
        'closed': {'hosts': [], 'metadata': {'trait:CUSTOM_CLOSED': 'required'}},
    }
    if zoned and dice.random() < 0.4:
        removed = {name: ['az-1'] for name in names if name not in zoned}
    elif dice.random() < 0.5:
        removed = {name: ['closed' if closed else 'own'] for name in others}
        key = 'enable_isolated_aggregate_filtering'
        options = {key if closed else 'limit_tenants_to_placement_aggregate': True}
    unowned = tuple(others) if dice.random() < 0.3 else ()
    stale = replace(made.stale, removed=removed, unowned=unowned)
    return replace(made, aggregates=aggregates, stale=stale, nova_options={'scheduler': options})


def _amounts(dice: random.Random) -> dict[str, int]:
    return {'VCPU': dice.randint(1, 3), 'MEMORY_MB': dice.choice([1, 20, 32])}
