"""Zones, disabled hosts, both aggregate filters, isolated aggregates, traits, quotas and groups."""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Server
from tests.accuracy.kinds import parts

OURS = 'AggregateInstanceTypeFilter'
NOVAS = 'AggregateInstanceExtraSpecsFilter'
FAST, LICENSED = 'CUSTOM_FAST', 'CUSTOM_LICENSED'
_SCOPE = 'aggregate_instance_extra_specs:'
#: Extra specs for both aggregate filters; the last ones have operators of ours, which are plain
#: words for Nova's filter.
_ASKED_OF_AGGREGATES = (
    *('true', 'false', '<or> true <or> false', 's== true', '<in> ru'),
    *('*', '!', '<or> true <or> ~', '<or> * <or> ~'),
)


def case(seed: int) -> Case:
    dice = random.Random(f'plain {seed}')
    names = parts.names(dice, 2, 6)
    idle = {name for name in names if dice.random() < 0.12}
    is_isolating = dice.random() < 0.2
    aggregates = _aggregates(dice, names, is_isolating)
    isolated = {
        host
        for aggregate in aggregates.values()
        for host in aggregate['hosts']
        if f'trait:{LICENSED}' in aggregate['metadata']
    }
    groups = parts.policy(dice)
    # Nova would not place existing servers on the others, either.
    open_hosts = [name for name in names if name not in idle | isolated]
    servers = (*parts.members(dice, open_hosts, groups), *parts.others(dice, open_hosts))
    flavor = _flavor(dice, has_aggregates=bool(aggregates))
    hosts = _hosts(dice, names, flavor, servers)
    for name, host in hosts.items():
        host['disabled'] = name in idle
    zones = [None, None, *sorted({host['availability_zone'] for host in hosts.values()})]
    optional = [name for name in (OURS, NOVAS) if dice.random() < 0.4]
    return Case(
        'plain',
        seed,
        hosts,
        {'asked': flavor, 'plain': {'vcpus': 1, 'ram': flavor['ram'], 'disk': 1}},
        parts.asks(dice, groups, *({'zone': dice.choice(zones)} for _ask in range(2))),
        aggregates,
        groups=groups,
        servers=servers,
        traits={
            name: tuple(trait for trait in (FAST, LICENSED) if dice.random() < 0.6)
            for name in names
        },
        quotas=_quotas(dice, len(servers), flavor),
        filters=(*DEFAULT_FILTERS, *optional),
        nova_options={'scheduler': {'enable_isolated_aggregate_filtering': is_isolating}},
    )


def _flavor(dice: random.Random, *, has_aggregates: bool) -> dict[str, Any]:
    specs = {}
    if dice.random() < (0.5 if has_aggregates else 0.05):
        specs[f'{_SCOPE}ssd'] = dice.choice(_ASKED_OF_AGGREGATES)
    if dice.random() < 0.25:
        specs[f'trait:{FAST}'] = dice.choice(['required', 'required', 'forbidden'])
    if dice.random() < 0.2:
        specs['resources:VCPU'] = str(dice.randint(1, 3))
    if dice.random() < 0.1:
        specs['resources:DISK_GB'] = '0'
    if dice.random() < 0.15:
        specs[f'trait:{LICENSED}'] = 'required'
    ram, disk = dice.choice([64, 96, 128]), dice.choice([0, 1, 2])
    return parts.flavor(ram, dice.randint(1, 3), disk, **specs)


def _hosts(
    dice: random.Random, names: list[str], flavor: dict[str, Any], servers: tuple[Server, ...]
) -> dict[str, dict[str, Any]]:
    """Return hosts with sufficient or, in rare cases, scarce vCPUs and disk."""
    zones = dice.choice([['nova'], ['nova', 'az-1'], ['az-1', 'az-2']])
    hosts = parts.hosts(dice, names, (3, 10), flavor['ram'], servers)
    for name, host in hosts.items():
        used = sum(server.host == name for server in servers)
        host['vcpus'] = dice.choice([16, 16, 16, 1 + used])
        host['disk_gb'] = dice.choice([100, 100, 100, 2 + used])
        host['availability_zone'] = dice.choice(zones)
    return hosts


def _aggregates(
    dice: random.Random, names: list[str], is_isolating: bool
) -> dict[str, dict[str, Any]]:
    aggregates = {}
    for number in range(dice.randint(0, 3)):
        metadata = {}
        if dice.random() < 0.85:
            metadata['ssd'] = dice.choice(['true', 'true', 'false', 'true,false'])
        if dice.random() < 0.15:
            metadata['force_metadata_check'] = dice.choice(['True', 'False'])
        if is_isolating and dice.random() < 0.5:
            metadata[f'trait:{LICENSED}'] = 'required'
        chosen = dice.sample(names, dice.randint(1, len(names)))
        aggregates[f'agg-{number}'] = {'hosts': sorted(chosen), 'metadata': metadata}
    return aggregates


def _quotas(dice: random.Random, used: int, flavor: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return quotas; existing servers have one vCPU, and the memory of the flavor."""
    if dice.random() < 0.7:
        return {}
    kind = dice.choice(['instances', 'cores', 'ram', 'server_group_members'])
    more = dice.randint(0, 6)
    limits = {
        'instances': used + more,
        'server_group_members': max(1, used + more - 1),
        'cores': used + more * flavor['vcpus'] + dice.randint(0, flavor['vcpus']),
        'ram': (used + more) * flavor['ram'] + dice.randint(0, 63),
    }
    return {'admin': {kind: limits[kind]}}
