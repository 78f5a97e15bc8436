"""Random small clouds, and one random request for each: what the accuracy test is made of.

The way of the data: a number (the seed) comes in, a :class:`Case` goes out, always the same for the
same number. A case has room for at most ``MOST_ROOM`` servers: memory is dealt out in portions of
the flavor that is asked for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.core.objects import DEFAULT_FILTERS, Rules

MOST_ROOM = 12
OURS = 'AggregateInstanceTypeFilter'
NOVAS = 'AggregateInstanceExtraSpecsFilter'
FAST, LICENSED = 'CUSTOM_FAST', 'CUSTOM_LICENSED'
POLICIES = ('anti-affinity', 'anti-affinity', 'affinity', 'soft-anti-affinity', 'soft-affinity')
_SCOPE = 'aggregate_instance_extra_specs:'
#: What both filters read, and (at the end) what only ours does; Nova's own takes it for a word.
_ASKED_OF_AGGREGATES = (
    *('true', 'false', '<or> true <or> false', 's== true', '<in> ru'),
    *('*', '!', '<or> true <or> ~', '<or> * <or> ~'),
)


@dataclass(frozen=True)
class Case:
    """A cloud (for SandboxCloud), what is in it before, and what is asked of it then.

    ``members`` and ``others`` are hosts: of the servers that are in the group, and in none. The
    image has no properties; ``is_image_known`` says whether the preflight is told so.
    """

    seed: int
    hosts: dict[str, dict[str, Any]]
    aggregates: dict[str, dict[str, Any]]
    flavors: dict[str, dict[str, Any]]
    quotas: dict[str, int]
    filters: tuple[str, ...]
    nova_options: dict[str, dict[str, Any]]
    traits: dict[str, tuple[str, ...]]
    policy: str | None
    rules: dict[str, int]
    members: tuple[str, ...]
    others: tuple[str, ...]
    zone: str | None
    preflight: Rules = field(default_factory=Rules)
    is_image_known: bool = True


def case(seed: int) -> Case:
    """The case of this number."""
    dice = random.Random(seed)
    names = [f'cmp-{number}' for number in range(1, dice.randint(2, 8) + 1)]
    idle = {name for name in names if dice.random() < 0.12}
    is_isolating = dice.random() < 0.2
    aggregates = _aggregates(dice, names, is_isolating)
    isolated = {
        host
        for aggregate in aggregates.values()
        for host in aggregate['hosts']
        if f'trait:{LICENSED}' in aggregate['metadata']
    }
    policy = dice.choice([None, *POLICIES])
    rules = {}
    if policy == 'anti-affinity' and dice.random() < 0.75:
        rules = {'max_server_per_host': dice.randint(1, 4)}
    # Nova would not put a server of before onto the others, either.
    open_hosts = [name for name in names if name not in idle | isolated]
    members = _members(dice, open_hosts, policy, rules) if open_hosts else ()
    others = tuple(dice.choices(open_hosts, k=dice.randint(0, 3))) if open_hosts else ()
    flavor = _flavor(dice, bool(aggregates))
    hosts = _hosts(dice, names, flavor, (*members, *others))
    for name, host in hosts.items():
        host['disabled'] = name in idle
    zones = [None, None, *sorted({host['availability_zone'] for host in hosts.values()})]
    optional = [name for name in (OURS, NOVAS) if dice.random() < 0.4]
    return Case(
        seed,
        hosts,
        aggregates,
        {'asked': flavor, 'plain': {'vcpus': 1, 'ram': flavor['ram'], 'disk': 1}},
        _quotas(dice, len(members) + len(others), flavor),
        (*DEFAULT_FILTERS, *optional),
        {'scheduler': {'enable_isolated_aggregate_filtering': is_isolating}},
        {name: tuple(trait for trait in (FAST, LICENSED) if dice.random() < 0.6) for name in names},
        policy,
        rules,
        members,
        others,
        dice.choice(zones),
        Rules.of(is_isolation_enforced=is_isolating),
        dice.random() < 0.9,
    )


def read(row: dict[str, Any]) -> Case:
    """The case of the fields (``dataclasses.asdict``) that come back from YAML as lists."""
    traits, rules = _tuples(row['traits']), Rules(**_tuples(row['preflight']))
    return Case(**{**_tuples(row), 'traits': traits, 'preflight': rules})


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in row.items()}


def _members(
    dice: random.Random, names: list[str], policy: str | None, rules: dict[str, int]
) -> tuple[str, ...]:
    """The hosts of servers that are in the group already, as its policy allows."""
    if policy is None or dice.random() < 0.35:
        return ()
    if policy == 'affinity':
        return (dice.choice(names),) * dice.randint(1, 3)
    limit = rules.get('max_server_per_host', 1) if policy == 'anti-affinity' else 3
    places = [name for name in names for _slot in range(limit)]
    return tuple(dice.sample(places, min(len(places), dice.randint(1, 4))))


def _flavor(dice: random.Random, has_aggregates: bool) -> dict[str, Any]:
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
    return {
        'vcpus': dice.randint(1, 3),
        'ram': dice.choice([64, 96, 128]),
        'disk': dice.choice([0, 1, 2]),
        'extra_specs': specs,
    }


def _hosts(
    dice: random.Random, names: list[str], flavor: dict[str, Any], taken: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Portions of memory are dealt out; vcpus and disk are plenty, or now and then short."""
    portions = dict.fromkeys(names, 0)
    for _portion in range(dice.randint(3, MOST_ROOM)):
        portions[dice.choice(names)] += 1
    zones = dice.choice([['nova'], ['nova', 'az-1'], ['az-1', 'az-2']])
    hosts = {}
    for name in names:
        used = taken.count(name)
        ram = flavor['ram'] * (portions[name] + used) + dice.randint(0, flavor['ram'] - 1)
        hosts[name] = {
            'vcpus': dice.choice([16, 16, 16, 1 + used]),
            'memory_mb': max(ram, 32),
            'disk_gb': dice.choice([100, 100, 100, 2 + used]),
            'availability_zone': dice.choice(zones),
        }
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


def _quotas(dice: random.Random, used: int, flavor: dict[str, Any]) -> dict[str, int]:
    if dice.random() < 0.7:
        return {}
    kind = dice.choice(['instances', 'cores', 'ram', 'server_group_members'])
    more = dice.randint(0, 6)
    limits = {
        'instances': used + more,
        # The members that are there have to be let in.
        'server_group_members': max(1, used + max(more, 1) - 1),
        # What is there already are servers of one core, and as much ram as is asked for.
        'cores': used + more * flavor['vcpus'] + dice.randint(0, flavor['vcpus']),
        'ram': (used + more) * flavor['ram'] + dice.randint(0, 63),
    }
    return {kind: limits[kind]}
