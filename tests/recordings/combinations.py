"""Record nova-api's answers to generated flavors: ``python -m tests.recordings.combinations``.

The table ``tests/cases/nova_api_combinations.yaml`` has 400 combinations of settings, and more
until each rule of ours decides one. ``outcome`` is the name of Nova's exception, or ``accepted``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from senlin_affinity.nova.combination_rules import NEWEST, RULES, check
from senlin_affinity.nova.guest_request import GuestRequest
from tests.support.nova_api_combinations import Combination, combination
from tests.support.tables import CASES

TABLE = 'nova_api_combinations'
NUMBER, SEED = 400, 46
ALIASES = ('gpu', 'nic')
_HEADER = f"""\
# nova-api's answers to combinations of extra specs and image properties: the name of Nova's
# exception, or "accepted". Its PCI aliases are {' and '.join(ALIASES)}. Written by
# python -m tests.recordings.combinations, with Nova {NEWEST}.
# The source of rows without one: nova.compute.api, asked by tests/support/nova_api_oracle.py.

"""


def guest(values: Combination) -> GuestRequest:
    """Return the same request for our rules."""
    return GuestRequest(values.extra_specs, values.vcpus, values.ram, values.image, ALIASES)


def chosen() -> Iterator[Combination]:
    """Yield distinct combinations until there are enough, and each rule has one."""
    random, missing, known = Random(SEED), {rule.name for rule in RULES}, set()
    while missing or len(known) < NUMBER:
        values = combination(random)
        rejection = check(guest(values), NEWEST).rejection
        rule = None if rejection is None else rejection.rule
        if repr(values) in known or (len(known) >= NUMBER and rule not in missing):
            continue
        known.add(repr(values))
        missing.discard(rule)
        yield values


def row(values: Combination, outcome: str) -> dict[str, Any]:
    """Return a row of the table."""
    of_image = (f'image {key}={value!r}' for key, value in values.image.items())
    settings = (f'{key}={value!r}' for key, value in values.extra_specs.items())
    name = f'{", ".join((*settings, *of_image))}; {values.vcpus} CPUs, {values.ram} MiB'
    return {
        'name': name,
        'flavor': {
            'vcpus': values.vcpus,
            'ram': values.ram,
            'extra_specs': values.extra_specs,
        },
        'image': values.image,
        'outcome': outcome,
    }


def record() -> None:
    """Write the table."""
    from tests.support import nova_api_oracle

    lines = []
    for values in chosen():
        error = nova_api_oracle.error_of(values, ALIASES)
        lines.append(f'- {json.dumps(row(values, "accepted" if error is None else error[0]))}\n')
    (CASES / f'{TABLE}.yaml').write_text(_HEADER + ''.join(lines), encoding='utf-8')


if __name__ == '__main__':
    record()
