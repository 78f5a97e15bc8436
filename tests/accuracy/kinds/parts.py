"""Parts of all generators: hosts with random memory, groups, and existing servers.

Units: memory in MB; ``room`` is the number of new servers for which the hosts have memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from tests.accuracy.case import HOSTS, Ask, Server

RAM = 64
POLICIES = ('anti-affinity', 'anti-affinity', 'affinity', 'soft-anti-affinity', 'soft-affinity')


def flavor(ram: int = RAM, vcpus: int = 1, disk: int = 1, **extra_specs: str) -> dict[str, Any]:
    """Return a flavor; an extra spec with a colon is passed as ``**{...}``."""
    return {'vcpus': vcpus, 'ram': ram, 'disk': disk, 'extra_specs': extra_specs}


PLAIN = flavor()


def names(dice: random.Random, fewest: int = 2, most: int = 5) -> list[str]:
    """Return the hosts of a case."""
    return list(HOSTS[: dice.randint(fewest, most)])


def hosts(
    dice: random.Random,
    of: Sequence[str],
    room: tuple[int, int] = (2, 7),
    ram: int = RAM,
    servers: Iterable[Server] = (),
) -> dict[str, dict[str, Any]]:
    """Return hosts on which only memory is scarce; existing servers have their own."""
    portions = dict.fromkeys(of, 0)
    for _portion in range(dice.randint(*room)):
        portions[dice.choice(of)] += 1
    found = {}
    for name in of:
        used = sum(name in (server.host, server.target) for server in servers)
        memory = ram * (portions[name] + used) + dice.randint(0, ram - 1)
        found[name] = {'vcpus': 16, 'memory_mb': max(memory, 32), 'disk_gb': 100}
    return found


def policy(dice: random.Random, none: float = 0.3) -> dict[str, dict[str, Any]]:
    """Return no group, or the group "asked" with a policy and perhaps a rule."""
    if dice.random() < none:
        return {}
    chosen = dice.choice(POLICIES)
    rules = {}
    if chosen == 'anti-affinity' and dice.random() < 0.6:
        rules = {'max_server_per_host': dice.randint(1, 3)}
    return {'asked': {'policy': chosen, 'rules': rules}}


def members(
    dice: random.Random, of: Sequence[str], groups: dict[str, dict[str, Any]], most: int = 3
) -> list[Server]:
    """Return servers of the group, as its policy allows."""
    if not of or not groups or dice.random() < 0.4:
        return []
    group = groups['asked']
    if group['policy'] == 'affinity':
        places = [dice.choice(of)] * dice.randint(1, 2)
    else:
        is_hard = group['policy'] == 'anti-affinity'
        limit = group['rules'].get('max_server_per_host', 1) if is_hard else 3
        free = [name for name in of for _slot in range(limit)]
        places = dice.sample(free, min(len(free), dice.randint(1, most)))
    return [Server(name, group='asked') for name in places]


def others(dice: random.Random, of: Sequence[str], most: int = 2) -> list[Server]:
    """Return servers without a group."""
    return [Server(name) for name in dice.choices(of, k=dice.randint(0, most))] if of else []


def asks(dice: random.Random, groups: dict[str, Any], *more: dict[str, Any]) -> tuple[Ask, ...]:
    """Return two questions for each of ``more``: with all optional input, and without.

    Some have the group.
    """
    made = []
    for fields in more or ({}, {}):
        group = 'asked' if groups and dice.random() < 0.75 else None
        values = {'group': group, **fields}
        made += [Ask(dice.randint(1, 12), **values, is_complete=each) for each in (True, False)]
    return tuple(made)
