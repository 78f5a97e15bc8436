"""Random sets of the default filters, with compute services that are down or disabled."""

from __future__ import annotations

import random

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case, Stale
from tests.accuracy.kinds import parts

#: A host that is ``offered`` is disabled, and its provider lacks the trait.
_IDLE = ('down', 'disabled', 'both', 'offered')


def case(seed: int) -> Case:
    dice = random.Random(f'services {seed}')
    names = parts.names(dice, 3)
    groups = parts.policy(dice, 0.4)
    states = {name: dice.choice(['up', 'up', *_IDLE]) for name in names}
    # Placement offers no disabled host for the existing servers.
    enabled = [name for name in names if states[name] in ('up', 'down')]
    servers = (*parts.members(dice, enabled, groups), *parts.others(dice, enabled))
    hosts = parts.hosts(dice, names, (4, 9), servers=servers)
    for name, state in states.items():
        hosts[name]['availability_zone'] = dice.choice(['nova', 'az-1'])
        hosts[name]['down'] = state in ('down', 'both')
        hosts[name]['disabled'] = name not in enabled
    offered = [name for name in names if states[name] == 'offered']
    filters = [each for each in DEFAULT_FILTERS if dice.random() < 0.6]
    if dice.random() < 0.6:
        filters = [each for each in filters if each != 'ComputeFilter']
    zones = [{'zone': dice.choice([None, 'nova', 'az-1'])}, {'zone': None}]
    if all(hosts[name]['availability_zone'] == 'nova' for name in names):
        zones = [{'zone': None}]
    # Without nova.conf, the preflight assumes the default filters.
    asks = tuple(each for each in parts.asks(dice, groups, *zones) if each.is_complete)
    return Case(
        'services',
        seed,
        hosts,
        {'asked': parts.PLAIN, 'plain': parts.PLAIN},
        asks,
        groups=groups,
        servers=servers,
        stale=Stale(offered=tuple(offered)),
        filters=tuple(filters) or ('AllHostsFilter',),
        nova_options={'workarounds': {'disable_group_policy_check_upcall': dice.random() < 0.3}},
        is_conductor_restarted=dice.random() < 0.5,
    )
