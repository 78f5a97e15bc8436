"""Reservations with a prefix, enforced by the request filter, beside the aggregate filter."""

from __future__ import annotations

import random
from typing import Any

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.accuracy.case import Case
from tests.accuracy.kinds import parts
from tests.accuracy.kinds.plain import OURS

PREFIX = 'reservation:'
_OPTIONS = 'placement_req_required_member_prefix', 'placement_req_default_forbidden_member_prefix'
_VALUES = ('x', 'true', '1', '*', '<or> 1 <or> ~')


def case(seed: int) -> Case:
    """Return a case in which the values of the keys rarely match."""
    dice = random.Random(f'reserved {seed}')
    names = parts.names(dice, 3, 6)
    groups = parts.policy(dice, 0.6)
    required, forbidden = dice.choice([(PREFIX, [PREFIX])] * 3 + [(PREFIX, []), ('', [PREFIX])])
    specs = {} if dice.random() < 0.3 else {f'{PREFIX}r1': dice.choice(_VALUES)}
    if dice.random() < 0.3:
        specs['aggregate_instance_extra_specs:ssd'] = dice.choice(['true', '*', '!'])
    return Case(
        'reserved',
        seed,
        parts.hosts(dice, names, (4, 10)),
        {'asked': parts.flavor(**specs), 'plain': parts.PLAIN},
        tuple(each for each in parts.asks(dice, groups) if each.is_complete),
        _aggregates(dice, names),
        groups=groups,
        filters=(*DEFAULT_FILTERS, *([OURS] if dice.random() < 0.8 else [])),
        nova_options={'scheduler': dict(zip(_OPTIONS, (required, forbidden), strict=True))},
    )


def _aggregates(dice: random.Random, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return two reservations, perhaps a pool, and perhaps a key without the prefix."""
    found = {}
    for name in ('r1', 'r2', *dice.choice([[], ['pool']])):
        metadata = {f'{PREFIX}{name}': dice.choice(_VALUES)}
        if dice.random() < 0.25:
            metadata['force_metadata_check'] = 'True'
        if dice.random() < 0.3:
            metadata['ssd'] = dice.choice(['true', 'false'])
        hosts = sorted(dice.sample(names, dice.randint(1, 2)))
        found[name] = {'hosts': hosts, 'metadata': metadata}
    return found
