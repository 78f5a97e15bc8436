"""Groups whose members belong to several users, planned for by one of them, or an administrator.

``demo`` and ``guest`` are users of one project; ``guest`` is an administrator with another project
of their own.
"""

from __future__ import annotations

import random

from tests.accuracy.case import Ask, Case, Server
from tests.accuracy.kinds import parts
from tests.support.values import replace

USERS = ('demo', 'guest')
_KINDS = ('server_group_members', 'server_group_members', 'instances', 'cores', 'ram')
_AMOUNTS = {'cores': 1, 'ram': parts.RAM}


def case(seed: int) -> Case:
    """Return a case with or without quotas of the project and of both users."""
    dice = random.Random(f'users of members {seed}')
    names = parts.names(dice, 3)
    owner = dice.choice(USERS)
    groups = {'asked': {**parts.policy(dice, 0)['asked'], 'user': owner}}
    servers = _servers(dice, names, groups)
    quotas: dict[str, int] = {}
    if dice.random() < 0.6:
        kind = dice.choice(_KINDS)
        quotas[kind] = _limit(dice, kind, servers)
    of_users: dict[str, dict[str, int]] = {}
    for user in USERS:
        if dice.random() < 0.4:
            kind = dice.choice(_KINDS)
            limit = _limit(dice, kind, [each for each in servers if each.user == user])
            # A user's limit is never above the project's.
            of_users[user] = {kind: min(limit, quotas.get(kind, limit))}
    return Case(
        'users of members',
        seed,
        parts.hosts(dice, names, (5, 9), servers=servers),
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        _asks(dice, owner),
        groups=groups,
        servers=tuple(servers),
        quotas={'demo': quotas} if quotas else {},
        user_quotas=of_users,
    )


def _servers(
    dice: random.Random, names: list[str], groups: dict[str, dict[str, object]]
) -> list[Server]:
    """Return members and other servers; those of demo, whose host Nova chooses, come last."""
    members = []
    while not members:
        members = parts.members(dice, names, groups, 6)
    members = [replace(each, user=dice.choice(USERS)) for each in members]
    if groups['asked']['policy'] == 'affinity':  # the first one determines the host
        members[0] = replace(members[0], user='guest')
    others = [replace(each, user='guest') for each in parts.others(dice, names)]
    return sorted([*others, *members], key=lambda each: each.user == 'demo')


def _limit(dice: random.Random, kind: str, servers: list[Server]) -> int:
    """Return a limit near to what these servers use, at least 1."""
    counted = [each for each in servers if each.group or kind != 'server_group_members']
    return max(1, len(counted) + dice.randint(-1, 5)) * _AMOUNTS.get(kind, 1)


def _asks(dice: random.Random, owner: str) -> tuple[Ask, ...]:
    """Return the questions: for the owner of the group, for the other user, and by that user.

    The administrator plans in the own project; the plan infers only the owner.
    """
    other = next(user for user in USERS if user != owner)
    made: list[Ask] = []
    for user, by in ((owner, 'admin'), (other, 'admin'), ('guest', 'guest')):
        fields = {'user': user, 'by': by, 'is_user_named': user == other and by == 'admin'}
        made += (
            Ask(dice.randint(1, 12), group='asked', is_complete=each, **fields)
            for each in (True, False)
        )
    return tuple(made)
