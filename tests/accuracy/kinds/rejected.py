"""Flavors and images with settings that nova-api checks together, and in many cases rejects.

Source: the generator of the combinations that the table of rules was compared with.
"""

from __future__ import annotations

import random

from tests.accuracy.case import Case
from tests.accuracy.kinds import parts
from tests.support.nova_api_combinations import combination
from tests.support.values import replace

#: Flavors of a case, each with its own image.
_NUMBER = 4


def case(seed: int) -> Case:
    dice = random.Random(f'rejected flavors {seed}')
    names = parts.names(dice, 2, 4)
    flavors, images = {}, {}
    for number in range(_NUMBER):
        found = combination(dice)
        flavors[f'asked {number}'] = parts.flavor(found.ram, found.vcpus, **found.extra_specs)
        images[f'asked {number}'] = found.image
    asks = parts.asks(dice, {}, *({'flavor': name, 'image': name} for name in flavors))
    return Case(
        'rejected flavors',
        seed,
        parts.hosts(dice, names, (2, 4), 2048),
        flavors,
        tuple(replace(ask, is_remedied=ask.is_complete) for ask in asks),
        images=images,
    )
