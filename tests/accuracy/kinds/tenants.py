"""Two projects and two users: aggregates for tenants, quotas of projects and of users."""

from __future__ import annotations

import random

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import PROJECT_OF, Case, Server
from tests.accuracy.kinds import parts
from tests.support.values import replace

ISOLATION = 'AggregateMultiTenancyIsolation'
_OWNERS = ('{admin}', '{demo}', '{demo},{admin}')


def projects(seed: int) -> Case:
    """Return a case with aggregates for projects, in both ways of Nova, and quotas of both
    projects.
    """
    dice = random.Random(f'projects {seed}')
    names = parts.names(dice)
    owner = dice.choice(['admin', 'guest'])
    groups = _owned(parts.policy(dice, 0.4), owner)
    servers = [
        *(replace(item, user=owner) for item in parts.members(dice, names, groups)),
        *(Server(name, user=dice.choice(['admin', 'guest'])) for name in dice.choices(names, k=2)),
    ]
    aggregates = {
        f'tenant-{number}': {
            'hosts': sorted(dice.sample(names, dice.randint(1, len(names)))),
            'metadata': {
                dice.choice(['filter_tenant_id', 'filter_tenant_id_2']): dice.choice(_OWNERS)
            },
        }
        for number in range(dice.choice([0, 1, 1, 2]))
    }
    is_filtering, is_limiting = dice.random() < 0.4, dice.random() < 0.5
    limits = {
        'limit_tenants_to_placement_aggregate': is_limiting,
        'placement_aggregate_required_for_tenants': is_limiting and dice.random() < 0.4,
    }
    quotas = {}
    for project in ('admin', 'demo'):
        used = sum(PROJECT_OF[server.user] == project for server in servers)
        if dice.random() < 0.4:
            quotas[project] = {dice.choice(['instances', 'cores']): used + dice.randint(0, 5)}
    users = [owner, 'demo' if owner == 'guest' else dice.choice(['admin', 'demo', 'guest'])]
    asked = [
        {'user': user, **({} if PROJECT_OF[user] == PROJECT_OF[owner] else {'group': None})}
        for user in users
    ]
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    asks = parts.asks(dice, groups, *asked)
    private = dice.choice([{}, {}, {'projects': []}, {'projects': ['demo']}])
    return Case(
        'projects',
        seed,
        hosts,
        {'asked': {**parts.PLAIN, **private}, 'plain': parts.PLAIN},
        asks,
        aggregates,
        groups=groups,
        servers=tuple(servers),
        quotas=quotas,
        filters=(*DEFAULT_FILTERS, *([ISOLATION] if is_filtering else [])),
        nova_options={'scheduler': limits},
    )


def _owned(groups: dict[str, dict[str, object]], user: str) -> dict[str, dict[str, object]]:
    return {name: {**body, 'user': user} for name, body in groups.items()}


def user_quotas(seed: int) -> Case:
    """Return a case with a quota of the requesting user, and perhaps one of the project."""
    dice = random.Random(f'user quotas {seed}')
    names = parts.names(dice)
    user = dice.choice(['admin', 'guest'])
    groups = _owned(parts.policy(dice, 0.4), user)
    servers = [
        *(replace(item, user=user) for item in parts.members(dice, names, groups)),
        *(Server(name, user=dice.choice(['admin', 'guest'])) for name in dice.choices(names, k=2)),
    ]
    used = sum(server.user == user for server in servers)
    amounts = {'instances': 1, 'cores': 1, 'ram': parts.RAM}
    kind = dice.choice([*amounts, 'instances', 'server_group_members'])
    more = dice.randint(0, 5)
    if kind == 'server_group_members':
        limit = max(1, sum(server.group is not None for server in servers) + more - 1)
    else:
        limit = (used + more) * amounts[kind]
    quotas = {}
    if dice.random() < 0.4:
        # A user's limit is never above the project's.
        quotas = {PROJECT_OF[user]: {kind: limit + dice.randint(0, 3) * amounts.get(kind, 1)}}
    hosts = parts.hosts(dice, names, (5, 10), servers=servers)
    asks = parts.asks(dice, groups, {'user': user}, {'user': user, 'group': None})
    limits = {kind: limit}
    if dice.random() < 0.5:
        limits['metadata_items'] = items = dice.randint(3, 6)
        metadata = max(3, items + dice.randint(-1, 1))
        asks = tuple(replace(each, metadata=metadata) for each in asks)
    return Case(
        'user quotas',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        asks,
        groups=groups,
        servers=tuple(servers),
        quotas=quotas,
        user_quotas={user: limits},
    )


def quota_counting(seed: int) -> Case:
    """Return a case with a quota, and a flavor whose amounts in Placement differ from its own.

    An option of nova.conf determines whether Nova counts the usage by flavors or by Placement.
    """
    dice = random.Random(f'quota counting {seed}')
    names = parts.names(dice)
    groups = parts.policy(dice, 0.6)
    chosen = dice.choice(['VCPU', 'VCPU', 'MEMORY_MB'])
    own = {'VCPU': dice.randint(1, 3), 'MEMORY_MB': dice.choice([1, 2]) * parts.RAM}
    asked = dice.randint(0, 3) if chosen == 'VCPU' else dice.choice([32, 64, 128])
    flavor = parts.flavor(own['MEMORY_MB'], own['VCPU'], **{f'resources:{chosen}': str(asked)})
    # The amounts of existing servers of this flavor differ in Placement and in the database, too.
    servers = [*parts.members(dice, names, groups), *parts.others(dice, names, 1)]
    servers += [Server(name, 'asked') for name in dice.choices(names, k=dice.randint(0, 2))]
    kind = 'cores' if chosen == 'VCPU' else 'ram'
    unit = 1 if kind == 'cores' else parts.RAM // 2
    used = unit * sum(3 if server.flavor == 'asked' else 2 for server in servers)
    quotas = {'admin': {kind: used + unit * dice.randint(0, 8)}} if dice.random() < 0.9 else {}
    return Case(
        'quota counting',
        seed,
        parts.hosts(dice, names, (6, 12), 2 * parts.RAM, servers),
        {'asked': flavor, 'plain': parts.PLAIN},
        parts.asks(dice, groups),
        groups=groups,
        servers=tuple(servers),
        quotas=quotas,
        nova_options={'quota': {'count_usage_from_placement': dice.random() < 0.6}},
    )
