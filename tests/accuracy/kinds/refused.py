"""Requests that do not fit, with a remedy that the sandbox can apply."""

from __future__ import annotations

import random

from tests.accuracy.case import Case
from tests.accuracy.kinds import plain, tenants
from tests.support.values import replace


def case(seed: int) -> Case:
    """Return a plain cloud, or one with two projects, and more servers than fit."""
    dice = random.Random(f'remedies {seed}')
    made = tenants.projects(seed) if dice.random() < 0.2 else plain.case(seed)
    groups = [name for name in made.groups if dice.random() < 0.9]
    asks = tuple(
        replace(
            ask,
            count=dice.randint(3, 12),
            group=(groups or [None])[0] if ask.user == made.asks[0].user else ask.group,
            is_complete=True,
            is_remedied=True,
        )
        for ask in made.asks
        if ask.is_complete
    )
    # A smaller flavor, which may still fit.
    asked = made.flavors['asked']
    flavors = {**made.flavors, 'half': {**asked, 'ram': asked['ram'] // 2}}
    hosts = {name: dict(host) for name, host in made.hosts.items()}
    for host in hosts.values():
        if host.get('disabled') and dice.random() < 0.6:
            host['disabled'] = 'firmware, do not enable'
    return replace(made, kind='remedies', hosts=hosts, flavors=flavors, asks=asks)
