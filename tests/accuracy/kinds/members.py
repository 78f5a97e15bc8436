"""Groups whose members are in every state that Nova counts in its own way.

Source: nova.objects.instance_group (get_hosts), nova.scheduler.utils, and the late check in
nova.compute.manager.
"""

from __future__ import annotations

import random

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Server
from tests.accuracy.kinds import parts

#: Those that need no other host; the more telling ones more often.
_STAYING = (
    *('ACTIVE', 'SHUTOFF', 'PAUSED', 'SUSPENDED'),
    *('ERROR', 'SHELVED_OFFLOADED', 'SOFT_DELETED'),
    *('ERROR', 'SHELVED_OFFLOADED', 'SOFT_DELETED'),
)
_MOVING = ('VERIFY_RESIZE', 'VERIFY_RESIZE', 'MIGRATED', 'MIGRATED_BACK', 'LIVE_MIGRATED')
#: Seconds for which a deleted server can be had back.
_KEPT = 3600


def case(seed: int) -> Case:
    """The case of this number."""
    dice = random.Random(f'members {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0)
    servers = [*_members(dice, names, groups['asked']), *parts.others(dice, names, 1)]
    has_deleted = any(server.state == 'SOFT_DELETED' for server in servers)
    options = {'DEFAULT': {'reclaim_instance_interval': _KEPT}} if has_deleted else {}
    filters, asks = DEFAULT_FILTERS, parts.asks(dice, groups, {'group': 'asked'})
    if dice.random() < 0.3:
        filters = tuple(name for name in filters if not name.startswith('ServerGroup'))
        is_off = dice.random() < 0.6
        options = {**options, 'workarounds': {'disable_group_policy_check_upcall': is_off}}
        if is_off:  # who is not told takes the policy to hold
            asks = tuple(ask for ask in asks if ask.is_told)
    return Case(
        'members',
        seed,
        parts.hosts(dice, names, (4, 9), servers=servers),
        {'asked': parts.PLAIN, 'plain': parts.PLAIN, 'huge': parts.flavor(1 << 20)},
        asks,
        groups=groups,
        servers=tuple(servers),
        filters=filters,
        nova_options=options,
    )


def _members(dice: random.Random, names: list[str], group: dict[str, object]) -> list[Server]:
    """The servers of the group; none moves under affinity, which lets it go nowhere."""
    is_together = group['policy'] == 'affinity'
    free = dice.sample(names, len(names))
    places = [free[0]] * 3 if is_together else free
    made = []
    for number in range(dice.choice([1, 1, 2, 2, 3])):
        if dice.random() < 0.15:
            made.append(Server(None, 'huge', 'asked'))
        elif not is_together and len(places) > number + 1 and dice.random() < 0.4:
            # The last of those that are free is where it goes to.
            state = dice.choice(_MOVING)
            made.append(Server(places[number], 'plain', 'asked', state, target=places.pop()))
        elif number < len(places):
            made.append(Server(places[number], 'plain', 'asked', dice.choice(_STAYING)))
    return made
