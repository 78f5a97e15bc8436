"""Requests that do not fit: one of the remedies that can be carried out here is."""

from __future__ import annotations

import dataclasses
import random

from tests.accuracy.case import Case
from tests.accuracy.kinds import plain, tenants


def case(seed: int) -> Case:
    """A plain cloud, or one of two projects, and more servers than it has room for."""
    dice = random.Random(f'remedies {seed}')
    made = tenants.projects(seed) if dice.random() < 0.2 else plain.case(seed)
    groups = [name for name in made.groups if dice.random() < 0.9]
    asks = tuple(
        dataclasses.replace(
            ask,
            count=dice.randint(3, 12),
            group=(groups or [None])[0] if ask.user == made.asks[0].user else ask.group,
            is_told=True,
            is_remedied=True,
        )
        for ask in made.asks
        if ask.is_told
    )
    # A flavor that fits where the others do not.
    asked = made.flavors['asked']
    flavors = {**made.flavors, 'half': {**asked, 'ram': asked['ram'] // 2}}
    hosts = {name: dict(host) for name, host in made.hosts.items()}
    for host in hosts.values():
        if host.get('disabled') and dice.random() < 0.6:
            host['disabled'] = 'firmware, do not enable'
    return dataclasses.replace(made, kind='remedies', hosts=hosts, flavors=flavors, asks=asks)
