"""Groups whose members are in each state that Nova counts differently.

Source: nova.objects.instance_group (get_hosts), nova.scheduler.utils, and the late check in
nova.compute.manager.
"""

from __future__ import annotations

import random

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Server
from tests.accuracy.kinds import parts

#: States without another host; some are more frequent.
_STAYING = (
    *('ACTIVE', 'SHUTOFF', 'PAUSED', 'SUSPENDED'),
    *('ERROR', 'SHELVED_OFFLOADED', 'SOFT_DELETED'),
    *('ERROR', 'SHELVED_OFFLOADED', 'SOFT_DELETED'),
)
_MOVING = ('VERIFY_RESIZE', 'VERIFY_RESIZE', 'MIGRATED', 'MIGRATED_BACK', 'LIVE_MIGRATED')
#: Seconds during which a deleted server can be restored.
_KEPT = 3600


def case(seed: int) -> Case:
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
        if is_off:  # without nova.conf, the preflight assumes the policy
            asks = tuple(ask for ask in asks if ask.is_complete)
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
        is_conductor_restarted=dice.random() < 0.5,
    )


def _members(dice: random.Random, names: list[str], group: dict[str, object]) -> list[Server]:
    """Return the servers of the group; under affinity, none can migrate."""
    is_together = group['policy'] == 'affinity'
    free = dice.sample(names, len(names))
    places = [free[0]] * 3 if is_together else free
    made = []
    for number in range(dice.choice([1, 1, 2, 2, 3])):
        if dice.random() < 0.15:
            made.append(Server(None, 'huge', 'asked'))
        elif not is_together and len(places) > number + 1 and dice.random() < 0.4:
            # It migrates to the last free host.
            state = dice.choice(_MOVING)
            made.append(Server(places[number], 'plain', 'asked', state, target=places.pop()))
        elif number < len(places):
            made.append(Server(places[number], 'plain', 'asked', dice.choice(_STAYING)))
    return made
