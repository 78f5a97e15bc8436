"""Two projects and two users: aggregates of tenants, quotas of projects and of users."""

from __future__ import annotations

import dataclasses
import random

from senlin_affinity.core.objects import DEFAULT_FILTERS
from tests.accuracy.case import PROJECT_OF, Case, Server
from tests.accuracy.kinds import parts

ISOLATION = 'AggregateMultiTenancyIsolation'
_OWNERS = ('{admin}', '{demo}', '{demo},{admin}')


def projects(seed: int) -> Case:
    """Aggregates that are kept for projects, in Nova's two ways, and a quota of each project."""
    dice = random.Random(f'projects {seed}')
    names = parts.names(dice)
    owner = dice.choice(['admin', 'guest'])
    groups = _owned(parts.policy(dice, 0.4), owner)
    servers = [
        *(dataclasses.replace(item, user=owner) for item in parts.members(dice, names, groups)),
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
    return Case(
        'projects',
        seed,
        parts.hosts(dice, names, (4, 9), servers=servers),
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        parts.asks(dice, groups, *asked),
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
    """A quota of the user who asks, below that of the project, or of another user."""
    dice = random.Random(f'user quotas {seed}')
    names = parts.names(dice)
    user = dice.choice(['admin', 'guest'])
    groups = _owned(parts.policy(dice, 0.4), user)
    servers = [
        *(dataclasses.replace(item, user=user) for item in parts.members(dice, names, groups)),
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
    return Case(
        'user quotas',
        seed,
        parts.hosts(dice, names, (5, 10), servers=servers),
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        parts.asks(dice, groups, {'user': user}, {'user': user, 'group': None}),
        groups=groups,
        servers=tuple(servers),
        quotas=quotas,
        user_quotas={user: {kind: limit}},
    )
